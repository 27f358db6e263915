// The operation `instance-replug`: binds the ports of a degraded instance to its host again, and waits until they are plugged. It tries with growing
// backoff, without limit, and ends when the instance is connected or another operation works on it. It must never touch a port that is connected.
import { idOf, mark, put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import {
  bindPorts,
  nicRequirementsOf,
  PORT,
  unbindPort,
  undeliveredReason,
  type PoolKey,
  type Port,
  type PortAnswer,
  type StoredPort,
} from '../../network/index.ts';
import {
  retryWithBackoff,
  decideLater,
  expectUnchanged,
  newOperation,
  record,
  shortenText,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { recordBoundPorts } from '../build/back-end-answers.ts';
import { itemsOfEvent, NO_DEADLINE_MS } from '../delete/clean.ts';
import { degradedPorts, isAtRest, REPLUG_PREFIX, type DisconnectedPort } from './degraded.ts';
import { FAULTS, toFaultCode } from '../faults.ts';
import { gatesOf, currentPathOf } from '../gates.ts';
import { commonSiteOf } from '../scope.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { readAnswer, isUnanswered } from '../move/binding.ts';
import { composeBindOrder } from '../back-end-orders.ts';
import {
  isUnavailable,
  isFencedOrRemoved,
  isInline,
  bindModeOn,
  canReachPools,
  type StoredInstance,
} from '../build/placement.ts';

const REPLUGGER = 'operation:instance-replug';
/** How long the network may take to report a port as plugged after a repeated bind. */
const REPLUG_TIMEOUT_MS = 60_000;

export function beginReplugOperation(fleet: FleetReader, instance: StoredInstance, nowMs: number): readonly Change[] {
  const { id } = instance;
  return newOperation({
    id: `${REPLUG_PREFIX}${fleet.revision}.${id}` as OperationId,
    kind: instanceReplug.name,
    title: `connect the ports of instance ${id} again`,
    by: 'muster',
    ...commonSiteOf(fleet, [instance]),
    nowMs,
    deadlineMs: NO_DEADLINE_MS,
    items: [{ key: id, target: { kind: INSTANCE.name, id }, step: 'rebind' }],
  });
}

export const instanceReplug: OperationKind = {
  name: 'instance-replug',
  steps: ['rebind', 'bind', 'plug'],
  cancel: { kind: 'none', because: 'it would start again while the instance is degraded; move or delete the instance' },
  retry: { kind: 'does', what: 'the ports are bound again' },

  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => handleBindOutcome(fleet, item, outcome, nowMs),

  itemsToWake: (fleet, change) => itemsOfEvent(fleet, change),
};

interface ReplugContext {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly disconnected: readonly DisconnectedPort[];
  readonly nowMs: number;
}

/**
 * The ports to connect; undefined when there are none, or another operation does it. The answer to an order is waited for even when its ports are
 * connected by now: it says how they are bound.
 */
function loadContext(fleet: FleetReader, item: StoredItem, nowMs: number): ReplugContext | undefined {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance === undefined || !isAtRest(instance)) return undefined;
  const disconnected = degradedPorts(fleet, instance);
  const isAnswered = item.doc.step !== 'bind' || readOrderedPorts(fleet, item) === undefined;
  return disconnected.length === 0 && isAnswered ? undefined : { fleet, item, instance, disconnected, nowMs };
}

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const look = loadContext(fleet, item, nowMs);
  if (look === undefined) return [decideLater(item, (at, atMs) => endReplug(at, item, atMs))];
  const isEarly = nowMs < (item.doc.retryAtMs ?? 0);
  switch (item.doc.step) {
    case 'rebind':
      return isEarly ? [] : [decideLater(item, (at, atMs) => [rebindPorts(at, item, atMs)])];
    case 'bind':
      return isEarly ? [] : planBind(look);
    case 'plug':
      return [waitForPlug(look)];
    default:
      throw new Error(`instance-replug has no step "${item.doc.step}"`);
  }
}

/**
 * Decided inside the commit: an instance that is degraded again by then would be left to an operation that has ended, since nothing begins another one
 * while this one is open.
 */
function endReplug(fleet: FleetReader, item: StoredItem, nowMs: number): readonly RecordStep[] {
  if (loadContext(fleet, item, nowMs) !== undefined) return [];
  return [record(item, { state: 'done', step: item.doc.step })];
}

/** An answer to any but the last order is ignored. */
function retryLater({ item, instance, nowMs }: ReplugContext, why: Reason): RecordStep {
  const retry = retryWithBackoff(item, { ...why, instance: instance.id, host: instance.doc.host }, { nowMs });
  return { ...retry, progress: { ...retry.progress, step: 'rebind' } };
}

function retryNotConnected(look: ReplugContext, fault: string, text?: string): RecordStep {
  const message = text ?? FAULTS[toFaultCode(fault)].sentence;
  return retryLater(look, { code: 'not-connected', fault, message: shortenText(message, 300) });
}

/** The back end says that it has bound some of the ports to no host: that is what they are from now on. */
function retryUnbound(look: ReplugContext, answers: readonly PortAnswer[], worst: PortAnswer): RecordStep {
  const { fleet, item, nowMs } = look;
  const refused = new Set(answers.flatMap(({ port, outcome }) => (outcome === 'binding-failed' ? [port] : [])));
  const ports = (readOrderedPorts(fleet, item) ?? []).filter(
    ({ id, doc }) => refused.has(id) && doc.binding !== undefined,
  );
  const changes = ports.map(({ id, doc }) => put(PORT, id, unbindPort(doc, { by: REPLUGGER, nowMs })));
  const retry = retryNotConnected(look, toFaultCode(worst.outcome), worst.text);
  return { ...retry, changes, expects: ports.map((port) => expectUnchanged(PORT, port)) };
}

/** Binds the ports in the journal, and gives out the serials under which back ends bind the others. */
function rebindPorts(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const look = loadContext(fleet, item, nowMs);
  if (look === undefined) return record(item, { state: 'done', step: item.doc.step });
  const { instance, disconnected } = look;
  const { host = '' } = instance.doc;
  if (isFencedOrRemoved(fleet, host)) return retryLater(look, { code: 'host-forced-down' });
  if (isUnavailable(fleet, host)) return retryLater(look, { code: 'host-silent' });
  const binder = hostBindingReason(fleet, instance.doc);
  if (binder !== undefined) return retryLater(look, binder);
  const ports = disconnected.map(({ port }) => port);
  const pools = ports.map((port) => reachablePoolOf(fleet, port, instance.doc));
  if (pools.includes(undefined)) return retryNotConnected(look, 'mapping-gone');
  const portRequests = ports.map((port, nth) => ({ port, pool: pools[nth] as PoolKey }));
  const inline = portRequests.filter(({ port }) => isInline(fleet, port.doc));
  const bound = bindPorts(fleet, inline, { host, by: REPLUGGER, nowMs });
  if (bound.kind === 'fault') return retryNotConnected(look, bound.fault.code);
  mark('instance-replugged');
  const outside = ports.filter((port) => !isInline(fleet, port.doc));
  const changes = [
    ...bound.ports.map(({ id, doc }) => put(PORT, id, doc)),
    ...outside.map(({ id, doc }) => put(PORT, id, orderAgain(doc, host))),
  ];
  const expects = [expectUnchanged(INSTANCE, instance)];
  if (outside.length === 0)
    return record(item, { ...composeRunningProgress(item), step: 'plug' }, { changes, expects });
  const orders = outside.map(({ id, doc }) => `${id}:${doc.serial + 1}`);
  const reason = { code: 'ports-bound-again', instance: instance.id, host, orders };
  return record(item, { ...composeRunningProgress(item), step: 'bind', reason }, { changes, expects });
}

/**
 * The order replaces the binding at the back end, whatever becomes of it there: what is reported of the binding under its former serial, however late, does
 * not count any more.
 */
function orderAgain({ binding, ...port }: Port, host: string): Port {
  const serial = port.serial + 1;
  return { ...port, serial, ...(binding && { binding: binding.host === host ? { ...binding, serial } : binding }) };
}

/** Steps of one try count as one attempt: the backoff to the next grows with the tries. */
function composeRunningProgress({ doc: { attempt } }: StoredItem): {
  readonly state: 'running';
  readonly attempt: number;
} {
  return { state: 'running', attempt };
}

/**
 * Why nothing is bound for a host that binds ports itself: undefined when it does not, or when the gates have opened since. It ends with the named
 * event: a driver that reports the port as plugged, upgraded agents, or credentials.
 */
function hostBindingReason(fleet: FleetReader, instance: Instance): Reason | undefined {
  const host = findHost(fleet, instance.host ?? '')?.doc;
  if (host?.bindsAt === 'driver') return { code: 'host-binds', because: 'driver' };
  const path = currentPathOf(fleet, instance);
  if (host !== undefined && bindModeOn(host, { ...instance, path }) === 'ready') return undefined;
  const { open, needs, below } = gatesOf(fleet).bind;
  return open
    ? { code: 'host-binds', because: 'credentials' }
    : { code: 'host-binds', because: 'agents', needs, below };
}

/** Where the port has its addresses, if its host reaches that. */
function reachablePoolOf(fleet: FleetReader, { doc }: StoredPort, instance: Instance): PoolKey | undefined {
  const { choices } = nicRequirementsOf(fleet, doc, { wasActive: true });
  return choices.find(({ pool }) => canReachPools(fleet, instance.host ?? '', [pool]))?.pool;
}

/** The ports whose given serials are still the last. */
function readOrderedPorts(fleet: FleetReader, item: StoredItem): StoredPort[] | undefined {
  const orders = item.doc.reason?.['orders'];
  const all = Array.isArray(orders) ? orders.map(String) : [];
  const ports = all.flatMap((order) => {
    const at = order.lastIndexOf(':');
    const port = fleet.get(PORT, idOf(PORT, order.slice(0, at)));
    return port?.doc.serial === Number(order.slice(at + 1)) ? [port] : [];
  });
  return ports.length === all.length && all.length > 0 ? ports : undefined;
}

/** The instance as it would be if it were being built at its host. */
function composePlacedInstance({
  fleet,
  instance,
}: ReplugContext): StoredInstance & { readonly pools: readonly string[] } {
  const { doc } = instance;
  const pools = doc.nics.map(({ port: id, network }) => {
    const port = fleet.get(PORT, idOf(PORT, id));
    return (port === undefined ? undefined : reachablePoolOf(fleet, port, doc)) ?? `network:${network}`;
  });
  return { ...instance, pools, doc: { ...doc, attempts: [{ nth: 1, pools, atMs: 0 }] } };
}

function planBind(look: ReplugContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const ports = readOrderedPorts(fleet, item);
  if (ports === undefined) return [retryLater(look, { code: 'not-connected', fault: 'superseded' })];
  const built = composePlacedInstance(look);
  const order = composeBindOrder(fleet, { instance: built, host: instance.doc.host ?? '', pools: built.pools }, ports);
  const { step, attempt } = item.doc;
  const args = order as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function handleBindOutcome(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  const look = loadContext(fleet, item, nowMs);
  if (look === undefined) return record(item, { state: 'done', step: item.doc.step });
  const answered = readAnswer(outcome);
  const { worst, answers = [] } = answered;
  if (isUnanswered(answered)) {
    const why = undeliveredReason(outcome);
    return why === undefined ? retryNotConnected(look, 'back-end-unavailable', worst?.text) : retryLater(look, why);
  }
  if (worst !== undefined) return retryUnbound(look, answers, worst);
  const ports = readOrderedPorts(fleet, item);
  if (ports === undefined) return retryLater(look, { code: 'not-connected', fault: 'superseded' });
  if (ports.some((port) => reachablePoolOf(fleet, port, look.instance.doc) === undefined))
    return retryNotConnected(look, 'mapping-gone');
  const changes = recordBoundPorts(fleet, composePlacedInstance(look), answers, nowMs);
  const expects = [expectUnchanged(INSTANCE, look.instance), ...ports.map((port) => expectUnchanged(PORT, port))];
  return record(item, { ...composeRunningProgress(item), step: 'plug' }, { changes, expects });
}

function waitForPlug(look: ReplugContext): RecordStep {
  const { item, instance, disconnected, nowMs } = look;
  // A port that is no longer bound, or could not be plugged, has to be bound again.
  const worse = disconnected.find(({ trouble }) => trouble !== 'not-plugged');
  if (worse !== undefined) return retryNotConnected(look, 'not-plugged', PLUG_TEXTS[worse.trouble]);
  const sinceMs = item.doc.state === 'waiting' ? item.doc.sinceMs : nowMs;
  if (nowMs >= sinceMs + REPLUG_TIMEOUT_MS) return retryNotConnected(look, 'not-plugged');
  return wait(item, { code: 'ports-not-plugged', instance: instance.id }, sinceMs + REPLUG_TIMEOUT_MS);
}

const PLUG_TEXTS: Readonly<Record<DisconnectedPort['trouble'], string | undefined>> = {
  unbound: undefined,
  'not-plugged': undefined,
  unplugged: 'The network reported the port as unplugged.',
  'plug-failed': 'The network reported that the host could not plug the port.',
};
