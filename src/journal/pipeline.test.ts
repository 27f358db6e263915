import { describe, expect, it, vi } from 'vitest';
import {
  commitsOn,
  count,
  NOTE,
  noteId,
  makeRig,
  takeLease,
  write,
  type WriteFate,
  type JournalRig,
} from './journal-fixture.ts';
import { MemoryStore } from './memory-store.ts';
import { accept, NotHolder, type Outcome, type Request } from './request.ts';
import type { WriteAnswer } from './store.ts';

interface TwoGroups extends JournalRig {
  readonly first: Promise<Outcome<number>>;
  readonly second: Promise<Outcome<number>>;
  /** What was decided, in order. */
  readonly decided: string[];
  /** Lets the store write. */
  readonly release: () => void;
}

/** One group is being written, and one is decided behind it; both count the same note. */
async function twoGroups(): Promise<TwoGroups> {
  const made = await makeRig(1);
  const { journal, store } = made;
  const decided: string[] = [];
  const traced = (name: string): Request<number> => ({
    by: name,
    decide: (fleet) => {
      decided.push(name);
      return count('a').decide(fleet);
    },
  });
  const release = store.hold();
  const first = journal.submit(traced('first'));
  await vi.waitUntil(() => store.groups.length === 1);
  const second = journal.submit(traced('second'));
  await vi.waitUntil(() => decided.includes('second'));
  return { ...made, first, second, decided, release };
}

const COUNTED = [
  { kind: 'accepted', revision: 1, answer: 1 },
  { kind: 'accepted', revision: 2, answer: 2 },
];

describe('a group behind another', () => {
  it('is decided on top of it, and written when it is durable', async () => {
    const { store, first, second, decided, disk, release } = await twoGroups();
    expect(store.groups).toHaveLength(1);
    release();
    await expect(Promise.all([first, second])).resolves.toEqual(COUNTED);
    expect(store.groups.map(({ expectedHead }) => expectedHead)).toEqual([0, 1]);
    expect(decided).toEqual(['first', 'second']);
    expect(commitsOn(disk)).toEqual(['1 first', '2 second']);
  });

  it('never: shows or answers anything before it is durable, or out of order', async () => {
    const { journal, store, first, second, release } = await twoGroups();
    const shown: string[] = [];
    journal.onCommit(({ commit }) => shown.push(`commit ${commit.revision} of ${journal.fleet.revision}`));
    const answers = [first, second].map((outcome) => outcome.then(({ revision }) => shown.push(`answer ${revision}`)));
    expect(journal.fleet.count(NOTE)).toBe(0);
    release();
    const releaseSecond = store.hold();
    await vi.waitUntil(() => shown.length === 2);
    await new Promise(setImmediate);
    expect(shown).toEqual(['commit 1 of 1', 'answer 1']);
    expect(journal.fleet.get(NOTE, noteId('a'))).toMatchObject({ revision: 1, doc: { text: 1 } });
    releaseSecond();
    await Promise.all(answers);
    expect(shown).toEqual(['commit 1 of 1', 'answer 1', 'commit 2 of 2', 'answer 2']);
  });

  it('that has nothing to write is answered after the one before it', async () => {
    const { journal, store } = await makeRig(1);
    const order: string[] = [];
    const release = store.hold();
    const first = journal.submit(write('a')).then(() => order.push('first'));
    await vi.waitUntil(() => store.groups.length === 1);
    const second = journal.submit({ by: 'ana', decide: (fleet) => accept([], fleet.count(NOTE)) });
    void second.then(() => order.push('second'));
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    release();
    await expect(second).resolves.toEqual({ kind: 'accepted', revision: 1, answer: 1 });
    await first;
    expect(order).toEqual(['first', 'second']);
  });

  it('that fails itself is decided again; the one before it is answered once', async () => {
    const { store, first, second, decided, disk, release } = await twoGroups();
    store.fates.push('served', 'unknown-written', 'failed');
    release();
    await expect(Promise.all([first, second])).resolves.toEqual(COUNTED);
    expect(decided).toEqual(['first', 'second']);
    expect(commitsOn(disk)).toEqual(['1 first', '2 second']);
  });
});

describe('a group that is not written, with another behind it', () => {
  it.each<[string, WriteFate[]]>([
    ['failed', ['failed']],
    ['failed again and again', ['failed', 'failed', 'failed']],
    ['not written, outcome unknown', ['unknown-lost']],
    ['written late', ['unknown-late']],
    ['lost, then late, then written', ['unknown-lost', 'unknown-late', 'unknown-written']],
  ])('%s: both are decided again, in order', async (_name, fates) => {
    const { journal, store, first, second, decided, disk, release } = await twoGroups();
    store.fates.push(...fates);
    release();
    await expect(Promise.all([first, second])).resolves.toEqual(COUNTED);
    expect(decided.slice(0, 3)).toEqual(['first', 'second', 'first']);
    expect(decided.at(-1)).toBe('second');
    expect(commitsOn(disk)).toEqual(['1 first', '2 second']);
    expect(journal.fleet.get(NOTE, noteId('a'))?.doc.text).toBe(2);
  });

  it('written although its answer was lost: only the one behind it is decided again', async () => {
    const { store, first, second, decided, disk, release } = await twoGroups();
    store.fates.push('unknown-written');
    release();
    await expect(Promise.all([first, second])).resolves.toEqual(COUNTED);
    expect(decided).toEqual(['first', 'second', 'second']);
    expect(commitsOn(disk)).toEqual(['1 first', '2 second']);
  });

  it('abandoned: the callers of the first are answered `unknown`, the others that nothing was written', async () => {
    const { journal, store, first, second, disk, release } = await twoGroups();
    store.fates.push('unknown-lost', 'failed', 'failed', 'failed', 'failed', 'failed');
    release();
    await expect(first).rejects.toMatchObject({ code: 'store-unavailable', outcome: 'unknown' });
    await expect(second).rejects.toMatchObject({ code: 'store-unavailable', outcome: 'failed' });
    expect(commitsOn(disk)).toEqual([]);
    await expect(journal.submit(count('a'))).resolves.toMatchObject({ revision: 1, answer: 1 });
  });

  it('at another head: both are decided again on what is there', async () => {
    const { store, first, second, disk, release } = await twoGroups();
    const changes = [{ kind: 'note', id: 'a', body: '{"text":7}' }];
    await new MemoryStore(disk).write({ batches: [{ id: 'x', atMs: 0, by: 'other', changes, preconditions: [] }] });
    release();
    await expect(Promise.all([first, second])).resolves.toEqual([
      { kind: 'accepted', revision: 2, answer: 8 },
      { kind: 'accepted', revision: 3, answer: 9 },
    ]);
    expect(commitsOn(disk)).toEqual(['1 other', '2 first', '3 second']);
    expect(store.groups.map(({ expectedHead }) => expectedHead)).toEqual([0, 1, 2]);
  });

  it('with another document at the same head: the fleet is loaded anew, and both are decided on it', async () => {
    const { journal, store, first, second, disk, release } = await twoGroups();
    const conflict: WriteAnswer = {
      kind: 'conflict',
      conflict: { kind: 'resource', batch: 0, resource: ['note', 'a'], expected: 'absent', actual: 1 },
    };
    vi.spyOn(MemoryStore.prototype, 'write').mockResolvedValueOnce(conflict);
    const rebuilt = vi.fn<() => void>();
    journal.onRebuilt(rebuilt);
    release();
    await expect(Promise.all([first, second])).resolves.toEqual(COUNTED);
    expect(rebuilt).toHaveBeenCalledOnce();
    expect(store.groups.map(({ expectedHead }) => expectedHead)).toEqual([0, 0, 1]);
    expect(commitsOn(disk)).toEqual(['1 first', '2 second']);
  });

  it('without the lease: nothing is written, no request is answered, the server decides no more', async () => {
    const { journal, clock, first, second, disk, release } = await twoGroups();
    clock.now += 10_000;
    await takeLease(new MemoryStore(disk), 'two');
    release();
    await expect(first).rejects.toBeInstanceOf(NotHolder);
    await expect(second).rejects.toBeInstanceOf(NotHolder);
    expect(journal.fence).toBeUndefined();
    expect(commitsOn(disk)).toEqual([]);
  });

  it('by a store that breaks in another way: all callers get its error, and the journal goes on', async () => {
    const { journal, first, second, disk, release } = await twoGroups();
    vi.spyOn(MemoryStore.prototype, 'write').mockRejectedValueOnce(new Error('disk on fire'));
    release();
    await expect(first).rejects.toThrow('disk on fire');
    await expect(second).rejects.toThrow('disk on fire');
    await expect(journal.submit(count('a'))).resolves.toMatchObject({ revision: 1, answer: 1 });
    expect(commitsOn(disk)).toEqual(['1 counter of a']);
  });
});

describe('two groups under way', () => {
  it('when the lease is released: the first counts, the one behind it is refused at once', async () => {
    const { journal, first, second, disk, release } = await twoGroups();
    journal.stepDown();
    await expect(second).rejects.toBeInstanceOf(NotHolder);
    release();
    await expect(first).resolves.toEqual(COUNTED[0]);
    expect(journal.fleet.get(NOTE, noteId('a'))?.doc.text).toBe(1);
    expect(commitsOn(disk)).toEqual(['1 first']);
  });

  it('when the lease is released and taken again: nothing of the one behind is left', async () => {
    const { journal, store, first, second, disk, release } = await twoGroups();
    journal.stepDown();
    const leading = journal.lead({ lease: 'fleet', epoch: 1 });
    await expect(second).rejects.toBeInstanceOf(NotHolder);
    release();
    await first;
    await leading;
    await expect(journal.submit(count('a'))).resolves.toMatchObject({ revision: 2, answer: 2 });
    expect(store.groups.map(({ expectedHead }) => expectedHead)).toEqual([0, 1]);
    expect(commitsOn(disk)).toEqual(['1 first', '2 counter of a']);
  });

  it('let no reader in between them', async () => {
    const { journal, store, first, second, release } = await twoGroups();
    const read = vi.spyOn(store, 'read');
    const caughtUp = journal.catchUp();
    release();
    await Promise.all([first, second]);
    expect(read).not.toHaveBeenCalled();
    await caughtUp;
    expect(read.mock.calls[0]?.[0]).toMatchObject({ revision: 2 });
  });

  it('and requests without end do not keep others from reading on', async () => {
    const { journal } = await makeRig(1);
    const over = new AbortController();
    const callers = Array.from({ length: 8 }, async (_, nth) => {
      while (!over.signal.aborted) await journal.submit(count(`n${nth}`));
    });
    await vi.waitUntil(() => journal.fleet.revision > 50);
    await journal.catchUp();
    over.abort();
    await Promise.all(callers);
    expect(journal.fleet.revision).toBeGreaterThan(50);
  });
});

describe('how requests are shared out', () => {
  const sizesOf = ({ store }: JournalRig): number[] => store.groups.map(({ batches }) => batches.length);
  const submitAll = ({ journal }: JournalRig, howMany: number): Promise<unknown> =>
    Promise.all(Array.from({ length: howMany }, (_, nth) => journal.submit(count(`n${nth}`))));

  it.each([
    ['one-alone', 1, [1]],
    ['fewer-than-two-shares', 7, [7]],
    ['two-shares', 8, [4, 4]],
    ['many', 30, [4, 26]],
  ])('%s', async (_name, howMany, sizes) => {
    const made = await makeRig(4);
    const release = made.store.hold();
    const answered = submitAll(made, howMany);
    for (let turns = 0; turns < 2 * howMany; turns += 1) await new Promise(setImmediate);
    release();
    await answered;
    expect(sizesOf(made)).toEqual(sizes);
  });

  it('the store is checked before all of a share is decided', async () => {
    const made = await makeRig(8);
    const release = made.store.hold();
    const decided: number[] = [];
    const counted = (nth: number): ReturnType<typeof count> => {
      const request = count(`n${nth}`);
      const decide: typeof request.decide = (fleet) => {
        decided.push(nth);
        return request.decide(fleet);
      };
      return { ...request, decide };
    };
    const answered = Promise.all(Array.from({ length: 80 }, (_, nth) => made.journal.submit(counted(nth))));
    while (decided.length < 8 + 10) await new Promise(setImmediate);
    expect(decided).toHaveLength(8 + 10);
    release();
    await answered;
    expect(sizesOf(made)[1]).toBeLessThan(16);
  });

  it('never: decisions that take long follow each other without a turn of the event loop', async () => {
    const made = await makeRig(64);
    let turns = 0;
    const decidedAt: number[] = [];
    const slow = (nth: number): ReturnType<typeof count> => {
      const request = count(`n${nth}`);
      const decide: typeof request.decide = (fleet) => {
        decidedAt.push(turns);
        made.clock.now += 12;
        return request.decide(fleet);
      };
      return { ...request, decide };
    };
    const over = new AbortController();
    const counting = (async () => {
      while (!over.signal.aborted) {
        await new Promise(setImmediate);
        turns += 1;
      }
    })();
    await Promise.all(Array.from({ length: 40 }, (_, nth) => made.journal.submit(slow(nth))));
    over.abort();
    await counting;
    const perTurn = Map.groupBy(decidedAt, (turn) => turn);
    expect(decidedAt).toHaveLength(40);
    expect(Math.max(...[...perTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(4);
    expect(commitsOn(made.disk).map((commit) => commit.split(' n')[1])).toEqual(
      Array.from({ length: 40 }, (_, nth) => String(nth)),
    );
  });

  it('less than a share waits for those who are answered and ask again at once', async () => {
    const made = await makeRig(8);
    await submitMeanwhile(made, 2);
    expect(sizesOf(made)).toEqual([2, 4]);
  });

  it.each([
    ['a part of a share does not wait for callers that are slow to submit again', 2, 2, [2, 2, 2, 2]],
    ['less than a part waits for them', 2, 1, [2, 2, 3]],
    ['few who do not ask again say nothing of the many', 1, 2, [1, 2, 4]],
  ])('%s', async (_, slow, others, sizes) => {
    const made = await makeRig(8);
    await submitAll(made, slow);
    await aWhile();
    await submitMeanwhile(made, others);
    expect(sizesOf(made)).toEqual(sizes);
  });

  it('those who ask again as soon as they are answered stay one group', async () => {
    const made = await makeRig(8);
    // Whoever came before them took time.
    await submitAll(made, 2);
    await aWhile();
    const callers = Array.from({ length: 15 }, async (_, nth) => {
      for (let times = 0; times < 4; times += 1) await made.journal.submit(count(`n${nth}`));
    });
    await Promise.all(callers);
    expect(sizesOf(made)).toEqual([2, 15, 15, 15, 15]);
  });

  /** Two callers submit twice each; while the first of these is written, others submit. */
  async function submitMeanwhile(made: JournalRig, others: number): Promise<void> {
    const { journal, store } = made;
    const written = store.groups.length;
    const release = store.hold();
    const twice = Promise.all([0, 1].map((nth) => journal.submit(count(`n${nth}`)).then(() => submitAll(made, 1))));
    await vi.waitUntil(() => store.groups.length > written);
    const meanwhile = submitAll(made, others);
    await aWhile();
    release();
    await Promise.all([twice, meanwhile]);
    await aWhile();
  }

  /** Long enough that the next caller counts as slow to submit again. */
  async function aWhile(): Promise<void> {
    for (let turns = 0; turns < 5; turns += 1) await new Promise(setImmediate);
  }
});
