import { listenToMarks, type Refusal } from '../fleet/index.ts';
import { describe, expect, it, vi } from 'vitest';
import {
  commitsOn,
  count,
  FaultyStore,
  journalOn,
  NOTE,
  noteId,
  makeRig,
  takeLease,
  write,
  type WriteFate,
} from './journal-fixture.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { NotHolder, type Request } from './request.ts';
import { StoreUnavailable, type WriteAnswer } from './store.ts';
import type { WatchEvent } from './watch.ts';

const EXPIRED: Refusal = { kind: 'forbidden', code: 'expired', message: 'The token has expired.' };

/** Its token has expired when it is decided a second time. */
function writeOnce(id: string): Request<string> {
  let tries = 0;
  return { ...write(id), authorize: () => ((tries += 1) > 1 ? EXPIRED : undefined) };
}

describe('a write whose answer was lost', () => {
  it.each<[string, WriteFate[]]>([
    ['written', ['unknown-written']],
    ['not written', ['unknown-lost']],
    ['written late', ['unknown-late']],
    ['lost, then late, then written', ['unknown-lost', 'unknown-late', 'unknown-written']],
    ['late twice', ['unknown-late', 'unknown-late']],
  ])('%s: is there once, and is answered as it is', async (_name, fates) => {
    const { journal, store, disk } = await makeRig();
    await journal.submit(count('a'));
    store.fates.push(...fates);
    const outcomes = await Promise.all([journal.submit(count('a')), journal.submit(count('b'))]);
    expect(outcomes).toEqual([
      { kind: 'accepted', revision: 2, answer: 2 },
      { kind: 'accepted', revision: 3, answer: 1 },
    ]);
    expect(commitsOn(disk)).toEqual(['1 counter of a', '2 counter of a', '3 counter of b']);
    await journal.submit(count('a'));
    expect(journal.fleet.get(NOTE, noteId('a'))?.doc.text).toBe(3);
  });

  it('abandoned: its callers are answered `unknown`, others that nothing was written', async () => {
    const { journal, store, disk } = await makeRig();
    store.fates.push('unknown-lost', 'failed', 'failed', 'failed', 'failed', 'failed');
    const release = store.hold();
    const doubtful = journal.submit(write('a'));
    await vi.waitUntil(() => store.groups.length === 1);
    const later = journal.submit(write('b'));
    release();
    await expect(doubtful).rejects.toMatchObject({ code: 'store-unavailable', outcome: 'unknown' });
    await expect(later).rejects.toMatchObject({ code: 'store-unavailable', outcome: 'failed' });
    expect(commitsOn(disk)).toEqual([]);
    await expect(journal.submit(write('c'))).resolves.toMatchObject({ kind: 'accepted', revision: 1 });
  });

  it.each<[string, WriteFate]>([
    ['written late', 'unknown-late'],
    ['lost', 'unknown-lost'],
  ])('%s: never answered as refused while the journal ends where it may still be written', async (_name, fate) => {
    const { journal, store } = await makeRig();
    store.fates.push(fate);
    await expect(journal.submit(writeOnce('a'))).rejects.toMatchObject({ outcome: 'unknown' });
    await expect(journal.submit(write('b'))).resolves.toMatchObject({ kind: 'accepted' });
    expect(store.groups).toHaveLength(fate === 'unknown-late' ? 3 : 2);
  });

  it('is answered as refused once another commit keeps it out', async () => {
    const { journal, store, disk } = await makeRig();
    store.fates.push('unknown-lost');
    const release = store.hold();
    const first = journal.submit(writeOnce('a'));
    await vi.waitUntil(() => store.groups.length === 1);
    const second = journal.submit(write('b'));
    release();
    await expect(first).resolves.toMatchObject({ kind: 'refused', refusal: EXPIRED });
    await expect(second).resolves.toMatchObject({ kind: 'accepted' });
    expect(commitsOn(disk)).toEqual(['1 writer of b']);
  });

  it('is not done twice when the fleet was loaded anew meanwhile', async () => {
    const { journal, store, disk, clock } = await makeRig();
    await journal.submit(count('a'));
    store.fates.push('unknown-written', 'failed');
    // Another server commits, and the journal is compacted past this one before it reads on.
    vi.spyOn(store, 'read').mockImplementation(async (after) =>
      after.revision < 2 ? { kind: 'gone', oldest: 3 } : new MemoryStore(disk).read(after, 500),
    );
    await expect(journal.submit(count('a'))).rejects.toMatchObject({ outcome: 'unknown' });
    expect(journal.fleet.get(NOTE, noteId('a'))?.doc.text).toBe(2);
    expect(clock.slept.length).toBeGreaterThan(0);
  });
});

describe('the store', () => {
  it('that does not come back is reported to the callers after a few tries', async () => {
    const { journal, store, clock } = await makeRig();
    store.fates.push('failed', 'failed', 'failed', 'failed', 'failed', 'failed');
    await expect(journal.submit(write('a'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(clock.slept).toEqual([100, 200, 400, 800, 1600]);
    await expect(journal.submit(write('a'))).resolves.toMatchObject({ kind: 'accepted', revision: 1 });
  });

  it('that breaks in another way fails the requests with what it said, not the journal', async () => {
    const { journal, store } = await makeRig();
    vi.spyOn(store, 'write').mockRejectedValueOnce(new Error('disk on fire'));
    await expect(journal.submit(write('a'))).rejects.toThrow('disk on fire');
    await expect(journal.submit(write('a'))).resolves.toMatchObject({ kind: 'accepted', revision: 1 });
  });

  it('that has another document at the same head makes the journal load its fleet anew', async () => {
    const { journal, store } = await makeRig();
    const conflict: WriteAnswer = {
      kind: 'conflict',
      conflict: { kind: 'resource', batch: 0, resource: ['note', 'a'], expected: 'absent', actual: 1 },
    };
    vi.spyOn(store, 'write').mockResolvedValueOnce(conflict);
    const rebuilt = vi.fn<() => void>();
    journal.onRebuilt(rebuilt);
    await expect(journal.submit(write('a'))).resolves.toMatchObject({ kind: 'accepted', revision: 1 });
    expect(rebuilt).toHaveBeenCalledOnce();
  });
});

describe('the deciding lease', () => {
  it('is needed to submit', async () => {
    const disk = new MemoryDisk({ journalId: 'test', nowMs: () => 0 });
    const journal = journalOn(new MemoryStore(disk));
    await journal.open();
    await expect(journal.submit(write('a'))).rejects.toBeInstanceOf(NotHolder);
  });

  it('that ran out is noticed at the write: nothing is written, the server decides no more', async () => {
    const { journal, clock, disk } = await makeRig();
    clock.now += 10_000;
    await expect(journal.submit(write('a'))).rejects.toBeInstanceOf(NotHolder);
    expect(journal.fence).toBeUndefined();
    expect(commitsOn(disk)).toEqual([]);
  });

  it('lost without knowing: not even a request that changes nothing is answered from what may be old', async () => {
    const { journal, clock, disk } = await makeRig();
    await journal.submit(write('a'));
    clock.now += 10_000;
    await takeLease(new MemoryStore(disk), 'two');
    await expect(journal.submit(write('a'))).rejects.toBeInstanceOf(NotHolder);
    expect(journal.fence).toBeUndefined();
  });

  it('released while a group is under way: the group counts, what waits is refused', async () => {
    const { journal, store } = await makeRig();
    const release = store.hold();
    const underWay = journal.submit(write('a'));
    await vi.waitUntil(() => store.groups.length === 1);
    const waiting = journal.submit(write('b'));
    journal.stepDown();
    await expect(waiting).rejects.toBeInstanceOf(NotHolder);
    release();
    await expect(underWay).resolves.toMatchObject({ kind: 'accepted', revision: 1 });
    await expect(journal.submit(write('c'))).rejects.toBeInstanceOf(NotHolder);
  });

  it('taken over: the new holder has read everything before it decides, the old one is refused', async () => {
    const { journal: old, disk, clock } = await makeRig();
    await old.submit(count('a'));
    clock.now += 10_000;
    const store = new FaultyStore(disk);
    const journal = journalOn(store, clock);
    await journal.open();
    await takeLease(store, 'two');
    await journal.lead({ lease: 'fleet', epoch: 2 });
    await expect(journal.submit(count('a'))).resolves.toMatchObject({ revision: 2, answer: 2 });
    await expect(old.submit(count('a'))).rejects.toBeInstanceOf(NotHolder);
    await old.catchUp();
    expect(old.fleet.get(NOTE, noteId('a'))?.doc.text).toBe(2);
  });

  it('idle waits for everything that was submitted', async () => {
    const { journal } = await makeRig();
    let answered = 0;
    for (const id of ['a', 'b']) void journal.submit(write(id)).then(() => (answered += 1));
    await journal.idle();
    expect(answered).toBe(2);
  });
});

describe('a follower', () => {
  it('that starts or falls behind shows what the holder shows, over many pages', async () => {
    const { journal, disk } = await makeRig();
    const behind = journalOn(new MemoryStore(disk));
    await behind.open();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 500 }, (_, at) => journal.submit(count(`n${(at * 7 + round) % 50}`))));
    }
    await behind.catchUp();
    const fresh = journalOn(new MemoryStore(disk));
    await fresh.open();
    for (const follower of [behind, fresh]) {
      expect(follower.fleet.revision).toBe(1500);
      expect([...follower.fleet.all(NOTE)]).toEqual([...journal.fleet.all(NOTE)]);
    }
  });

  it('follows until it is stopped, and survives a store that is away', async () => {
    const { journal, disk } = await makeRig();
    const store = new MemoryStore(disk);
    const follower = journalOn(store);
    await follower.open();
    const stop = new AbortController();
    const following = follower.follow(stop.signal);
    await journal.submit(write('a'));
    await vi.waitUntil(() => follower.fleet.revision === 1);
    vi.spyOn(store, 'read').mockRejectedValueOnce(new StoreUnavailable('away', { outcome: 'failed' }));
    await journal.submit(write('b'));
    await vi.waitUntil(() => follower.fleet.revision === 2);
    stop.abort();
    await following;
  });

  it('waits for a revision, but not for ever', async () => {
    const { journal, disk } = await makeRig();
    const follower = journalOn(new MemoryStore(disk));
    await follower.open();
    const reached = follower.waitForRevision(1, 2000);
    await journal.submit(write('a'));
    await follower.catchUp();
    await expect(reached).resolves.toBe(true);
    await expect(follower.waitForRevision(2, 2000)).resolves.toBe(false);
  });

  it('tells its listeners every commit once, in order, with what it replaced', async () => {
    const { journal, disk } = await makeRig();
    const follower = journalOn(new MemoryStore(disk));
    await follower.open();
    const events: unknown[] = [];
    const stop = follower.onCommit(({ commit: { revision }, applied: [change] }) =>
      events.push([revision, change?.before?.doc, change?.after?.doc]),
    );
    await Promise.all([journal.submit(count('a')), journal.submit(count('a'))]);
    await follower.catchUp();
    await follower.catchUp();
    stop();
    await journal.submit(count('a'));
    await follower.catchUp();
    expect(events).toEqual([
      [1, undefined, { text: 1 }],
      [2, { text: 1 }, { text: 2 }],
    ]);
  });
});

describe('watch', () => {
  async function revisionsFrom(events: AsyncIterable<WatchEvent>, upTo: number): Promise<number[]> {
    const revisions: number[] = [];
    for await (const event of events) {
      if (event.kind !== 'commits') throw new Error(event.kind);
      revisions.push(...event.commits.map((commit) => commit.revision));
      if (revisions.at(-1) === upTo) break;
    }
    return revisions;
  }

  const upTo = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at);

  it('tells from any revision every later commit once, in order, from memory or from the store', async () => {
    const { journal, disk } = await makeRig();
    for (let at = 0; at < 6; at += 1) await journal.submit(count('a'));
    const restarted = journalOn(new MemoryStore(disk));
    await restarted.open();
    for (const watched of [journal, restarted]) {
      for (let after = 0; after < 6; after += 1) {
        const watching = revisionsFrom(watched.watch({ revision: after }, new AbortController().signal), 6);
        await expect(watching).resolves.toEqual(upTo(after + 1, 6));
      }
    }
  });

  it('goes on with new commits', async () => {
    const { journal } = await makeRig();
    await journal.submit(count('a'));
    const watching = revisionsFrom(journal.watch({ revision: 0 }, new AbortController().signal), 4);
    for (let at = 0; at < 3; at += 1) await journal.submit(count('a'));
    await expect(watching).resolves.toEqual([1, 2, 3, 4]);
  });

  it('of a slow reader misses nothing when the memory no longer reaches back', async () => {
    const { journal } = await makeRig();
    const watch = journal.watch({ revision: 0 }, new AbortController().signal);
    await Promise.all(Array.from({ length: 10_000 }, () => journal.submit(count('a'))));
    await expect(revisionsFrom(watch, 10_000)).resolves.toEqual(upTo(1, 10_000));
  });

  it('from a revision that is compacted says which is the oldest', async () => {
    const { journal, store, clock } = await makeRig();
    for (let at = 0; at < 5; at += 1) await journal.submit(count('a'));
    await store.compact(clock.now + 1, 3);
    const restarted = journalOn(store);
    await restarted.open();
    const watch = restarted.watch({ revision: 1 }, new AbortController().signal);
    await expect(watch.next()).resolves.toEqual({ done: false, value: { kind: 'gone', oldest: 4 } });
    await expect(watch.next()).resolves.toMatchObject({ done: true });
  });

  it('from a revision that does not exist says that it is of another journal', async () => {
    const { journal } = await makeRig();
    const watch = journal.watch({ revision: 7 }, new AbortController().signal);
    await expect(watch.next()).resolves.toEqual({ done: false, value: { kind: 'diverged' } });
  });

  it('ends when it is stopped', async () => {
    const { journal } = await makeRig();
    const stop = new AbortController();
    const watch = journal.watch({ revision: 0 }, stop.signal);
    const next = watch.next();
    stop.abort();
    await expect(next).resolves.toMatchObject({ done: true });
  });
});

it('marks its guards', async () => {
  const marks = new Set<string>();
  listenToMarks((name) => marks.add(name));
  const { journal, store } = await makeRig();
  store.fates.push('unknown-late');
  await journal.submit(write('a'));
  listenToMarks(undefined);
  expect([...marks].sort()).toEqual(['journal-conflict-head', 'journal-group-dropped', 'journal-in-doubt-resolved']);
});
