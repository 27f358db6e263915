// The contract of reading: a position replays without loss, a snapshot plus its tail is the whole, history, compaction.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Store, TextChange } from '../store.ts';
import { batch, drop, type MakeWorld, mustWrite, put, readAll, replay, snapshotOf, worldOf } from './world.ts';

export function readingContract(make: MakeWorld): void {
  positionContract(make);
  snapshotContract(make);
  historyContract(make);
  pageContract(make);
  compactionContract(make);
}

function positionContract(make: MakeWorld): void {
  test('read goes on from a position, at most `limit` at a time', async () => {
    const { store } = await worldOf(make);
    const batches = ['a', 'b', 'c', 'd', 'e'].map((id) => batch([put(id)]));
    await mustWrite(store, ...batches);
    const first = await store.read({ revision: 0 }, 2);
    expect(first.kind === 'commits' && first.commits.map((one) => one.revision)).toEqual([1, 2]);
    expect(first).toMatchObject({ head: 5 });
    const second = await store.read({ revision: 2, commitId: batches[1]?.id ?? '' }, 2);
    expect(second.kind === 'commits' && second.commits.map((one) => one.revision)).toEqual([3, 4]);
    expect((await readAll(store, { revision: 0 }, 2)).map((one) => one.id)).toEqual(batches.map((one) => one.id));
    expect(await store.read({ revision: 5 }, 2)).toEqual({ kind: 'commits', commits: [], head: 5 });
  });

  test('changed wakes a reader at the head, at once if it is behind, and when it is aborted', async () => {
    const { store } = await worldOf(make);
    const signal = new AbortController().signal;
    const woken = store.waitForChange(0, signal);
    await mustWrite(store, batch([put('a')]));
    await expect(woken).resolves.toBeUndefined();
    await expect(store.waitForChange(0, signal)).resolves.toBeUndefined();
    const timeout = new AbortController();
    const waiting = store.waitForChange(1, timeout.signal);
    timeout.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(store.waitForChange(1, timeout.signal)).resolves.toBeUndefined();
  });

  test('a position with another commit id, or above the head, has diverged', async () => {
    const { store } = await worldOf(make);
    const [one, two] = [batch([put('a')]), batch([put('b')])];
    await mustWrite(store, one, two);
    expect(await store.read({ revision: 1, commitId: two.id }, 10)).toEqual({ kind: 'diverged', head: 2 });
    expect(await store.read({ revision: 3, commitId: 'commit-of-the-lost' }, 10)).toEqual({
      kind: 'diverged',
      head: 2,
    });
    expect(await store.read({ revision: 1, commitId: one.id }, 10)).toMatchObject({ kind: 'commits', head: 2 });
  });
}

/** Groups of batches of changes over few ids, so that deletes and repeats meet. */
const SEQUENCES = fc.array(
  fc.array(fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.boolean(), fc.nat(99)), { maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  }),
  { maxLength: 6 },
);

function snapshotContract(make: MakeWorld): void {
  test('snapshot plus tail is the full replay, for any sequence of commits', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(SEQUENCES, fc.nat(), async (groups, cut) => {
        const { store, close } = await make();
        try {
          await expectSnapshotPlusTail(store, groups, groups.length === 0 ? 0 : cut % groups.length);
        } finally {
          await close();
        }
      }),
      { numRuns: 40 },
    );
  });

  test('a snapshot is of one revision while others write', async () => {
    const world = await worldOf(make);
    const writer = await world.another();
    const writes = (async () => {
      for (let n = 0; n < 40; n += 1) await mustWrite(writer, batch([put('a', n), put('b', n)]), batch([put('c', n)]));
    })();
    for (let n = 0; n < 10; n += 1) {
      const { position, resources } = await snapshotOf(world.store);
      const commits = (await readAll(world.store)).filter((one) => one.revision <= position.revision);
      expect(resources).toEqual(replay([], commits));
      expect(position.commitId).toBe(commits.at(-1)?.id);
    }
    await writes;
  });

  test('a snapshot of many pages is complete', async () => {
    const { store } = await worldOf(make);
    const ids = Array.from({ length: 12_345 }, (_, n) => `h${n}`);
    await mustWrite(store, batch(ids.map((id) => put(id))));
    const { resources } = await snapshotOf(store);
    expect(new Set(resources.map((one) => one.id))).toEqual(new Set(ids));
    expect(resources).toHaveLength(ids.length);
  });
}

async function expectSnapshotPlusTail(
  store: Store,
  groups: readonly (readonly (readonly [number, boolean, number][])[])[],
  cut: number,
): Promise<void> {
  const change = ([id, deleted, value]: readonly [number, boolean, number]): TextChange =>
    deleted ? drop(`h${id}`) : put(`h${id}`, { value });
  const write = async (group: (typeof groups)[number]): Promise<number> =>
    mustWrite(store, ...group.map((changes) => batch(changes.map(change))));
  for (const group of groups.slice(0, cut)) await write(group);
  const middle = await snapshotOf(store);
  for (const group of groups.slice(cut)) await write(group);
  const end = await snapshotOf(store);
  expect(replay(middle.resources, await readAll(store, middle.position))).toEqual(end.resources);
  expect(replay([], await readAll(store))).toEqual(end.resources);
}

function historyContract(make: MakeWorld): void {
  test('history by resource, by kind, by operation, newest first, paged by `before`', async () => {
    const { store } = await worldOf(make);
    const port: TextChange = { kind: 'port', id: 'a', body: '{}' };
    await mustWrite(
      store,
      batch([put('a')], { operation: 'op-1' }),
      batch([put('b'), port]),
      batch([put('a'), put('b')], { operation: 'op-2' }),
      batch([drop('a')], { operation: 'op-1' }),
      batch([port], { operation: 'op-1' }),
    );
    const revisions = async (query: Parameters<Store['history']>[0]): Promise<number[]> =>
      (await store.history(query)).commits.map((one) => one.revision);
    expect(await revisions({ limit: 3 })).toEqual([5, 4, 3]);
    expect(await revisions({ limit: 3, before: 3 })).toEqual([2, 1]);
    expect(await revisions({ kind: 'host', id: 'a', limit: 10 })).toEqual([4, 3, 1]);
    expect(await revisions({ kind: 'host', id: 'a', limit: 1, before: 4 })).toEqual([3]);
    expect(await revisions({ kind: 'host', limit: 10 })).toEqual([4, 3, 2, 1]);
    expect(await revisions({ kind: 'host', limit: 2, before: 4 })).toEqual([3, 2]);
    expect(await revisions({ operation: 'op-1', limit: 2 })).toEqual([5, 4]);
    expect(await revisions({ operation: 'op-1', limit: 2, before: 4 })).toEqual([1]);
    expect(await revisions({ kind: 'host', id: 'a', operation: 'op-1', limit: 10 })).toEqual([4, 1]);
    expect(await revisions({ kind: 'port', operation: 'op-1', limit: 10 })).toEqual([5]);
    expect(await revisions({ kind: 'host', id: 'never', limit: 10 })).toEqual([]);
    expect((await store.history({ operation: 'op-2', limit: 1 })).commits[0]?.changes).toEqual([put('a'), put('b')]);
  });
}

const LARGE = 'x'.repeat(60_000);

function pageContract(make: MakeWorld): void {
  test('history tells where to go on, and of a kind or a resource answers nothing else', async () => {
    const { store } = await worldOf(make);
    const port: TextChange = { kind: 'port', id: 'a', body: '{}' };
    await mustWrite(store, batch([put('a'), port, put('b'), drop('c')]), batch([put('b')]), batch([put('a')]));
    const first = await store.history({ kind: 'host', id: 'a', limit: 1 });
    expect(first).toMatchObject({ next: 3, commits: [{ revision: 3 }] });
    const second = await store.history({ kind: 'host', id: 'a', limit: 1, before: 3 });
    expect(second.commits.map((one) => one.changes)).toEqual([[put('a')]]);
    expect(second).not.toHaveProperty('next');
    const hosts = await store.history({ kind: 'host', limit: 9, before: 2 });
    expect(hosts.commits.map((one) => one.changes)).toEqual([[put('a'), put('b'), drop('c')]]);
  });

  test('a page of history, and a page of commits, end when they are full of bytes', { timeout: 60_000 }, async () => {
    const { store } = await worldOf(make);
    const wide = (n: number): TextChange[] => Array.from({ length: 10 }, (_, at) => put(`h${n}-${at}`, LARGE));
    await mustWrite(store, ...[0, 1, 2, 3].map((n) => batch(wide(n))));
    const page = await store.history({ limit: 100 });
    expect(page).toMatchObject({ next: 3, commits: [{ revision: 4 }, { revision: 3 }] });
    const rest = await store.history({ limit: 100, before: 3 });
    expect(rest.commits.map((one) => one.revision)).toEqual([2, 1]);
    const read = await store.read({ revision: 0 }, 100);
    expect(read.kind === 'commits' && read.commits.map((one) => one.revision)).toEqual([1, 2]);
    const on = await store.read({ revision: 1 }, 100);
    expect(on.kind === 'commits' && on.commits.map((one) => one.revision)).toEqual([2, 3]);
    expect((await readAll(store)).map((one) => one.revision)).toEqual([1, 2, 3, 4]);
  });
}

function compactionContract(make: MakeWorld): void {
  test('compaction forgets the oldest, in slices, and a forgotten position is gone', async () => {
    const { store } = await worldOf(make);
    const batches = [10, 20, 30, 40].map((atMs) => batch([put('a', atMs)], { atMs }));
    await mustWrite(store, ...batches);
    expect(await store.compact(40, 2)).toBe(2);
    expect(await store.read({ revision: 0 }, 10)).toEqual({ kind: 'gone', oldest: 3 });
    expect(await store.read({ revision: 1 }, 10)).toEqual({ kind: 'gone', oldest: 3 });
    expect((await readAll(store, { revision: 2, commitId: batches[1]?.id ?? '' })).length).toBe(2);
    expect(await store.read({ revision: 2, commitId: 'another' }, 10)).toEqual({ kind: 'diverged', head: 4 });
    expect(await store.compact(40, 2)).toBe(1);
    expect(await store.compact(40, 2)).toBe(0);
    const left = await store.history({ kind: 'host', id: 'a', limit: 9 });
    expect(left.commits.map((one) => one.revision)).toEqual([4]);
    expect((await snapshotOf(store)).resources).toEqual([{ kind: 'host', id: 'a', revision: 4, body: '40' }]);
  });

  test('compaction never takes the newest commit, and the order goes on after it', async () => {
    const { store, another } = await worldOf(make);
    expect(await store.compact(1e15, 10)).toBe(0);
    const [one, two] = [batch([put('a')]), batch([put('b')])];
    await mustWrite(store, one, two);
    expect(await store.compact(1e15, 10)).toBe(1);
    expect(await store.compact(1e15, 10)).toBe(0);
    expect(await store.read({ revision: 2, commitId: two.id }, 5)).toMatchObject({ kind: 'commits', commits: [] });
    expect(await mustWrite(await another(), batch([put('c')]))).toBe(3);
    expect((await readAll(store, { revision: 1, commitId: one.id }, 1)).map((c) => c.revision)).toEqual([2, 3]);
  });

  test('compaction stops at the first commit that is young enough, also if an older one follows', async () => {
    const { store } = await worldOf(make);
    await mustWrite(store, ...[10, 50, 20, 60].map((atMs) => batch([put('a')], { atMs })));
    expect(await store.compact(30, 10)).toBe(1);
  });
}
