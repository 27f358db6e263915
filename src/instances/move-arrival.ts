// The steps of a move after the source has handed the instance over. There is no way back from here: the instance is at its
// target, whatever else fails. Where a port cannot be connected it runs without that one, and moves on from there.
import { mark, put, remove, type Change } from '../fleet/index.ts';
import {
  bindPorts,
  bindWhatCanBe,
  CLAIM,
  claimId,
  PORT,
  unboundPort,
  type BindAsk,
  type BindFault,
  type Claim,
  type PoolKey,
} from '../network/index.ts';
import { expectUnchanged, record, type RecordStep } from '../operations/index.ts';
import { buildFailed, buildWentWell } from '../scheduler/index.ts';
import { keptPromises } from './build-steps.ts';
import { FAULTS, withFault, type Failed } from './faults.ts';
import { withoutHost } from './give-up.ts';
import { hostsLeft, INSTANCE, type Instance, type InstanceFault } from './model.ts';
import {
  ended,
  modeThere,
  moveClaimGone,
  MOVER,
  onward,
  putMoving,
  putSettled,
  swept,
  targetOf,
  towards,
  type MoveLook,
} from './move-errand.ts';
import { isAway, isInline, portsOf, reachesPools } from './place.ts';

/** From here on the instance is at its target, with its claim and its ports. `bound`: what a back end has bound there. */
export function switched(look: MoveLook, bound: readonly Change[] = []): RecordStep {
  const host = targetOf(look.instance.doc) ?? '';
  if (!hasRoomThere(look)) return targetLost(look);
  const ports = portsThere(look, host);
  if ('code' in ports) return cutOff(look, failedBind(ports), bound);
  const changes = [putMoving(look, there(look, host)), ...claimsThere(look), ...ports, ...bound];
  return onward(look, { step: 'activate', host, changes });
}

/** The ports that the journal looks after, bound to the target; all of them unbound where the target binds by itself. */
function portsThere(look: MoveLook, host: string): Change[] | BindFault {
  const { fleet, instance, nowMs } = look;
  const ports = portsOf(fleet, instance.doc);
  const at = { host, by: MOVER, nowMs };
  if (modeThere(fleet, instance) !== 'ready') return ports.map((port) => put(PORT, port.id, unboundPort(port.doc, at)));
  const bound = bindPorts(fleet, inlineAsks(look), at);
  return bound.kind === 'fault' ? bound.fault : bound.ports.map((port) => put(PORT, port.id, port.doc));
}

function inlineAsks({ fleet, instance }: MoveLook): BindAsk[] {
  const pools = towards(instance).doc.attempts.at(-1)?.pools ?? [];
  const inline = portsOf(fleet, instance.doc).filter((port) => isInline(fleet, port.doc));
  return inline.map((port) => ({ port, pool: pools[port.doc.nic ?? 0] as PoolKey }));
}

function failedBind(fault: BindFault): Failed {
  return { fault: fault.code, ...(fault.code === 'pool-empty' && { pool: fault.pool }) };
}

/** Why the target could not be switched to now. What can be known before the source hands over is looked at before. */
export function faultThere(look: MoveLook): Failed | undefined {
  const { fleet, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  if (isAway(fleet, host) || !hasRoomThere(look)) return { fault: 'host-lost' };
  const ports = portsThere(look, host);
  if ('code' in ports) return failedBind(ports);
  // Those that are bound outside the journal, or by the target itself.
  const { pools = [] } = instance.doc.move.tries.at(-1) ?? {};
  return reachesPools(fleet, host, pools) ? undefined : { fault: 'mapping-gone' };
}

/**
 * One of its ports cannot be connected where it is now. It runs there without it, rather than nowhere, and is moved on. Its other ports
 * are connected there meanwhile. `bound`: what a back end has bound there all the same.
 */
export function cutOff(look: MoveLook, failed: Failed, bound: readonly Change[] = []): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { doc } = instance;
  const host = targetOf(doc) ?? '';
  if (!hasRoomThere(look)) return targetLost(look);
  mark('move-arrives-cut-off');
  const tries = withFault(towards(instance).doc, failed).attempts;
  const changes = [
    putMoving(look, { ...there(look, host), move: { ...doc.move, tries } }),
    ...(doc.host === host ? keptPromises(fleet, instance.id) : claimsThere(look, [])),
    ...portsLeft(look, host, bound),
    ...(FAULTS[failed.fault].excludes === 'host' ? buildFailed(fleet, host, nowMs) : []),
  ];
  return onward(look, { step: 'activate', host, changes });
}

/** The ports of an instance that arrived without all of them: bound where they can be, the others at no host. */
function portsLeft(look: MoveLook, host: string, outside: readonly Change[]): Change[] {
  const { fleet, instance, nowMs } = look;
  const bound = new Map([...inlineThere(look, host), ...outside].map((change) => [change.id, change]));
  const ports = portsOf(fleet, instance.doc);
  const left = ports.filter(({ id }) => !bound.has(id));
  return [...bound.values(), ...left.map((port) => put(PORT, port.id, unboundPort(port.doc, { by: MOVER, nowMs })))];
}

/**
 * Those that the journal binds by itself. None once the instance is at the target: what its host could not connect there, or bound
 * otherwise than it was asked to, is not known port by port.
 */
function inlineThere(look: MoveLook, host: string): Change[] {
  const { fleet, instance, nowMs } = look;
  if (instance.doc.host === host || modeThere(fleet, instance) !== 'ready') return [];
  const bound = bindWhatCanBe(fleet, inlineAsks(look), { host, by: MOVER, nowMs });
  return bound.map((port) => put(PORT, port.id, port.doc));
}

/** Whether it is at a host that could not connect its ports. */
export function isCutOff({ move, host }: MoveLook['instance']['doc']): boolean {
  const last = move.tries.at(-1);
  return last?.fault !== undefined && last.host === host;
}

/** It runs where its ports are not connected: the same move looks for another host, from there. */
export function wentOn(look: MoveLook): RecordStep {
  const { move, host = '' } = look.instance.doc;
  const { from, origin = from } = move;
  const movedOff = hostsLeft(look.instance.doc);
  const changes = [putMoving(look, { move: { ...move, from: host, origin, movedOff } }), ...swept(look, from)];
  return onward(look, { step: 'schedule', host: null, changes });
}

/** The host that was asked for by name at its build is left behind. */
function there({ instance }: MoveLook, host: string): Pick<Instance, 'host' | 'place'> {
  const { onlyHost: _, ...place } = instance.doc.place;
  return { host, place };
}

/** The claim of the move becomes that of the instance, which has left the other. */
function claimsThere({ fleet, instance, nowMs }: MoveLook, promised?: Claim['addresses']): Change[] {
  const move = fleet.get(CLAIM, claimId(instance.id, 'move'));
  if (move === undefined) throw new Error(`instance ${instance.id} moves without a claim at its target`);
  // What is bound in the same commit is promised no more.
  const addresses = promised ?? (modeThere(fleet, instance) === 'ready' ? [] : move.doc.addresses);
  const home: Claim = { ...move.doc, role: 'home', addresses, sinceMs: nowMs };
  return [put(CLAIM, claimId(instance.id, 'home'), home), remove(CLAIM, move.id)];
}

/** It runs at its target and nothing of it is left at the source: the move is over. */
export function arrived(look: MoveLook, changes: readonly Change[] = []): RecordStep {
  const { item, instance } = look;
  const expects = [expectUnchanged(INSTANCE, instance)];
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
  const { fleet, instance, nowMs } = look;
  const host = targetOf(instance.doc) ?? instance.doc.host ?? '';
  if (!hasRoomThere(look)) return targetRemoved(look, host);
  // What is still connected at the source would keep that from leaving, with nothing of the instance there.
  const elsewhere = portsOf(fleet, instance.doc).filter(
    ({ doc }) => doc.binding !== undefined && doc.binding.host !== host,
  );
  const message = `Host ${host} was forced down or removed after the instance was handed over to it. Build it elsewhere with "muster instances rebuild ${instance.id}".`;
  const fault: InstanceFault = { code: 'target-lost', message, atMs: nowMs };
  return ended(look, fault, [
    putSettled(look, { ...there(look, host), state: 'error', fault }),
    ...(instance.doc.host === host ? [] : claimsThere(look)),
    ...elsewhere.map((port) => put(PORT, port.id, unboundPort(port.doc, { by: MOVER, nowMs }))),
    ...swept(look, instance.doc.move.from),
  ]);
}

/** Nothing comes to a host that is removed: it is where those are whose host was removed from under them, see `abandoned`. */
function targetRemoved(look: MoveLook, host: string): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { move, ...doc } = instance.doc;
  const { place } = there(look, host);
  const message = `Host ${host} was removed from the fleet when the instance was handed over to it. Make sure that host is off, then build it elsewhere with "muster instances rebuild ${instance.id}", or delete it.`;
  const fault: InstanceFault = { code: 'target-lost', message, atMs: nowMs };
  return ended(look, fault, [
    ...withoutHost(fleet, instance.id, { ...doc, place, state: 'error', fault }, { by: MOVER, nowMs }),
    ...moveClaimGone(fleet, instance.id),
    ...swept(look, move.from),
  ]);
}

/** Whether it has its claim where it is going. A host that is removed takes that along, and does not bring it when it joins again. */
export function hasRoomThere({ fleet, instance }: Pick<MoveLook, 'fleet' | 'instance'>): boolean {
  const host = targetOf(instance.doc) ?? instance.doc.host;
  return instance.doc.host === host || fleet.get(CLAIM, claimId(instance.id, 'move'))?.doc.host === host;
}
