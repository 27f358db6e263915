// The interface of a checker: it observes one world and reports violations of one safety property. To add one, write its file and add it to
// `checkers.ts`.
import type { AppliedChange, Fleet } from '../../src/fleet/index.ts';
import type { Commit } from '../../src/journal/index.ts';
import type { ClusterCall, ClusterContents } from '../world/clusters/cluster-calls.ts';
import type { LedgerEntry } from '../world/ledger.ts';
import type { HostMachine } from '../world/machine.ts';
import type { Incarnation, Server } from '../world/server.ts';
import type { LeaseChange } from '../world/store-port.ts';
import type { World } from '../world/world.ts';

export interface CommitEvent {
  readonly server: Server;
  readonly life: Incarnation;
  readonly commit: Commit;
  readonly applied: readonly AppliedChange[];
}

export interface AcceptedWrite {
  readonly entries: readonly LedgerEntry[];
  /** The revision that the database returned. */
  readonly claimed: number;
}

export interface LedgerCommit {
  /** The fleet that follows the disk, at this very commit. */
  readonly truth: Fleet;
  readonly applied: readonly AppliedChange[];
  readonly entry: LedgerEntry;
}

export interface Observer {
  /** The database accepted these commits. */
  onWrite?(write: AcceptedWrite): void;
  /** One of these commits. */
  onApplied?(commit: LedgerCommit): void;
  /** The database changed or kept a lease. */
  onLease?(change: LeaseChange): void;
  /** A server's fleet has advanced. */
  onCommit?(committed: CommitEvent): void;
  /** A server's fleet was reloaded as a whole. */
  onRebuilt?(life: Incarnation): void;
  /** A machine's driver got a command: the last of `machine.told`. */
  onDriverCall?(machine: HostMachine): void;
  /** The contents of a machine have changed. */
  onMachineChanged?(machine: HostMachine): void;
  /** The network back end got a request. */
  onNetworkChanged?(): void;
  /** A server sends something to a cluster that may change it. */
  onClusterCall?(call: ClusterCall): void;
  /** The cluster has served it; how it was before. */
  onClusterServed?(call: ClusterCall, before: ClusterContents): void;
  /** All faults have ended and the world is at rest. */
  atEnd?(): void;
}

export interface Checker {
  /** The property in words; a failing seed prints it. */
  readonly name: string;
  readonly watch: (violated: (message: string) => void, world: World) => Observer;
}

type Occasion = 'onMachine' | 'onNetwork';

/** Checks the world on each such occasion, and after every commit of these kinds. */
export function checkOn(
  { on, kinds }: { readonly on: Occasion; readonly kinds: readonly string[] },
  check: (world: World) => string | undefined,
): Checker['watch'] {
  return (violated, world) => {
    const look = (): void => {
      const problem = check(world);
      if (problem !== undefined) violated(problem);
    };
    return {
      [on]: look,
      onApplied: ({ applied }) => {
        if (applied.some(({ kind }) => kinds.includes(kind))) look();
      },
    };
  };
}
