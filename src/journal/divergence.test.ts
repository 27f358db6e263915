// A store that fell back under a running server: the journal names the revisions that were lost before it loads the fleet anew.
import { expect, test } from 'vitest';
import type { Divergence } from './divergence.ts';
import { count, NOTE, makeRig, RecordingClock, takeLease } from './journal-fixture.ts';
import { Journal } from './journal.ts';
import { Registry } from '../fleet/index.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { batch } from './contract/world.ts';
import type { Position } from './store.ts';

test('the range of lost revisions is reported, and the witness sees every position', async () => {
  const clock = new RecordingClock();
  const disk = new MemoryDisk({ journalId: 'test', nowMs: () => clock.now });
  const store = new MemoryStore(disk);
  const reported: Divergence[] = [];
  const seen: Position[] = [];
  const journal = new Journal({
    store,
    clock,
    registry: new Registry([{ kinds: [NOTE] }]),
    ids: { next: (prefix) => `${prefix}-${seen.length}`, secret: () => '' },
    onPosition: (position) => seen.push(position),
    onDiverged: (divergence) => reported.push(divergence),
  });
  await journal.open();
  const answer = await takeLease(store, 'one');
  await journal.lead({ lease: 'fleet', epoch: answer.lease?.epoch ?? 0 });
  for (let nth = 0; nth < 5; nth += 1) await journal.submit(count('a'));
  expect(seen.at(-1)).toEqual((await store.snapshot(() => undefined)) && journal.position);
  expect(seen.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4, 5]);
  // A standby that had only three of them was promoted, and another server has written one since.
  disk.change((state) => {
    state.commits.splice(3);
    state.resources.clear();
  });
  await store.write({ batches: [batch([])] });
  await journal.catchUp();
  expect(reported).toEqual([{ lostFrom: 4, lostTo: 5, head: 4 }]);
  expect(journal.fleet.revision).toBe(4);
});

test('a journal that keeps up tells of nothing', async () => {
  const { journal, store } = await makeRig();
  await journal.submit(count('a'));
  await store.write({ batches: [batch([])] });
  await journal.catchUp();
  expect(journal.position.hash).toBe((await store.snapshot(() => undefined)).hash);
});
