// Services that hosts cannot prepare: an operation waits for its own service only. A host that lacks something for one service is as fast
// for the others as if it lacked nothing.
import { SERVICE, type Service } from '../../src/election/index.ts';
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { ITEM, type Item } from '../../src/operations/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';

/** The last report before the fault was cured may be used for as long as a silent host counts as reachable. */
const REPORT_VALID_MS = 60_000;
/** Far more than the steps of a handover and the backoff between its tries take while nothing else is wrong. */
const OWN_STEPS_MS = 45_000;

export const waitsForOwnServiceOnly: Checker = {
  name: 'never: a healthy service waits for a sick one beyond its own steps',
  watch: (violated, world) => {
    /** When a host last could not prepare a service, by `<host> <service>`. */
    const sickMs = new Map<string, number>();
    /** Since when nothing else was wrong with a host. */
    const calmMs = new Map<string, number>();
    let epoch = 0;
    return {
      onApplied: ({ truth, applied, entry: { fence } }) => {
        const { nowMs } = world.scheduler;
        if (fence?.epoch !== epoch) calmMs.clear();
        epoch = fence?.epoch ?? 0;
        for (const machine of world.machines) {
          for (const service of machine.unpreparable) sickMs.set(`${machine.name} ${service}`, nowMs);
          if (isDisturbed(truth, machine)) calmMs.delete(machine.name);
          else if (!calmMs.has(machine.name)) calmMs.set(machine.name, nowMs);
        }
        for (const { service, host, isSaid } of newWaits(truth, applied)) {
          const sick = otherUnpreparable(world, host, service.id);
          const ownMs = sickMs.get(`${host} ${service.id}`) ?? -Infinity;
          if (sick.length === 0 || nowMs - ownMs < REPORT_VALID_MS) continue;
          const what = `${service.id} waits at ${host}, which cannot prepare ${sick.join(', ')}`;
          if (isSaid) violated(what);
          const sinceMs = Math.max(calmMs.get(host) ?? nowMs, service.sinceMs);
          if (nowMs - sinceMs > OWN_STEPS_MS) violated(`${what}, for ${nowMs - sinceMs} ms`);
        }
      },
    };
  },
};

interface HandoverWait {
  readonly service: { readonly id: string; readonly sinceMs: number };
  readonly host: string;
  /** The reason says that the host lacks something for this very service. */
  readonly isSaid: boolean;
}

/** Handovers that with this commit wait for the new host. */
function newWaits(truth: Fleet, applied: readonly AppliedChange[]): HandoverWait[] {
  return applied.flatMap(({ kind, after }): HandoverWait[] => {
    if (kind !== ITEM.name || after === undefined) return [];
    const { target, step, state, reason } = after.doc as Item;
    if (target.kind !== SERVICE.name || step !== 'prepare' || state !== 'waiting') return [];
    const doc: Service | undefined = truth.get(SERVICE, idOf(SERVICE, target.id))?.doc;
    if (doc?.handover === undefined) return [];
    const { to, sinceMs } = doc.handover;
    const isSaid = reason?.code === 'service-not-ready';
    if (!isSaid && reason?.code !== 'hosts-behind') return [];
    return [{ service: { id: target.id, sinceMs }, host: to, isSaid }];
  });
}

function otherUnpreparable({ machines }: World, host: string, service: string): string[] {
  const sick = machines.find(({ name }) => name === host)?.unpreparable ?? [];
  return [...sick].filter((one) => one !== service);
}

export function isDisturbed(
  truth: Fleet,
  { name, incarnation, link, switch: { faults }, diskFull }: HostMachine,
): boolean {
  const { cut, slowMs, losePercent, misroutePercent } = link;
  const isUp = truth.get(HOST, idOf(HOST, name))?.doc.connection.state === 'up';
  if (!isUp || incarnation === undefined || incarnation.program.paused || diskFull) return true;
  if (cut || slowMs > 0 || losePercent > 0 || misroutePercent > 0) return true;
  return faults.down || faults.cut || faults.dead || faults.slowMs > 0 || faults.losesFlows > 0;
}
