// The contract of `write`: groups are whole or not at all, in one order without gaps, and a conflict says what it was.
import { expect, test } from 'vitest';
import type { WriteConflict, CommitGroup, Store } from '../store.ts';
import {
  absent,
  atRevision,
  batch,
  drop,
  type MakeWorld,
  mustWrite,
  mustWriteGroup,
  put,
  readAll,
  snapshotOf,
  worldOf,
} from './world.ts';

export function writingContract(make: MakeWorld): void {
  orderContract(make);
  preconditionContract(make);
  bodyContract(make);
}

function orderContract(make: MakeWorld): void {
  test('a new store is at revision 0 and has an identity that stays', async () => {
    const { store, another } = await worldOf(make);
    expect(await snapshotOf(store)).toEqual({ position: { revision: 0 }, resources: [] });
    expect(await store.read({ revision: 0 }, 10)).toEqual({ kind: 'commits', commits: [], head: 0 });
    expect(store.journalId).not.toBe('');
    expect((await another()).journalId).toBe(store.journalId);
  });

  test('a group gets consecutive revisions and answers the last one', async () => {
    const { store } = await worldOf(make);
    expect(await mustWrite(store, batch([put('a')]))).toBe(1);
    expect(await mustWrite(store, batch([put('b')]), batch([put('c')]), batch([drop('a')]))).toBe(4);
    expect((await readAll(store)).map((one) => one.revision)).toEqual([1, 2, 3, 4]);
    const { position, resources } = await snapshotOf(store);
    expect(position.revision).toBe(4);
    expect(resources.map((one) => [one.id, one.revision])).toEqual([
      ['b', 2],
      ['c', 3],
    ]);
  });

  test('an empty group and an empty batch are written too', async () => {
    const { store } = await worldOf(make);
    expect(await mustWriteGroup(store, { batches: [] })).toBe(0);
    expect(await mustWrite(store, batch([]))).toBe(1);
    expect((await readAll(store))[0]?.changes).toEqual([]);
  });

  test('who, when, why and which operation come back as they were', async () => {
    const { store } = await worldOf(make);
    const full = batch([put('a'), drop('b')], { atMs: 1_790_000_000_123, why: 'it’s full', operation: 'op-1' });
    const bare = batch([put('a')]);
    await mustWrite(store, full, bare);
    const expected = [full, bare].map(({ preconditions: _, ...commit }, index) => ({ ...commit, revision: index + 1 }));
    const commits = (await readAll(store)).map(({ hash: _, ...commit }) => commit);
    expect(commits).toStrictEqual(expected);
  });

  test('writers at once: one order, no gap, each group together', async () => {
    const world = await worldOf(make);
    const stores = [world.store, await world.another(), await world.another()];
    const writes = Array.from({ length: 30 }, (_, n) => {
      const by = `writer-${n}`;
      return mustWrite(stores[n % 3] as Store, batch([put(`a${n}`)], { by }), batch([put(`b${n}`)], { by }));
    });
    const answered = await Promise.all(writes);
    const commits = await readAll(world.store);
    expect(commits.map((one) => one.revision)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
    expect(answered.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => 2 * n + 2));
    for (const [n, revision] of answered.entries()) {
      expect(commits.slice(revision - 2, revision).map((one) => one.by)).toEqual([`writer-${n}`, `writer-${n}`]);
    }
  });
}

/** Each on a store that has host `a` at revision 1 and host `b`, made at 2 and deleted at 3. */
const CONFLICTS: readonly (readonly [name: string, group: CommitGroup, conflict: WriteConflict])[] = [
  [
    'at-another-revision',
    { batches: [batch([put('a')], { preconditions: [atRevision('a', 2)] })] },
    { kind: 'resource', batch: 0, resource: ['host', 'a'], expected: 2, actual: 1 },
  ],
  [
    'at-but-never-there',
    { batches: [batch([put('x')], { preconditions: [atRevision('x', 1)] })] },
    { kind: 'resource', batch: 0, resource: ['host', 'x'], expected: 1, actual: 'absent' },
  ],
  [
    'at-but-deleted',
    { batches: [batch([put('b')], { preconditions: [atRevision('b', 2)] })] },
    { kind: 'resource', batch: 0, resource: ['host', 'b'], expected: 2, actual: 'absent' },
  ],
  [
    'absent-but-there',
    { batches: [batch([put('a')], { preconditions: [absent('a')] })] },
    { kind: 'resource', batch: 0, resource: ['host', 'a'], expected: 'absent', actual: 1 },
  ],
  [
    'second-of-two-preconditions',
    { batches: [batch([put('a')], { preconditions: [atRevision('a', 1), absent('a')] })] },
    { kind: 'resource', batch: 0, resource: ['host', 'a'], expected: 'absent', actual: 1 },
  ],
  [
    'made-by-an-earlier-batch',
    { batches: [batch([put('x')]), batch([put('x')], { preconditions: [absent('x')] })] },
    { kind: 'resource', batch: 1, resource: ['host', 'x'], expected: 'absent', actual: 4 },
  ],
  [
    'deleted-by-an-earlier-batch',
    { batches: [batch([put('y')]), batch([drop('a')]), batch([put('a')], { preconditions: [atRevision('a', 1)] })] },
    { kind: 'resource', batch: 2, resource: ['host', 'a'], expected: 1, actual: 'absent' },
  ],
  ['another-head', { expectedHead: 2, batches: [batch([put('x')])] }, { kind: 'head', expected: 2, actual: 3 }],
  [
    'no-lease-at-all',
    { fence: { lease: 'fleet', epoch: 1 }, batches: [batch([put('x')])] },
    { kind: 'lease', lease: 'fleet', epoch: 1, actualEpoch: 0, expired: true },
  ],
];

function preconditionContract(make: MakeWorld): void {
  test.each(CONFLICTS)('a conflict says what it was and changes nothing: %s', async (_name, group, conflict) => {
    const { store } = await worldOf(make);
    await mustWrite(store, batch([put('a')]), batch([put('b')]), batch([drop('b')]));
    const before = await snapshotOf(store);
    expect(await store.write(group)).toEqual({ kind: 'conflict', conflict });
    expect(await snapshotOf(store)).toEqual(before);
    expect(await readAll(store)).toHaveLength(3);
    expect(await mustWrite(store, batch([put('next')]))).toBe(4);
  });

  test('preconditions that hold, earlier batches of the group counted in', async () => {
    const { store } = await worldOf(make);
    await mustWrite(store, batch([put('a')], { preconditions: [absent('a')] }));
    const revision = await mustWriteGroup(store, {
      expectedHead: 1,
      batches: [
        batch([put('a', { n: 2 })], { preconditions: [atRevision('a', 1), absent('b')] }),
        batch([drop('a'), put('b')], { preconditions: [atRevision('a', 2)] }),
        batch([put('a', { n: 4 })], { preconditions: [absent('a'), atRevision('b', 3)] }),
      ],
    });
    expect(revision).toBe(4);
    const { resources } = await snapshotOf(store);
    expect(resources.map(({ id, revision: r, body }) => [id, r, body])).toEqual([
      ['a', 4, '{"n":4}'],
      ['b', 3, '{"id":"b"}'],
    ]);
  });

  test('never two winners: many at once on one revision of one resource', async () => {
    const world = await worldOf(make);
    await mustWrite(world.store, batch([put('a')]));
    const stores = [world.store, await world.another()];
    const tries = Array.from({ length: 20 }, (_, n) =>
      (stores[n % 2] as Store).write({ batches: [batch([put('a', { n })], { preconditions: [atRevision('a', 1)] })] }),
    );
    const answers = await Promise.all(tries);
    expect(answers.filter((one) => one.kind === 'written')).toMatchObject([{ kind: 'written', revision: 2 }]);
    expect(await readAll(world.store)).toHaveLength(2);
  });
}

function bodyContract(make: MakeWorld): void {
  test('a resource changed several times in one batch ends as the last change left it', async () => {
    const { store } = await worldOf(make);
    await mustWrite(store, batch([put('a', 1), drop('a'), put('a', 3), put('b'), drop('b')]));
    expect((await snapshotOf(store)).resources).toEqual([{ kind: 'host', id: 'a', revision: 1, body: '3' }]);
    expect((await readAll(store))[0]?.changes).toEqual([put('a', 1), drop('a'), put('a', 3), put('b'), drop('b')]);
    expect((await store.history({ kind: 'host', id: 'a', limit: 9 })).commits).toHaveLength(1);
  });

  test('unicode and large bodies survive to the last character', async () => {
    const { store } = await worldOf(make);
    const bodies = [
      JSON.stringify('Zürich 東京 🚀 \u0000 \u2028 \ud800 "quoted" \\back\\ {},NULL'),
      JSON.stringify({ text: 'ä🚀'.repeat(300_000) }),
      '{ "spaced" :\n [1.0, 1e3] }',
      '""',
    ];
    const ids = ['],"bodies":[', 'ключ/🔑', 'it’s "c1"', ' '];
    await mustWrite(store, batch(bodies.map((body, n) => ({ kind: 'host', id: ids[n] ?? '', body }))));
    expect((await readAll(store))[0]?.changes.map((one) => [one.id, one.body])).toEqual(
      bodies.map((body, n) => [ids[n], body]),
    );
    const { resources } = await snapshotOf(store);
    expect(new Map(resources.map((one) => [one.id, one.body]))).toEqual(
      new Map(bodies.map((body, n) => [ids[n] ?? '', body])),
    );
  });
}
