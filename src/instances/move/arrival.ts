// The steps of a move after the source has migrated the instance. There is no way back: the instance is at its target, whatever else fails. Where a
// port cannot be connected it runs without that one, and moves on from there.
import { mark, put, remove, type Change } from '../../fleet/index.ts';
import {
  bindPorts,
  bindAllPossible,
  CLAIM,
  claimId,
  PORT,
  unbindPort,
  type BindRequest,
  type BindFault,
  type Claim,
  type PoolKey,
} from '../../network/index.ts';
import { expectUnchanged, record, type RecordStep } from '../../operations/index.ts';
import { recordBuildFailure, clearBuildFailures } from '../../scheduler/index.ts';
import { clearPromisedAddresses } from '../build/steps.ts';
import { FAULTS, recordFault, type AttemptFailure } from '../faults.ts';
import { detachFromHost } from '../build/failure.ts';
import { listVacatedHosts, INSTANCE, type Instance, type InstanceFault } from '../model.ts';
import {
  failMove,
  targetBindMode,
  dropMoveClaim,
  MOVER,
  advanceMove,
  putMoving,
  putEnded,
  sweepEnd,
  targetOf,
  composeTargetInstance,
  type MoveContext,
} from './context.ts';
import { isUnavailable, isInline, portsOf, canReachPools } from '../build/placement.ts';

/** From here on the instance is at its target, with its claim and its ports. `bound`: the ports that a back end has bound there. */
export function switchToTarget(look: MoveContext, bound: readonly Change[] = []): RecordStep {
  const host = targetOf(look.instance.doc) ?? '';
  if (!hasClaimAtTarget(look)) return failTargetLost(look);
  const ports = bindTargetPorts(look, host);
  if ('code' in ports) return arriveDisconnected(look, toAttemptFailure(ports), bound);
  const changes = [putMoving(look, targetFields(look, host)), ...promoteMoveClaim(look), ...ports, ...bound];
  return advanceMove(look, { step: 'activate', host, changes });
}

/** The ports that the journal looks after, bound to the target; all of them unbound where the target binds by itself. */
function bindTargetPorts(look: MoveContext, host: string): Change[] | BindFault {
  const { fleet, instance, nowMs } = look;
  const ports = portsOf(fleet, instance.doc);
  const at = { host, by: MOVER, nowMs };
  if (targetBindMode(fleet, instance) !== 'ready')
    return ports.map((port) => put(PORT, port.id, unbindPort(port.doc, at)));
  const bound = bindPorts(fleet, inlineBindRequests(look), at);
  return bound.kind === 'fault' ? bound.fault : bound.ports.map((port) => put(PORT, port.id, port.doc));
}

function inlineBindRequests({ fleet, instance }: MoveContext): BindRequest[] {
  const pools = composeTargetInstance(instance).doc.attempts.at(-1)?.pools ?? [];
  const inline = portsOf(fleet, instance.doc).filter((port) => isInline(fleet, port.doc));
  return inline.map((port) => ({ port, pool: pools[port.doc.nic ?? 0] as PoolKey }));
}

function toAttemptFailure(fault: BindFault): AttemptFailure {
  return { fault: fault.code, ...(fault.code === 'pool-empty' && { pool: fault.pool }) };
}

/** Why the move cannot switch to the target now. Everything that can be known before the migration is checked before it. */
export function targetFaultOf(look: MoveContext): AttemptFailure | undefined {
  const { fleet, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  if (isUnavailable(fleet, host) || !hasClaimAtTarget(look)) return { fault: 'host-lost' };
  const ports = bindTargetPorts(look, host);
  if ('code' in ports) return toAttemptFailure(ports);
  // Those that are bound outside the journal, or by the target itself.
  const { pools = [] } = instance.doc.move.tries.at(-1) ?? {};
  return canReachPools(fleet, host, pools) ? undefined : { fault: 'mapping-gone' };
}

/**
 * One of its ports cannot be connected where it is now. It runs there without it, rather than nowhere, and is moved on. Its other ports are
 * connected there meanwhile. `bound`: the ports that a back end has bound there all the same.
 */
export function arriveDisconnected(
  look: MoveContext,
  failed: AttemptFailure,
  bound: readonly Change[] = [],
): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { doc } = instance;
  const host = targetOf(doc) ?? '';
  if (!hasClaimAtTarget(look)) return failTargetLost(look);
  mark('move-arrives-disconnected');
  const tries = recordFault(composeTargetInstance(instance).doc, failed).attempts;
  const changes = [
    putMoving(look, { ...targetFields(look, host), move: { ...doc.move, tries } }),
    ...(doc.host === host ? clearPromisedAddresses(fleet, instance.id) : promoteMoveClaim(look, [])),
    ...bindRemainingPorts(look, host, bound),
    ...(FAULTS[failed.fault].excludes === 'host' ? recordBuildFailure(fleet, host, nowMs) : []),
  ];
  return advanceMove(look, { step: 'activate', host, changes });
}

/** The ports of an instance that arrived without all of them: bound where they can be, the others at no host. */
function bindRemainingPorts(look: MoveContext, host: string, outside: readonly Change[]): Change[] {
  const { fleet, instance, nowMs } = look;
  const bound = new Map([...bindInlinePorts(look, host), ...outside].map((change) => [change.id, change]));
  const ports = portsOf(fleet, instance.doc);
  const left = ports.filter(({ id }) => !bound.has(id));
  return [...bound.values(), ...left.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: MOVER, nowMs })))];
}

/**
 * The ports in the journal. None once the instance is at the target: which ports its host could not connect there, or bound otherwise than
 * ordered, is not known port by port.
 */
function bindInlinePorts(look: MoveContext, host: string): Change[] {
  const { fleet, instance, nowMs } = look;
  if (instance.doc.host === host || targetBindMode(fleet, instance) !== 'ready') return [];
  const bound = bindAllPossible(fleet, inlineBindRequests(look), { host, by: MOVER, nowMs });
  return bound.map((port) => put(PORT, port.id, port.doc));
}

/** Whether it is at a host that could not connect its ports. */
export function isDisconnected({ move, host }: MoveContext['instance']['doc']): boolean {
  const last = move.tries.at(-1);
  return last?.fault !== undefined && last.host === host;
}

/** It runs where its ports are not connected: the same move chooses another host, from there. */
export function moveOn(look: MoveContext): RecordStep {
  const { move, host = '' } = look.instance.doc;
  const { from, origin = from } = move;
  const movedOff = listVacatedHosts(look.instance.doc);
  const changes = [putMoving(look, { move: { ...move, from: host, origin, movedOff } }), ...sweepEnd(look, from)];
  return advanceMove(look, { step: 'schedule', host: null, changes });
}

/** The host that was requested by name at its build no longer applies. */
function targetFields({ instance }: MoveContext, host: string): Pick<Instance, 'host' | 'place'> {
  const { onlyHost: _, ...place } = instance.doc.place;
  return { host, place };
}

/** The claim of the move becomes that of the instance, which has left the other. */
function promoteMoveClaim({ fleet, instance, nowMs }: MoveContext, promised?: Claim['addresses']): Change[] {
  const move = fleet.get(CLAIM, claimId(instance.id, 'move'));
  if (move === undefined) throw new Error(`instance ${instance.id} moves without a claim at its target`);
  // Addresses that are bound in the same commit need no claim any more.
  const addresses = promised ?? (targetBindMode(fleet, instance) === 'ready' ? [] : move.doc.addresses);
  const home: Claim = { ...move.doc, role: 'home', addresses, sinceMs: nowMs };
  return [put(CLAIM, claimId(instance.id, 'home'), home), remove(CLAIM, move.id)];
}

/** It runs at its target and its copy at the source is destroyed: the move is over. */
export function recordArrival(look: MoveContext, changes: readonly Change[] = []): RecordStep {
  const { item, instance } = look;
  const expects = [expectUnchanged(INSTANCE, instance)];
  const all = [...composeArrival(look), ...changes];
  return record(item, { state: 'done', step: item.doc.step, host: null }, { changes: all, expects });
}

export function composeArrival(look: MoveContext): Change[] {
  const { fleet, instance } = look;
  return [
    putEnded(look, { state: 'active' }),
    ...clearPromisedAddresses(fleet, instance.id),
    ...clearBuildFailures(fleet, instance.doc.host ?? ''),
  ];
}

/** Its target is certainly off: it is there, and can be rebuilt elsewhere. */
export function failTargetLost(look: MoveContext): RecordStep {
  mark('move-target-lost');
  const { fleet, instance, nowMs } = look;
  const host = targetOf(instance.doc) ?? instance.doc.host ?? '';
  if (!hasClaimAtTarget(look)) return failTargetRemoved(look, host);
  // A binding that is left at the source would block that host's removal, with nothing of the instance there.
  const elsewhere = portsOf(fleet, instance.doc).filter(
    ({ doc }) => doc.binding !== undefined && doc.binding.host !== host,
  );
  const message = `Host ${host} was forced down or removed after the instance was migrated to it. Build it elsewhere with "muster instances rebuild ${instance.id}".`;
  const fault: InstanceFault = { code: 'target-lost', message, atMs: nowMs };
  return failMove(look, fault, [
    putEnded(look, { ...targetFields(look, host), state: 'error', fault }),
    ...(instance.doc.host === host ? [] : promoteMoveClaim(look)),
    ...elsewhere.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: MOVER, nowMs }))),
    ...sweepEnd(look, instance.doc.move.from),
  ]);
}

/** Nothing can arrive on a removed host: the instance is treated as one whose host was removed by force, see `abandoned`. */
function failTargetRemoved(look: MoveContext, host: string): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { move, ...doc } = instance.doc;
  const { place } = targetFields(look, host);
  const message = `Host ${host} was removed from the fleet when the instance was migrated to it. Make sure that host is off, then build it elsewhere with "muster instances rebuild ${instance.id}", or delete it.`;
  const fault: InstanceFault = { code: 'target-lost', message, atMs: nowMs };
  return failMove(look, fault, [
    ...detachFromHost(fleet, instance.id, { ...doc, place, state: 'error', fault }, { by: MOVER, nowMs }),
    ...dropMoveClaim(fleet, instance.id),
    ...sweepEnd(look, move.from),
  ]);
}

/** Whether it has its claim at its target. A removed host loses the claim, and has none when it joins again. */
export function hasClaimAtTarget({ fleet, instance }: Pick<MoveContext, 'fleet' | 'instance'>): boolean {
  const host = targetOf(instance.doc) ?? instance.doc.host;
  return instance.doc.host === host || fleet.get(CLAIM, claimId(instance.id, 'move'))?.doc.host === host;
}
