// One world of one seed: a disk, a database, servers and their clients, all under one scheduler. It only connects them; what happens is in
// workloads and faults, what must hold is in checkers.
import { compose, type Composition } from '../../src/composition/index.ts';
import { Fleet, type AppliedChange, type Registry } from '../../src/fleet/index.ts';
import type { Commit, CommitGroup, Lease, Store, WriteAnswer } from '../../src/journal/index.ts';
import { MemoryDisk } from '../../src/journal/runtime.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import { Rng } from '../kernel/rng.ts';
import { Scheduler } from '../kernel/scheduler.ts';
import { Trace } from '../kernel/trace.ts';
import type { Checker, Observer } from '../checkers/checker.ts';
import { HeartbeatLog } from './heartbeat-log.ts';
import { Ledger, type LedgerEntry } from './ledger.ts';
import { Link } from './link.ts';
import type { HostMachine } from './machine.ts';
import type { InventoryPath } from './managers/inventory-port.ts';
import type { ActingOrder, ClusterCall, ClusterContents } from './clusters/cluster-calls.ts';
import type { SimCluster } from './clusters/sim-cluster.ts';
import type { SimManager } from './managers/manager.ts';
import { SimNetwork } from './network.ts';
import { Operator, type RequestRecord } from './operator.ts';
import type { SimParts } from './parts.ts';
import { Server, type Incarnation } from './server.ts';
import type { LeaseChange, StoreObserver } from './store-port.ts';
import { Tally } from './tally.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly parts: SimParts;
  readonly checkers: readonly Checker[];
  readonly print?: (line: string) => void;
}

export interface Violation {
  readonly property: string;
  readonly message: string;
}

export class World implements StoreObserver {
  readonly seed: number;
  readonly parts: SimParts;
  readonly rng: Rng;
  readonly scheduler: Scheduler;
  readonly composition: Composition;
  readonly registry: Registry;
  readonly disk: MemoryDisk;
  readonly database: Store;
  readonly ledger = new Ledger();
  readonly calls = new Tally();
  readonly faults = new Tally();
  readonly servers: readonly Server[];
  readonly links: Link[] = [];
  readonly machines: HostMachine[] = [];
  readonly managers: SimManager[] = [];
  /** The way to the inventory of bare-metal nodes, in worlds that have some. */
  inventory: InventoryPath | undefined;
  readonly clusters: SimCluster[] = [];
  /** What the calls with a signal are for. */
  readonly actingOrders = new WeakMap<AbortSignal, ActingOrder>();
  /** When the decision on a call to a machine was made, by the id of its note. */
  readonly machineCallsAtMs = new Map<string, number>();
  /** The tasks that they were sent for. */
  readonly machineCallTasks = new Map<string, string>();
  readonly heartbeats = new HeartbeatLog();
  readonly network: SimNetwork;
  /** All requests and their answers. */
  readonly requests: RequestRecord[] = [];
  /** True until all faults are over: workloads make new requests only as long as it is. */
  isTroubled = true;
  readonly #observers: readonly Observer[];
  #truth: Fleet;
  #violation: Violation | undefined;

  constructor({ seed, parts, checkers, print }: WorldOptions) {
    this.seed = seed;
    this.parts = parts;
    this.rng = new Rng(seed);
    this.scheduler = new Scheduler(this.rng.fork(), new Trace(print));
    this.composition = compose(parts.modules);
    this.registry = this.composition.newRegistry();
    const nowMs = (): number => WORLD_BEGINS_MS + this.scheduler.nowMs;
    this.disk = new MemoryDisk({ journalId: `journal-${seed}`, nowMs });
    this.database = parts.database(this.disk);
    this.servers = Array.from({ length: this.rng.between(1, 3) }, (_, at) => new Server(`server${at + 1}`, this));
    this.#truth = new Fleet(this.registry);
    this.network = new SimNetwork(this);
    this.#observers = checkers.map((checker) => checker.watch((message) => this.violate(checker.name, message), this));
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** A fleet that follows the disk itself, independently of the servers. */
  get truth(): Fleet {
    return this.#truth;
  }

  /** The first violation ends the run; later ones are its consequences. */
  violate(property: string, message: string): void {
    this.#violation ??= { property, message };
    this.scheduler.note('violation', property);
    this.scheduler.stop();
  }

  newOperator(name: string): Operator {
    return new Operator(name, this, this.newLink());
  }

  newLink(): Link {
    const link = new Link(this);
    this.links.push(link);
    return link;
  }

  fault(who: string, what: string): void {
    this.faults.count(what.split(' ').at(-1) ?? what);
    this.scheduler.note(who, `FAULT ${what}`);
  }

  /** All servers lose power at once, and the disk loses whatever it had not flushed. */
  powerCut(): void {
    for (const server of this.servers) server.crash();
    this.disk.cutPower();
    this.ledger.truncate(this.disk.state.commits.at(-1)?.revision ?? this.disk.state.floor.revision);
  }

  onWrite(group: CommitGroup, written: WriteAnswer, lease: Lease | undefined, writer: string): void {
    this.scheduler.note(
      writer,
      `database: ${written.kind} ${written.kind === 'written' ? written.revision : written.conflict.kind}`,
    );
    if (written.kind !== 'written') return;
    const note = { writer, fence: group.fence, lease, atStep: this.scheduler.steps };
    const entries = this.ledger.record(group.batches, note);
    for (const watch of this.#observers) watch.onWrite?.({ entries, claimed: written.revision });
    for (const entry of entries) this.#follow(entry);
  }

  #follow(entry: LedgerEntry): void {
    const { commit, changes } = entry;
    // A power failure on a disk that does not flush takes revisions back: start anew, the checkers will report it.
    if (commit.revision !== this.#truth.revision + 1)
      this.#truth = this.ledger.replay(this.registry, commit.revision - 1);
    const applied = this.#truth.apply(commit.revision, changes);
    for (const watch of this.#observers) watch.onApplied?.({ truth: this.#truth, applied, entry });
  }

  hasSession(lease: Lease): boolean {
    return !this.disk.isAbandoned(lease.name, lease.epoch);
  }

  onLease(change: LeaseChange): void {
    const { before, after, asker } = change;
    if (before?.epoch !== after?.epoch) this.scheduler.note(asker, `database: lease epoch ${after?.epoch ?? 0}`);
    for (const watch of this.#observers) watch.onLease?.(change);
  }

  onCommit(server: Server, life: Incarnation, commit: Commit, applied: readonly AppliedChange[]): void {
    for (const watch of this.#observers) watch.onCommit?.({ server, life, commit, applied });
  }

  onRebuilt(life: Incarnation): void {
    this.scheduler.note(life.program.name, `fleet loaded anew at ${life.journal.fleet.revision}`);
    for (const watch of this.#observers) watch.onRebuilt?.(life);
  }

  onDriverCall(machine: HostMachine): void {
    for (const watch of this.#observers) watch.onDriverCall?.(machine);
  }

  /** The contents of a machine have changed. */
  onMachineChanged(machine: HostMachine): void {
    for (const watch of this.#observers) watch.onMachineChanged?.(machine);
  }

  onNetworkChanged(): void {
    for (const watch of this.#observers) watch.onNetworkChanged?.();
  }

  /** A server sends something to a cluster that may change it. */
  onClusterCall(call: ClusterCall): void {
    for (const watch of this.#observers) watch.onClusterCall?.(call);
  }

  /** The cluster has served it. */
  onClusterServed(call: ClusterCall, before: ClusterContents): void {
    for (const watch of this.#observers) watch.onClusterServed?.(call, before);
  }

  checkEnd(): void {
    for (const watch of this.#observers) watch.atEnd?.();
  }
}
