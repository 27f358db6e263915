// Switches that cannot be controlled while their agents live, and stray interfaces: which host gets a service, keeps one, and may leave. By
// the state of the machines, not by reports.
import { SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST, isOutOfControl, type Host } from '../../src/hosts/index.ts';
import { CLAIM, claimId, type Claim } from '../../src/network/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { hostChanges } from './leaving.ts';

/** Two reports ten seconds apart, and the heartbeats, restarts and commits between them. */
const KNOWN_AFTER_MS = 60_000;

function machineOf({ machines }: World, host: string | undefined): HostMachine | undefined {
  return machines.find(({ name }) => name === host);
}

/** By the world's clock: since when each host was reachable, and since when the same server holds the lease. */
export const notToUncontrolledSwitch: Checker = {
  name: 'never: a service or a new instance is given to a host whose switch has not obeyed for a minute',
  watch: (violated, world) => {
    const upSinceMs = new Map<string, number>();
    let epochSinceMs = 0;
    return {
      onLease: ({ before, after }) => {
        if (before?.epoch !== after?.epoch) epochSinceMs = world.scheduler.nowMs;
      },
      onApplied: ({
        applied,
        entry: {
          commit: { revision },
        },
      }) => {
        const { nowMs } = world.scheduler;
        for (const { id, was, is } of hostChanges(applied)) {
          if (was?.connection.state !== is?.connection.state || was?.state !== is?.state) upSinceMs.set(id, nowMs);
        }
        for (const change of applied) {
          const { after } = change;
          const machine = machineOf(world, assignedHost(applied, change));
          if (machine?.uncontrolledSinceMs === undefined) continue;
          const sinceMs = Math.max(
            machine.uncontrolledSinceMs,
            machine.startedMs,
            upSinceMs.get(machine.name) ?? 0,
            epochSinceMs,
          );
          if (nowMs - sinceMs >= KNOWN_AFTER_MS)
            violated(`${change.kind} ${after?.id} goes to ${machine.name} at ${revision}`);
        }
      },
    };
  },
};

/** The host that gets a service or the capacity of an instance with this change. What a move brings was claimed before. */
function assignedHost(applied: readonly AppliedChange[], { kind, before, after }: AppliedChange): string | undefined {
  const [was, is] = [before, after].map((side) => placeOf(kind, side?.doc));
  if (is === was || after === undefined) return undefined;
  if (kind !== CLAIM.name) return is;
  const { instance, role } = after.doc as Claim;
  const arrives = applied.some((one) => one.kind === CLAIM.name && one.before?.id === claimId(instance, 'move'));
  return role === 'home' && arrives ? undefined : is;
}

function placeOf(kind: string, doc: object | undefined): string | undefined {
  if (kind === SERVICE.name) return (doc as Service | undefined)?.designated?.host;
  return kind === CLAIM.name ? (doc as Claim | undefined)?.host : undefined;
}

function isTrusted({ connection, forcedDown, quarantined }: Host): boolean {
  return connection.state === 'up' && forcedDown === undefined && quarantined === undefined;
}

function hostOf(truth: Fleet, id: string): Host | undefined {
  return truth.get(HOST, idOf(HOST, id))?.doc;
}

/**
 * Both hosts would serve it: the one that did not get the change continues. A switch whose daemon has stopped forwards nothing, so no host
 * continues while it is dead; peers know that at once by BFD. One that has just begun to forward again still counts as dead.
 */
export const notFromForwardingSwitch: Checker = {
  name: 'never: a service is taken from a host whose switch forwards on and cannot be told to stop',
  watch: (violated, world) => ({
    onApplied: ({
      truth,
      applied,
      entry: {
        commit: { revision },
      },
    }) => {
      for (const { kind, before, after } of applied) {
        if (kind !== SERVICE.name) continue;
        const [was, is] = [before, after].map((side) => (side?.doc as Service | undefined)?.designated?.host);
        const [host, machine] = [hostOf(truth, was ?? ''), machineOf(world, was)];
        if (was === is || is === undefined || host === undefined || machine?.hasBfd !== true) continue;
        if (!isTrusted(host) || !isOutOfControl(host)) continue;
        const isDead = !machine.powered || machine.switch.faults.dead;
        const wasDead = world.scheduler.nowMs - machine.forwardsSinceMs < KNOWN_AFTER_MS;
        if (!isDead && !wasDead) violated(`${after?.id} goes from ${was} to ${is} at ${revision}`);
      }
    },
  }),
};
