// The steps of a move after the source has handed the instance over. There is no way back from here: the instance is at its
// target, whatever else fails, and what could not be done is asked for again.
import { mark, put, remove, type Change } from '../fleet/index.ts';
import { bindPorts, CLAIM, claimId, PORT, unboundPort, type Claim, type PoolKey } from '../network/index.ts';
import { expecting, record, wait, type RecordStep } from '../operations/index.ts';
import { buildWentWell } from '../scheduler/index.ts';
import { keptPromises } from './build-steps.ts';
import { INSTANCE, type Instance, type InstanceFault } from './model.ts';
import {
  ended,
  modeThere,
  MOVER,
  onward,
  putMoving,
  putSettled,
  swept,
  targetOf,
  towards,
  type MoveLook,
} from './move-errand.ts';
import { isInline, portsOf } from './place.ts';

/** A target that cannot take the ports now, though it could when it was chosen, is looked at again after this time. */
const AGAIN_MS = 5000;

/** From here on the instance is at its target, with its claim and its ports. `bound`: what a back end has bound there. */
export function switched(look: MoveLook, bound: readonly Change[] = []): RecordStep {
  const { item, instance, nowMs } = look;
  const host = targetOf(instance.doc) ?? '';
  const ports = portsThere(look, host);
  if ('code' in ports) {
    const reason = { code: 'not-bound', instance: instance.id, host, fault: ports.code };
    return wait(item, reason, nowMs + AGAIN_MS);
  }
  const changes = [putMoving(look, there(look, host)), ...claimsThere(look), ...ports, ...bound];
  return onward(look, { step: 'activate', host, changes });
}

/** The ports that the journal looks after, bound to the target; all of them unbound where the target binds by itself. */
function portsThere({ fleet, instance, nowMs }: MoveLook, host: string): Change[] | { readonly code: string } {
  const ports = portsOf(fleet, instance.doc);
  const at = { host, by: MOVER, nowMs };
  if (modeThere(fleet, instance) !== 'ready') return ports.map((port) => put(PORT, port.id, unboundPort(port.doc, at)));
  const pools = towards(instance).doc.attempts.at(-1)?.pools ?? [];
  const inline = ports.filter((port) => isInline(fleet, port.doc));
  const asks = inline.map((port) => ({ port, pool: pools[port.doc.nic ?? 0] as PoolKey }));
  const bound = bindPorts(fleet, asks, at);
  return bound.kind === 'fault' ? bound.fault : bound.ports.map((port) => put(PORT, port.id, port.doc));
}

/** The host that was asked for by name at its build is left behind. */
function there({ instance }: MoveLook, host: string): Pick<Instance, 'host' | 'place'> {
  const { onlyHost: _, ...place } = instance.doc.place;
  return { host, place };
}

/** The claim of the move becomes that of the instance, which has left the other. */
function claimsThere({ fleet, instance, nowMs }: MoveLook): Change[] {
  const move = fleet.get(CLAIM, claimId(instance.id, 'move'));
  if (move === undefined) throw new Error(`instance ${instance.id} moves without a claim at its target`);
  // What is bound in the same commit is promised no more.
  const addresses = modeThere(fleet, instance) === 'ready' ? [] : move.doc.addresses;
  const home: Claim = { ...move.doc, role: 'home', addresses, sinceMs: nowMs };
  return [put(CLAIM, claimId(instance.id, 'home'), home), remove(CLAIM, move.id)];
}

/** It runs at its target and nothing of it is left at the source: the move is over. */
export function arrived(look: MoveLook, changes: readonly Change[] = []): RecordStep {
  const { item, instance } = look;
  const expects = [expecting(INSTANCE, instance)];
  const all = [...arrival(look), ...changes];
  return record(item, { state: 'done', step: item.doc.step, host: null }, { changes: all, expects });
}

export function arrival(look: MoveLook): Change[] {
  const { fleet, instance } = look;
  return [
    putSettled(look, { state: 'active' }),
    ...keptPromises(fleet, instance.id),
    ...buildWentWell(fleet, instance.doc.host ?? ''),
  ];
}

/** The host that it was handed to is off for certain: it is there, and can be built elsewhere. */
export function targetLost(look: MoveLook): RecordStep {
  mark('move-target-lost');
  const { instance, nowMs } = look;
  const host = targetOf(instance.doc) ?? '';
  const message = `Host ${host} was forced down or removed after the instance was handed over to it. Build it elsewhere with "muster instances rebuild ${instance.id}".`;
  const fault: InstanceFault = { code: 'target-lost', message, atMs: nowMs };
  return ended(look, fault, [
    putSettled(look, { ...there(look, host), state: 'error', fault }),
    ...(instance.doc.host === host ? [] : claimsThere(look)),
    ...swept(look, instance.doc.move.from),
  ]);
}
