// Hosts that are ordered to leave: only ones that may be removed, each time, and a missing answer does not block force.
import { expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import {
  explainer,
  ITEM,
  newOperation,
  recordStep,
  retryOperation,
  taskId,
  type OperationId,
  type StoredItem,
} from '../../operations/index.ts';
import { scaleInEndKind } from './end.ts';
import { EVACUATORS, guests, hostIn, activeHosts, KINDS, ScaleInWorld } from './scale-in-fixture.ts';
import { scaleInSentences } from './sentences.ts';

const force = { reason: 'the machine is scrap' };
const DAY_MS = 24 * 3_600_000;

test('never: a host full of guests is ordered to leave because an old removal is retried', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  await world.connect('c1', 'suspect');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  world.clock.now += DAY_MS + 1;
  await world.settle();
  expect(world.operationState(operation)).toBe('failed');
  await world.connect('c1', 'up');
  await world.commit(world.recovering(['c1']));
  await world.settle();
  await world.commit(() => accept([guests.put('g', { host: 'c1', presence: ['c1'] })], null));
  await world.commit(world.starting(['c1'], { drain: false }));
  await world.tick();
  await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
  await world.settle();
  expect(world.left).toEqual([]);
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'lives-here', tenant: 'g' } });
  expect(world.host('c1')).toMatchObject({ state: 'draining', connection: { state: 'up' }, credential: 't-c1' });
});

test('one-that-could-not-leave-is-not-asked-again-once-something-lives-there', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.unable.add('c1');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.tick();
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'waiting', reason: { code: 'not-left' } });
  await world.commit(() => accept([guests.put('late', { host: 'c1', presence: ['c1'] })], null));
  await world.settle();
  expect(world.left).toEqual(['leave c1']);
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'lives-here' } });
});

test('never: a host that sends heartbeats is removed because it is forced down', async () => {
  const forcedDown = { reason: 'off', by: 'ann', atMs: 1 };
  const quarantined = { because: 'operator-fenced' as const, atMs: 1 };
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained', { forcedDown, quarantined }));
  const refusal = await world.refusal(world.ending(['c1']));
  expect(refusal.facts?.['hosts']).toMatchObject([{ result: 'blocked', reason: { code: 'still-connected' } }]);
  await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.settle();
  expect(world.left).toEqual(['leave c1']);
  expect(world.states('c1')).toBe('c1 removed');
});

test('open-tasks-of-a-host-keep-it-while-it-is-connected, and are named', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  const sweep = newOperation({
    id: 'clean-1' as OperationId,
    kind: 'guest-clean',
    title: 'destroy what is left of a guest',
    by: 'test',
    nowMs: 0,
    deadlineMs: DAY_MS,
    items: [{ key: 'copy', target: { kind: 'guest', id: 'g' }, host: 'c1', step: 'destroy', state: 'running' }],
  });
  await world.commit(() => accept(sweep, null));
  const refusal = await world.refusal(world.ending(['c1'], { disconnect: true }));
  expect(refusal.facts?.['hosts']).toMatchObject([
    { result: 'blocked', blockers: [{ code: 'host-works', host: 'c1', kind: 'guest', target: 'g' }] },
  ]);
  await world.connect('c1', 'down');
  expect(await world.commit(world.ending(['c1']))).toMatchObject({ hosts: [{ result: 'accepted' }] });
});

test.each(['up', 'suspect'] as const)(
  'one-that-does-not-answer-its-leave-task-is-shown-within-15-s-and-its-end-fails-after-5-minutes: %s',
  async (state) => {
    const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
    world.mute.add('c1');
    const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
    const startedMs = world.nowMs;
    await world.connect('c1', state);
    while (world.nowMs - startedMs <= 10_000) await world.tick();
    expect(world.nowMs - startedMs).toBeLessThanOrEqual(15_000);
    expect(world.item(operation, 'c1')?.reason).toMatchObject({
      code: state === 'up' ? 'leave-unanswered' : 'leaver-silent',
      host: 'c1',
    });
    while (world.nowMs - startedMs < 5 * 60_000) await world.tick();
    await world.tick();
    expect(world.item(operation, 'c1')).toMatchObject({
      state: 'failed',
      reason: { code: 'leave-given-up', connection: state },
    });
    expect(world.host('c1')).toMatchObject({ state: 'drained', credential: 't-c1' });
    // Requested again once the answer is there, the host is removed.
    world.mute.clear();
    await world.connect('c1', 'up');
    await world.commit(world.ending(['c1'], { disconnect: true }));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
  },
);

test.each(['up', 'suspect'] as const)('one-that-goes-by-force-is-not-told-to-be-forced: %s', async (state) => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.mute.add('c1');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true, force: { reason: 'gone' } }));
  const startedMs = world.nowMs;
  await world.connect('c1', state);
  while (world.nowMs - startedMs <= 15_000) await world.tick();
  const { reason } = world.item(operation, 'c1') ?? {};
  const sentence = explainer([scaleInSentences])(reason ?? { code: 'none' });
  expect(sentence).toContain('It is removed by force after a minute at most.');
  while (world.nowMs - startedMs <= 70_000) await world.tick();
  expect(world.states('c1')).toBe('c1 removed');
});

test('an-answer-that-comes-late-counts', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.mute.add('c1');
  await world.commit(world.ending(['c1'], { disconnect: true }));
  for (let tick = 0; tick < 6; tick += 1) await world.tick();
  world.mute.clear();
  await world.settle();
  expect(world.states('c1')).toBe('c1 removed');
});

test('force-goes-on-when-a-host-fails-to-leave-again-and-again', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'draining'), guests.put('g', { host: 'c1' }));
  world.unable.add('c1');
  await world.commit(world.ending(['c1'], { force }));
  await world.tick();
  expect(world.states('c1')).toBe('c1 draining');
  await world.settle();
  expect(world.left.length).toBeGreaterThan(1);
  expect(world.states('c1')).toBe('c1 removed');
});

test('force-that-is-retried-tells-a-connected-host-to-leave-once-more', async () => {
  const forced = { ...force, by: 'ann', atMs: 0 };
  const leaving = { operation: 'op-before', drain: true, by: 'ann', atMs: 0, forced };
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained', { leaving }));
  await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.settle();
  expect(world.left).toEqual(['leave c1']);
  expect(world.states('c1')).toBe('c1 removed');
});

test('while-a-peer-is-behind-no-peer-search-runs, and the checks back off', async () => {
  const world = await ScaleInWorld.of(
    ...activeHosts('c2'),
    hostIn('c1', 'drained', { connection: { state: 'down', sinceMs: 0 } }),
  );
  world.views.behind.add('c2');
  const { operation = '' } = await world.commit(world.ending(['c1']));
  let looked = 0;
  const peersOf = (): string[] => {
    looked += 1;
    return ['c2'];
  };
  const kind = scaleInEndKind({ evacuators: EVACUATORS, peersOf });
  const pauses: number[] = [];
  for (let tick = 0; tick < 12; tick += 1) {
    await world.tick();
    const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.c1`));
    if (item?.doc.retryAtMs === undefined) continue;
    const { retryAtMs, sinceMs } = item.doc;
    if (pauses.at(-1) !== retryAtMs - sinceMs) pauses.push(retryAtMs - sinceMs);
    expect(kind.plan(world.fleet, [item], retryAtMs - 1)).toEqual([]);
  }
  expect({ looked, pauses }).toEqual({ looked: 0, pauses: [500, 1000, 2000, 4000, 8000] });
});

const STRAYS = { names: ['interface/tap0'], count: 1, sinceMs: 0 };
const DOWN = { connection: { state: 'down' as const, sinceMs: 0 } };

test('never: a host is removed with strays, unless by force with a reason', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained', { ...DOWN, strays: STRAYS }));
  const refusal = await world.refusal(world.ending(['c1']));
  expect(refusal.facts?.['hosts']).toMatchObject([
    { result: 'blocked', blockers: [{ code: 'strays', host: 'c1', names: ['interface/tap0'], count: 1 }] },
  ]);
  await world.commit(world.ending(['c1'], { force }));
  await world.settle();
  expect(world.states('c1')).toBe('c1 removed');
  expect(world.violations).toEqual([]);
});

test('what-a-host-finds-when-it-is-told-to-leave-is-written-down-and-in-the-way', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.strays.set('c1', ['interface/tap0', 'instance/ghost']);
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.settle();
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'strays', count: 2 } });
  expect(world.host('c1')).toMatchObject({ state: 'drained', credential: 't-c1' });
  expect(world.host('c1')?.strays?.names).toEqual(['instance/ghost', 'interface/tap0']);
});

test('force-that-comes-while-a-host-refuses-to-leave-takes-it-out', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.strays.set('c1', ['interface/tap0']);
  await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.settle();
  await world.commit(world.ending(['c1'], { force }));
  await world.settle();
  expect(world.left.length).toBeGreaterThan(1);
  expect(world.states('c1')).toBe('c1 removed');
});

test('strays-that-a-host-refused-for-before-force-came-do-not-stop-it-any-more', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained'));
  world.mute.add('c1');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.commit(world.ending(['c1'], { force }));
  // The task that it got without force, it refuses now.
  await world.commit((fleet) => {
    const item = fleet.get(ITEM, idOf(ITEM, `${operation}.c1`)) as StoredItem;
    const facts = { strays: ['interface/tap0'], straysInAll: 1 };
    const answer = { task: taskId(item), outcome: 'failed' as const, facts };
    const step = KINDS.get('scale-in-end')?.handleTaskAnswer?.(item, answer, { fleet, nowMs: world.nowMs });
    return step === undefined ? accept([], 'stale') : recordStep(fleet, step, world.nowMs);
  });
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'waiting', reason: { code: 'not-left' } });
  world.mute.clear();
  await world.settle();
  expect(world.states('c1')).toBe('c1 removed');
});
