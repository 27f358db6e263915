// Peers that cannot be notified of a removal: which they are, and that each has a pending clean-up until it has converged or is removed.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey } from '../../operations/index.ts';
import { findHost } from '../decide.ts';
import { HOST, type Host } from '../model.ts';
import { peerCleanUpKind, recordOwnCleanUp, pendingId } from './pending-clean-up.ts';
import { hostIn, activeHosts, ScaleInWorld } from './scale-in-fixture.ts';

const drained = (): Promise<ScaleInWorld> =>
  ScaleInWorld.of(...activeHosts('c2', 'c3'), hostIn('c1', 'drained', { connection: { state: 'down', sinceMs: 0 } }));

describe('peers of a host that goes', () => {
  test('silent-peers-get-a-pending-clean-up, each until it is back and has converged', async () => {
    const world = await drained();
    await world.connect('c3', 'down');
    await world.commit(world.ending(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.pending()).toEqual(['c3@c1']);
    expect(world.open()).toEqual(['clean-up-op-4.c1.1.c3 await-peer waiting (peer-not-connected)']);
    world.views.behind.add('c3');
    await world.connect('c3', 'up');
    for (let tick = 0; tick < 3; tick += 1) await world.tick();
    expect(world.pending()).toEqual(['c3@c1']);
    world.views.behind.clear();
    await world.settle();
    expect(world.pending()).toEqual([]);
    expect(world.open()).toEqual([]);
  });

  test.each([
    ['one-that-joins-and-has-joined-with-its-agent-has-tunnels-like-others', { credential: 't-c4' }, ['c4@c1']],
    ['one-that-joins-anew-may-have-those-of-its-former-life', { readmitted: true as const }, ['c4@c1']],
    ['one-that-joins-and-never-reported-has-none', {}, []],
  ])('%s', async (_name, facts, listed) => {
    const world = await drained();
    const { credential: _, ...c4 } = hostIn('c4', 'joining', { connection: { state: 'unknown', sinceMs: 0 } })
      .doc as Host;
    const doc = { ...c4, ...facts };
    await world.commit(() => accept([put(HOST, idOf(HOST, 'c4'), doc)], null));
    await world.commit(world.ending(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.pending()).toEqual(listed);
  });

  test('a-peer-that-falls-silent-meanwhile-is-written-down-too', async () => {
    const world = await drained();
    world.views.behind.add('c3');
    await world.commit(world.ending(['c1']));
    await world.tick();
    await world.connect('c3', 'down');
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.pending()).toEqual(['c3@c1']);
  });

  test('a-pending-clean-up-is-over-when-the-peer-is-removed-itself', async () => {
    const world = await drained();
    await world.connect('c3', 'down');
    await world.commit(world.ending(['c1']));
    await world.settle();
    await world.commit(world.starting(['c3']));
    await world.settle();
    await world.commit(world.ending(['c3']));
    await world.settle();
    expect(world.states('c3')).toBe('c3 removed');
    expect(world.pending()).toEqual([]);
    expect(world.open()).toEqual([]);
  });

  test('a-pending-clean-up-is-over-when-the-host-is-back', async () => {
    const world = await drained();
    await world.connect('c3', 'down');
    await world.commit(world.ending(['c1']));
    await world.settle();
    await world.commit(() => accept([hostIn('c1', 'joining', { connection: { state: 'unknown', sinceMs: 0 } })], null));
    await world.settle();
    expect(world.pending()).toEqual([]);
  });

  test('never: the clean-up of a second removal is forgotten with that of the first, which the return of the host had ended', async () => {
    const world = await drained();
    await world.connect('c3', 'down');
    await world.commit(world.ending(['c1']));
    await world.settle();
    const [item] = [...world.fleet.find(OPEN_ITEMS_BY_TARGET, targetKey('pending-clean-up', 'c3@c1'))];
    const removed = world.host('c1') as Host;
    await world.put(hostIn('c1', 'joining', { connection: { state: 'unknown', sinceMs: 0 } }));
    const [end] = peerCleanUpKind.plan(world.fleet, [item!], world.nowMs);
    await world.put(put(HOST, idOf(HOST, 'c1'), removed));
    await world.commitPlanned(end!);
    expect(world.pending()).toEqual(['c3@c1']);
  });

  test('hosts-that-leave-together-have-no-pending-clean-up-of-each-other', async () => {
    const world = await drained();
    await world.connect('c2', 'down');
    await world.commit(world.starting(['c2']));
    await world.settle();
    const before = world.journal.fleet.revision;
    await world.commit(world.ending(['c1', 'c2']));
    await world.settle();
    expect(world.states('c1', 'c2')).toBe('c1 removed, c2 removed');
    expect(world.views.requests.flat()).not.toContain('c1');
    expect(world.views.requests.flat()).not.toContain('c2');
    expect(world.pending()).toEqual([]);
    const history = await world.journal.store.read({ revision: before }, 1000);
    if (history.kind !== 'commits') throw new Error(history.kind);
    const kinds = history.commits.flatMap(({ changes }) => changes.map(({ kind }) => kind));
    expect(kinds).not.toContain('pending-clean-up');
  });

  test('quarantined-peers-are-not-waited-for, and get a pending clean-up until they have converged', async () => {
    const world = await drained();
    await world.edit('c3', { quarantined: { because: 'identity', atMs: 0 } });
    world.views.behind.add('c3');
    await world.commit(world.ending(['c1']));
    for (let tick = 0; tick < 6; tick += 1) await world.tick();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.pending()).toEqual(['c3@c1']);
    world.views.behind.clear();
    await world.settle();
    expect(world.pending()).toEqual([]);
  });

  test.each([
    ['one-that-was-removed-before', { readmitted: true as const }],
    ['a-new-one-whose-switch-was-there', { switch: { datapathId: '00000000000000c4' } }],
  ])(
    'a-cancelled-join: peers are notified of %s, and those that cannot be get a pending clean-up',
    async (_name, facts) => {
      const world = await ScaleInWorld.of(...activeHosts('c2', 'c3'));
      await world.edit('c3', { serviceVersion: 3 });
      const { doc } = hostIn('c4', 'joining', { connection: { state: 'up', sinceMs: 0 } });
      await world.commit(() => accept([put(HOST, idOf(HOST, 'c4'), { ...(doc as Host), ...facts })], null));
      await world.commit(world.ending(['c4']));
      expect(world.states('c4')).toBe('c4 finalizing');
      await world.settle();
      expect(world.states('c4')).toBe('c4 removed');
      expect(world.views.requests).toEqual([['c2']]);
      expect(world.pending()).toEqual(['c3@c4']);
      expect(world.violations).toEqual([]);
    },
  );

  test('a-peer-whose-agent-does-not-reconcile-gets-a-pending-clean-up, until it is upgraded', async () => {
    const world = await drained();
    await world.edit('c3', { serviceVersion: 3 });
    await world.commit(world.ending(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.views.requests).toEqual([['c2']]);
    expect(world.open()).toEqual(['clean-up-op-4.c1.1.c3 await-peer waiting (peer-too-old)']);
    await world.edit('c3', { serviceVersion: 4 });
    await world.settle();
    expect(world.pending()).toEqual([]);
    expect(world.open()).toEqual([]);
  });
});

describe('a host that was removed and joins again', () => {
  test.each([
    ['with-an-agent-that-leaves-its-switch-as-it-is', 3, ['c3@c3']],
    ['with-an-agent-that-cleans', 4, []],
  ])('%s', async (_name, serviceVersion, expected) => {
    const world = await drained();
    await world.edit('c3', { readmitted: true, state: 'joining', serviceVersion });
    const host = findHost(world.journal.fleet, 'c3')!;
    await world.commit(() => accept(recordOwnCleanUp(host, { key: 'tk-1', nowMs: 0 }), null));
    await world.settle();
    expect(world.pending()).toEqual(expected);
    await world.edit('c3', { serviceVersion: 4 });
    await world.settle();
    expect(world.pending()).toEqual([]);
    expect(world.open()).toEqual([]);
  });

  test('has-nothing-of-others-when-it-was-never-here', async () => {
    const world = await drained();
    expect(recordOwnCleanUp(findHost(world.journal.fleet, 'c3')!, { key: 'tk-1', nowMs: 0 })).toEqual([]);
  });
});

test('names-with-dots-do-not-clash', () => {
  expect(pendingId('a.b', 'c')).not.toBe(pendingId('a', 'b.c'));
});
