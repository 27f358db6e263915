// The operations of scale-in on the torture kit: every step twice, a failure and a crash at every port call, a cancel at every step.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, type Journal } from '../../journal/index.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  recordStep,
  taskId,
  type Driver,
  type OperationKind,
  type StoredItem,
} from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { recordTransitions } from '../liveness/plan.ts';
import { findHost } from '../decide.ts';
import { HOST } from '../model.ts';
import { PENDING_CLEAN_UP, peerCleanUpKind, recordPendingCleanUps, pendingId } from './pending-clean-up.ts';
import { EVACUATORS, guests, hostIn, activeHosts, KINDS, MODELS, posts } from './scale-in-fixture.ts';
import { endScaleIn, recoverHosts, startScaleIn } from './decide.ts';

const DEADLINE_MS = 36_000_000;
const LEAVERS = ['c1', 'c2'];

const kindNamed = (name: string): OperationKind => KINDS.get(name) as OperationKind;

/** Moves that have begun arrive, one commit each: the kit's engine knows one operation kind only. */
async function arrivals(journal: Journal, nowMs: number): Promise<void> {
  for (const item of [...journal.fleet.all(ITEM)]) {
    const { target, operation } = item.doc;
    if (!isOpen(item.doc) || (target.kind !== 'guest' && target.kind !== 'post')) continue;
    await journal.submit({
      by: 'mover',
      decide: (fleet) => {
        const tenants = target.kind === 'guest' ? guests : posts;
        const id = idOf(OPERATION, operation);
        const found = fleet.get(OPERATION, id);
        const doc = tenants.doc(fleet, target.id);
        if (found === undefined || doc === undefined || fleet.get(ITEM, item.id)?.revision !== item.revision)
          return accept([], null);
        const { to, ...rest } = doc;
        const others = [...fleet.all(ITEM)].some(
          (one) => one.id !== item.id && one.doc.operation === operation && isOpen(one.doc),
        );
        const done = others ? [] : [put(OPERATION, id, { ...found.doc, state: 'succeeded', finishedAtMs: nowMs })];
        const moved = tenants.put(target.id, { ...rest, host: to ?? doc.host });
        return accept([moved, put(ITEM, item.id, { ...item.doc, state: 'done', sinceMs: nowMs }), ...done], null);
      },
    });
  }
}

/** Agents leave when they are ordered to. The first time, one of them cannot. */
async function leaving(journal: Journal, nowMs: number): Promise<void> {
  const kind = kindNamed('scale-in-end');
  for (const { id } of [...journal.fleet.all(ITEM)]) {
    const item = journal.fleet.get(ITEM, id);
    const host = item && findHost(journal.fleet, item.doc.target.id)?.doc;
    if (item === undefined || !isOpen(item.doc) || host?.connection.state !== 'up') continue;
    if (kind.task?.(item, { fleet: journal.fleet }) === undefined) continue;
    await journal.submit({ by: 'agent', decide: (fleet) => answered(fleet, kind, item, nowMs) });
  }
}

function answered(fleet: FleetReader, kind: OperationKind, item: StoredItem, nowMs: number) {
  const outcome = item.doc.attempt === 1 && item.doc.target.id === 'c1' ? ('failed' as const) : ('done' as const);
  const now = fleet.get(ITEM, item.id);
  const step =
    now?.revision === item.revision && kind.handleTaskAnswer?.(now, { task: taskId(item), outcome }, { fleet, nowMs });
  return typeof step === 'object' ? recordStep(fleet, step, nowMs) : accept([], 'stale' as const);
}

/** The first convergence check finds peers behind. */
function viewsDriver(): ReadonlyMap<string, Driver> {
  let first: string | undefined;
  const views: Driver = {
    carryOut: async ({ item, attempt }) => {
      first ??= `${item}:${attempt}`;
      const reason = { code: 'hosts-behind', hosts: ['c3'] };
      return first === `${item}:${attempt}` ? { kind: 'failed', reason } : { kind: 'applied' };
    },
  };
  return new Map([['views', views]]);
}

const notIn =
  (state: string) =>
  (fleet: FleetReader): string[] =>
    LEAVERS.filter((name) => findHost(fleet, name)?.doc.state !== state).map((name) => `${name} is not ${state}`);

const command = { by: 'ann', hosts: LEAVERS };

const drain: TortureSubject = {
  name: 'scale-in',
  models: MODELS,
  kind: kindNamed('scale-in'),
  prepare: [
    ...activeHosts('c1', 'c2', 'c3', 'c4'),
    ...['a', 'b', 'c', 'd', 'e'].map((name) => guests.put(name, { host: 'c1' })),
    guests.put('f', { host: 'c2' }),
    posts.put('nat', { host: 'c1', presence: ['c1', 'c2', 'c3'] }),
    posts.put('own', { host: 'c2', presence: ['c2'] }),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) =>
      startScaleIn(fleet, EVACUATORS, { ...command, drain: true, operation, nowMs, deadlineMs: DEADLINE_MS }),
  }),
  world: arrivals,
  wrongWhenDone: (fleet) => [
    ...notIn('drained')(fleet),
    ...LEAVERS.flatMap((host) => guests.on(fleet, host).map((name) => `${name} is still on ${host}`)),
    ...(posts.on(fleet, 'c3').includes('nat') ? [] : ['nat was not handed over']),
  ],
  wrongWhenCancelled: () => [],
};

const end: TortureSubject = {
  name: 'scale-in-end',
  models: MODELS,
  kind: kindNamed('scale-in-end'),
  drivers: viewsDriver,
  prepare: [
    ...activeHosts('c3', 'c4'),
    ...LEAVERS.map((name): Change => hostIn(name, 'drained')),
    hostIn('c5', 'active', { connection: { state: 'down', sinceMs: 0 } }),
    posts.put('own', { host: 'c2', presence: ['c2'] }),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) => endScaleIn(fleet, EVACUATORS, { ...command, disconnect: true, operation, nowMs }),
  }),
  world: leaving,
  wrongWhenDone: (fleet) => [
    ...notIn('removed')(fleet),
    ...(posts.on(fleet, 'c2').length === 0 ? [] : ['own has a removed host']),
    ...LEAVERS.filter((host) => fleet.get(PENDING_CLEAN_UP, pendingId('c5', host)) === undefined).map(
      (host) => `no clean-up is pending for what c5 has of ${host}`,
    ),
  ],
  wrongWhenCancelled: () => [],
};

const recover: TortureSubject = {
  name: 'scale-in-recover',
  models: MODELS,
  kind: kindNamed('scale-in-recover'),
  drivers: viewsDriver,
  prepare: [...activeHosts('c3'), hostIn('c1', 'draining'), hostIn('c2', 'drained')],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) => recoverHosts(fleet, { ...command, failBack: true, operation, nowMs }),
  }),
  world: async () => undefined,
  wrongWhenDone: (fleet) => [
    ...notIn('active')(fleet),
    ...LEAVERS.filter((name) => findHost(fleet, name)?.doc.leaving !== undefined).map((name) => `${name} leaves`),
  ],
  wrongWhenCancelled: () => [],
};

/** A peer that was away comes back. */
async function connectPeer(journal: Journal, nowMs: number): Promise<void> {
  if (journal.fleet.get(HOST, idOf(HOST, 'c3'))?.doc.connection.state !== 'down') return;
  const transitions = [{ host: 'c3', from: 'down', to: 'up' } as const];
  await journal.submit({ by: 'liveness', decide: (fleet) => recordTransitions(fleet, transitions, nowMs) });
}

const cleanUp: TortureSubject = {
  name: 'peer-clean-up',
  models: MODELS,
  kind: peerCleanUpKind,
  drivers: viewsDriver,
  prepare: [
    ...activeHosts('c4'),
    hostIn('c1', 'removed'),
    hostIn('c3', 'active', { connection: { state: 'down', sinceMs: 0 } }),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: () => accept(named(recordPendingCleanUps(['c3', 'c4'], 'c1', { key: 'x', nowMs }), operation), null),
  }),
  world: connectPeer,
  wrongWhenDone: (fleet) => [...fleet.all(PENDING_CLEAN_UP)].map(({ id }) => `${id} is still pending`),
  wrongWhenCancelled: () => [],
};

/** The operation under the name that the kit expects. */
function named(changes: readonly Change[], operation: string): Change[] {
  return changes.map((change) => {
    if (change.kind === OPERATION.name) return { ...change, id: operation };
    if (change.kind !== ITEM.name) return change;
    return { ...change, id: change.id.replace('clean-up-x', operation), doc: { ...change.doc, operation } };
  });
}

for (const subject of [drain, end, recover, cleanUp]) torture(subject);
