// The operation `instance-replug`: the ports of an instance that is degraded are bound to its host again, and it is waited for
// until they are plugged. It is tried for as long as it takes, less and less often, and ends when the instance is connected or
// somebody else works on it. It never touches a port that is connected.
import { idOf, mark, put, type Change, type FleetReader, type Reason } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import { bindPorts, nicNeed, PORT, unasked, type PoolKey, type StoredPort } from '../network/index.ts';
import {
  backoffMs,
  decideLater,
  expectUnchanged,
  newOperation,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { boundPorts } from './build-orders.ts';
import { itemsOfEvent, NO_DEADLINE_MS } from './clean.ts';
import { degradedPorts, REPLUG_PREFIX, type TroubledPort } from './degraded.ts';
import { FAULTS, faultNamed } from './faults.ts';
import { gatesOf, pathAgain } from './gates.ts';
import { siteOfWork } from './instance-site.ts';
import { INSTANCE, type Instance } from './model.ts';
import { answersOf, isUnknown } from './move-binding.ts';
import { bindOrder } from './orders.ts';
import { isAway, isConfirmedGone, isInline, modeOn, reachesPools, type StoredInstance } from './place.ts';

const REPLUGGER = 'operation:instance-replug';
/** How long the network may take to report a port as plugged that was bound again. */
const PLUG_WAIT_MS = 60_000;

export function replugOperation(fleet: FleetReader, instance: StoredInstance, nowMs: number): readonly Change[] {
  const { id } = instance;
  return newOperation({
    id: `${REPLUG_PREFIX}${fleet.revision}.${id}` as OperationId,
    kind: instanceReplug.name,
    title: `connect the ports of instance ${id} again`,
    by: 'muster',
    ...siteOfWork(fleet, [instance]),
    nowMs,
    deadlineMs: NO_DEADLINE_MS,
    items: [{ key: id, target: { kind: INSTANCE.name, id }, step: 'rebind' }],
  });
}

export const instanceReplug: OperationKind = {
  name: 'instance-replug',
  steps: ['rebind', 'bind', 'plug'],
  cancel: { kind: 'none', because: 'it would begin anew while the instance is degraded; move or delete the instance' },
  retry: { kind: 'does', what: 'the ports are bound again' },
  rollback: { kind: 'none', because: 'nothing is taken away that was there' },

  plan: (fleet, _operation, items, nowMs) => items.flatMap((item) => nextStep(fleet, item, nowMs)),
  observe: (fleet, item, outcome, nowMs) => observed(fleet, item, outcome, nowMs),

  itemsToWake: (fleet, change) => itemsOfEvent(fleet, change),
};

interface Look {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly troubled: readonly TroubledPort[];
  readonly nowMs: number;
}

/** What is to be connected; undefined when nothing is, or when it is somebody else's to do so. */
function lookAt(fleet: FleetReader, item: StoredItem, nowMs: number): Look | undefined {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance === undefined) return undefined;
  const troubled = degradedPorts(fleet, instance);
  return troubled.length === 0 ? undefined : { fleet, item, instance, troubled, nowMs };
}

function nextStep(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const look = lookAt(fleet, item, nowMs);
  if (look === undefined) return [record(item, { state: 'done', step: item.doc.step })];
  const isEarly = nowMs < (item.doc.retryAtMs ?? 0);
  switch (item.doc.step) {
    case 'rebind':
      return isEarly ? [] : [decideLater(item, (at, atMs) => [rebound(at, item, atMs)])];
    case 'bind':
      return isEarly ? [] : toBind(look);
    case 'plug':
      return [untilPlugged(look)];
    default:
      throw new Error(`instance-replug has no step "${item.doc.step}"`);
  }
}

/** Nobody waits for the answer to an order that is not the last one any more. */
function again({ item, instance, nowMs }: Look, why: Reason): RecordStep {
  const { attempt } = item.doc;
  const reason = { ...why, instance: instance.id, host: instance.doc.host };
  const retryAtMs = nowMs + backoffMs(attempt);
  return record(item, { state: 'waiting', step: 'rebind', reason, retryAtMs, attempt: attempt + 1 });
}

function notConnected(look: Look, fault: string, text?: string): RecordStep {
  const message = text ?? FAULTS[faultNamed(fault)].sentence;
  return again(look, { code: 'not-connected', fault, message: message.slice(0, 300) });
}

/** Binds what the journal binds, and gives out the serials under which back ends bind the others. */
function rebound(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const look = lookAt(fleet, item, nowMs);
  if (look === undefined) return record(item, { state: 'done', step: item.doc.step });
  const { instance, troubled } = look;
  const { host = '' } = instance.doc;
  if (isConfirmedGone(fleet, host)) return again(look, { code: 'host-forced-down' });
  if (isAway(fleet, host)) return again(look, { code: 'host-silent' });
  const binder = hostBinding(fleet, instance.doc);
  if (binder !== undefined) return again(look, binder);
  const ports = troubled.map(({ port }) => port);
  const pools = ports.map((port) => poolAt(fleet, port, instance.doc));
  if (pools.includes(undefined)) return notConnected(look, 'mapping-gone');
  const asks = ports.map((port, nth) => ({ port, pool: pools[nth] as PoolKey }));
  const inline = asks.filter(({ port }) => isInline(fleet, port.doc));
  const bound = bindPorts(fleet, inline, { host, by: REPLUGGER, nowMs });
  if (bound.kind === 'fault') return notConnected(look, bound.fault.code);
  mark('instance-replugged');
  const outside = ports.filter((port) => !isInline(fleet, port.doc));
  const changes = [
    ...bound.ports.map(({ id, doc }) => put(PORT, id, doc)),
    ...outside.map(({ id, doc }) => put(PORT, id, { ...doc, serial: doc.serial + 1 })),
  ];
  const expects = [expectUnchanged(INSTANCE, instance)];
  if (outside.length === 0) return record(item, { ...running(item), step: 'plug' }, { changes, expects });
  const orders = outside.map(({ id, doc }) => `${id}:${doc.serial + 1}`);
  const reason = { code: 'ports-bound-again', instance: instance.id, host, orders };
  return record(item, { ...running(item), step: 'bind', reason }, { changes, expects });
}

/** Steps of one try count as one attempt: the next is due after as long a pause as there were tries. */
function running({ doc: { attempt } }: StoredItem): { readonly state: 'running'; readonly attempt: number } {
  return { state: 'running', attempt };
}

/**
 * Why nobody binds for a host that binds ports by itself: undefined when it does not, or when the gates have opened since. It ends
 * with what is named: a driver that reports the port as plugged, agents that are upgraded, credentials that are there.
 */
function hostBinding(fleet: FleetReader, instance: Instance): Reason | undefined {
  const host = findHost(fleet, instance.host ?? '')?.doc;
  if (host?.bindsAt === 'driver') return { code: 'host-binds', because: 'driver' };
  const path = pathAgain(fleet, instance);
  if (host !== undefined && modeOn(host, { ...instance, path }) === 'ready') return undefined;
  const { open, needs, below } = gatesOf(fleet).bind;
  return open
    ? { code: 'host-binds', because: 'credentials' }
    : { code: 'host-binds', because: 'agents', needs, below };
}

/** Where the port has its addresses, if its host reaches that. */
function poolAt(fleet: FleetReader, { doc }: StoredPort, instance: Instance): PoolKey | undefined {
  const { choices } = nicNeed(fleet, doc, { wasActive: true });
  return choices.find(({ pool }) => reachesPools(fleet, instance.host ?? '', [pool]))?.pool;
}

/** The ports that were given out serials, as long as these are the last. */
function ordered({ fleet, item }: Look): StoredPort[] | undefined {
  const orders = item.doc.reason?.['orders'];
  const all = Array.isArray(orders) ? orders.map(String) : [];
  const ports = all.flatMap((order) => {
    const at = order.lastIndexOf(':');
    const port = fleet.get(PORT, idOf(PORT, order.slice(0, at)));
    return port?.doc.serial === Number(order.slice(at + 1)) ? [port] : [];
  });
  return ports.length === all.length && all.length > 0 ? ports : undefined;
}

/** The instance as it would read if it were being built where it is. */
function asBuilt({ fleet, instance }: Look): StoredInstance & { readonly pools: readonly string[] } {
  const { doc } = instance;
  const pools = doc.nics.map(({ port: id, network }) => {
    const port = fleet.get(PORT, idOf(PORT, id));
    return (port === undefined ? undefined : poolAt(fleet, port, doc)) ?? `network:${network}`;
  });
  return { ...instance, pools, doc: { ...doc, attempts: [{ nth: 1, pools, atMs: 0 }] } };
}

function toBind(look: Look): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const ports = ordered(look);
  if (ports === undefined) return [again(look, { code: 'not-connected', fault: 'superseded' })];
  const built = asBuilt(look);
  const order = bindOrder(fleet, { instance: built, host: instance.doc.host ?? '', pools: built.pools }, ports);
  const { step, attempt } = item.doc;
  const args = order as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function observed(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  const look = lookAt(fleet, item, nowMs);
  if (look === undefined) return record(item, { state: 'done', step: item.doc.step });
  const answered = answersOf(outcome);
  const { worst, answers = [] } = answered;
  if (isUnknown(answered)) {
    const why = unasked(outcome);
    return why === undefined ? notConnected(look, 'back-end-unavailable', worst?.text) : again(look, why);
  }
  if (worst !== undefined) return notConnected(look, faultNamed(worst.outcome), worst.text);
  const ports = ordered(look);
  if (ports === undefined) return again(look, { code: 'not-connected', fault: 'superseded' });
  if (ports.some((port) => poolAt(fleet, port, look.instance.doc) === undefined))
    return notConnected(look, 'mapping-gone');
  const changes = boundPorts(fleet, asBuilt(look), answers, nowMs);
  const expects = [expectUnchanged(INSTANCE, look.instance), ...ports.map((port) => expectUnchanged(PORT, port))];
  return record(item, { ...running(item), step: 'plug' }, { changes, expects });
}

function untilPlugged(look: Look): RecordStep {
  const { item, instance, troubled, nowMs } = look;
  // What is not bound any more, or could not be plugged, has to be bound anew.
  const worse = troubled.find(({ trouble }) => trouble !== 'not-plugged');
  if (worse !== undefined) return notConnected(look, 'not-plugged', PLUG_TEXTS[worse.trouble]);
  const sinceMs = item.doc.state === 'waiting' ? item.doc.sinceMs : nowMs;
  if (nowMs >= sinceMs + PLUG_WAIT_MS) return notConnected(look, 'not-plugged');
  return wait(item, { code: 'ports-not-plugged', instance: instance.id }, sinceMs + PLUG_WAIT_MS);
}

const PLUG_TEXTS: Readonly<Record<TroubledPort['trouble'], string | undefined>> = {
  unbound: undefined,
  'not-plugged': undefined,
  unplugged: 'The network reported the port as unplugged.',
  'plug-failed': 'The network reported that the host could not plug the port.',
};
