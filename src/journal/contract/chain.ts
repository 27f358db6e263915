// The contract of the hash chain: every commit carries a hash over its content and the hash before it, the same one in every
// store, and a reader who knows another one has diverged.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChainWalk } from '../chain-walk.ts';
import { sha256 } from '../sha256-store.ts';
import { batch, drop, type MakeWorld, mustWrite, positionOf, put, readAll, snapshotOf, worldOf } from './world.ts';

export function chainContract(make: MakeWorld): void {
  test('the hash of a commit is the same in every store', async () => {
    const { store } = await worldOf(make);
    const first = batch([put('a', { text: 'ä' })], { id: 'c-1', why: '', operation: 'op-1' });
    const second = batch([put('b'), drop('a')], { id: 'c-2' });
    const written = await store.write({ batches: [first, second] });
    expect((await readAll(store)).map((one) => one.hash)).toMatchInlineSnapshot(`
      [
        "e66080ddfa191a655f3777b3654143e9d70808ede35c6e5355e65ba3d5c1bc0c",
        "4cd2779f63f1e71fc142e8c4975ef153eca62b5743e71979c67e3a42ec882c0d",
      ]
    `);
    expect(written).toMatchObject({ hash: (await readAll(store)).at(-1)?.hash });
  });

  test('a snapshot, a write and the last commit agree on the hash, whichever server wrote', async () => {
    const { store, another } = await worldOf(make);
    const other = await another();
    for (const [nth, writer] of [store, other, other, store, other].entries()) {
      const written = await writer.write({ batches: [batch([put(`h${nth}`)]), batch([put('shared', { nth })])] });
      const last = (await readAll(store)).at(-1);
      expect(written).toMatchObject({ kind: 'written', hash: last?.hash });
      expect((await snapshotOf(other)).position).toEqual(last === undefined ? undefined : positionOf(last));
    }
  });

  test('never a commit outside the chain: any commits, groups and compactions can be walked', async () => {
    const ids = fc.constantFrom('a', 'b', 'c');
    const change = fc.oneof(
      fc.record({ id: ids, text: fc.string() }).map(({ id, text }) => put(id, { text })),
      ids.map(drop),
    );
    const commit = fc.record({
      changes: fc.uniqueArray(change, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
      why: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
    });
    const groups = fc.array(fc.array(commit, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(groups, fc.nat({ max: 6 }), async (written, compacted) => {
        const { store, close } = await make();
        try {
          for (const group of written) {
            const batches = group.map(({ changes, why }) =>
              batch(changes, why === undefined ? {} : { why: why.replaceAll('\0', '') }),
            );
            await mustWrite(store, ...batches);
          }
          const all = await readAll(store);
          const walk = new ChainWalk(sha256, { after: { revision: 0, hash: null }, chainedFrom: 1 });
          expect(all.map((one) => walk.take(one))).toEqual(all.map(() => undefined));
          const removed = await store.compact(Infinity, compacted);
          const floor = all[removed - 1];
          const after = floor === undefined ? { revision: 0 } : positionOf(floor);
          expect(await readAll(store, after)).toEqual(all.slice(removed));
          await snapshotOf(store);
        } finally {
          await close();
        }
      }),
      { numRuns: 5 },
    );
  });

  test('a position with another hash has diverged, also at the floor', async () => {
    const { store } = await worldOf(make);
    await mustWrite(store, batch([put('a')], { id: 'c-1' }), batch([put('b')], { id: 'c-2' }), batch([put('c')]));
    const other = { revision: 2, commitId: 'c-2', hash: 'f'.repeat(64) };
    expect(await store.read(other, 10)).toEqual({ kind: 'diverged', head: 3 });
    const [, second] = await readAll(store);
    await store.compact(Infinity, 2);
    expect(await store.read(other, 10)).toEqual({ kind: 'diverged', head: 3 });
    expect(await store.read({ ...other, hash: second?.hash ?? '' }, 10)).toMatchObject({ kind: 'commits', head: 3 });
  });
  test('compaction in the middle of a group: readers at the cut, and a store that is opened there, find nothing missing', async () => {
    const { store, another } = await worldOf(make);
    await mustWrite(store, batch([put('a')]), batch([put('b')]), batch([put('a', { again: true })]));
    const [first, second, third] = await readAll(store);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three were written');
    expect(await store.compact(Infinity, 2)).toBe(2);
    const opened = await another();
    expect(await snapshotOf(opened)).toMatchObject({ position: positionOf(third) });
    for (const reader of [store, opened]) {
      expect(await reader.read(positionOf(first), 10)).toEqual({ kind: 'gone', oldest: 3 });
      expect(await readAll(reader, positionOf(second))).toEqual([third]);
      expect(await reader.read({ ...positionOf(second), hash: first.hash ?? '' }, 10)).toMatchObject({
        kind: 'diverged',
      });
    }
    expect(await mustWrite(opened, batch([put('c')]))).toBe(4);
    const left = await readAll(store, positionOf(second));
    const walk = new ChainWalk(sha256, { after: { revision: 2, hash: second.hash ?? null }, chainedFrom: 1 });
    expect(left.map((one) => [one.revision, walk.take(one)])).toEqual([
      [3, undefined],
      [4, undefined],
    ]);
    const history = await store.history({ kind: 'host', id: 'a', limit: 10 });
    expect(history.commits.map((one) => one.revision)).toEqual([3]);
  });
}
