import { describe, expect, it, vi } from 'vitest';
import { commitsOn, count, NOTE, noteId, makeRig, write } from './journal-fixture.ts';
import { accept } from './request.ts';

describe('group commit', () => {
  it('concurrent callers share one write, and each gets its own answer', async () => {
    const { journal, store } = await makeRig();
    const outcomes = await Promise.all(['a', 'b', 'c'].map((id) => journal.submit(write(id))));
    expect(outcomes).toEqual([
      { kind: 'accepted', revision: 1, answer: 'wrote a' },
      { kind: 'accepted', revision: 2, answer: 'wrote b' },
      { kind: 'accepted', revision: 3, answer: 'wrote c' },
    ]);
    expect(store.groups).toHaveLength(1);
  });

  it('a later request of the group sees what an earlier one staged', async () => {
    const { journal } = await makeRig();
    const outcomes = await Promise.all([
      journal.submit(count('a')),
      journal.submit(count('a')),
      journal.submit(count('a')),
    ]);
    expect(outcomes.map((outcome) => outcome.kind === 'accepted' && outcome.answer)).toEqual([1, 2, 3]);
    expect(journal.fleet.get(NOTE, noteId('a'))).toEqual({ id: 'a', revision: 3, doc: { text: 3 } });
  });

  it('one refusal does not fail the others, and changes nothing', async () => {
    const { journal, disk } = await makeRig();
    const [first, second, third] = await Promise.all([
      journal.submit(write('a')),
      journal.submit(write('a')),
      journal.submit(write('b')),
    ]);
    expect(first.kind).toBe('accepted');
    expect(second).toMatchObject({ kind: 'refused', revision: 1, refusal: { code: 'taken' } });
    expect(third).toMatchObject({ kind: 'accepted', revision: 2 });
    expect(commitsOn(disk)).toEqual(['1 writer of a', '2 writer of b']);
  });

  it.each([
    ['decide-throws', () => expect.unreachable('a bug in the module')],
    ['document-not-allowed', () => accept([{ kind: 'note', id: 'x', doc: { txet: 1 } }], 'x')],
    ['kind-not-registered', () => accept([{ kind: 'memo', id: 'x', doc: {} }], 'x')],
    ['id-not-allowed', () => accept([{ kind: 'note', id: 'a/b', doc: null }], 'x')],
    ['document-without-text-form', () => accept([{ kind: 'note', id: 'x', doc: { text: 1n } }], 'x')],
    [
      'changed-twice-in-one-commit',
      () =>
        accept(
          [
            { kind: 'note', id: 'x', doc: null },
            { kind: 'note', id: 'x', doc: { text: 1 } },
          ],
          'x',
        ),
    ],
    [
      'changed-twice-among-many',
      () =>
        accept(
          Array.from({ length: 20 }, (_, nth) => ({ kind: 'note', id: `x${nth % 19}`, doc: null })),
          'x',
        ),
    ],
  ])('%s fails its own request only', async (_name, decide) => {
    const { journal, disk } = await makeRig();
    const [bad, good] = await Promise.allSettled([journal.submit({ by: 'buggy', decide }), journal.submit(write('a'))]);
    expect(bad.status).toBe('rejected');
    expect(good).toMatchObject({ status: 'fulfilled', value: { kind: 'accepted', revision: 1 } });
    expect(commitsOn(disk)).toEqual(['1 writer of a']);
  });

  it('a document of more than 64 KiB is refused', async () => {
    const { journal } = await makeRig();
    const [large, small] = await Promise.all([
      journal.submit(write('large', 'ä'.repeat(33_000))),
      journal.submit(write('small', 'a'.repeat(60_000))),
    ]);
    expect(large).toMatchObject({ kind: 'refused', refusal: { kind: 'limit', code: 'document-too-large' } });
    expect(small.kind).toBe('accepted');
  });

  it('a request that has nothing to do is answered without a write', async () => {
    const { journal, store } = await makeRig();
    const outcome = await journal.submit({ by: 'ana', decide: () => accept([], 'as it is') });
    expect(outcome).toEqual({ kind: 'accepted', revision: 0, answer: 'as it is' });
    expect(store.groups).toEqual([]);
  });

  it('the commit says who, when, why and for which operation', async () => {
    const { journal, disk, clock } = await makeRig();
    await journal.submit({ ...write('a'), why: 'because', operation: 'op-1' });
    expect(disk.state.commits).toMatchObject([
      { revision: 1, by: 'writer of a', why: 'because', operation: 'op-1', atMs: clock.now },
    ]);
  });
});

describe('a group that fails', () => {
  it('is decided again, in order', async () => {
    const { journal, store, disk } = await makeRig();
    store.fates.push('failed', 'failed');
    const decided: string[] = [];
    const traced = (id: string): ReturnType<typeof write> => ({
      ...write(id),
      decide: (fleet) => {
        decided.push(id);
        return write(id).decide(fleet);
      },
    });
    const outcomes = await Promise.all(['a', 'b', 'a'].map((id) => journal.submit(traced(id))));
    expect(outcomes.map(({ kind, revision }) => [kind, revision])).toEqual([
      ['accepted', 1],
      ['accepted', 2],
      ['refused', 2],
    ]);
    expect(decided.join('')).toBe('abaabaaba');
    expect(commitsOn(disk)).toEqual(['1 writer of a', '2 writer of b']);
  });

  it('comes before what was asked meanwhile', async () => {
    const { journal, store, disk } = await makeRig();
    store.fates.push('failed');
    const release = store.hold();
    const first = journal.submit(write('first'));
    await vi.waitUntil(() => store.groups.length === 1);
    const second = journal.submit(write('second'));
    release();
    await Promise.all([first, second]);
    expect(commitsOn(disk)).toEqual(['1 writer of first', '2 writer of second']);
  });

  it('never: shows anything of itself before it is durable', async () => {
    const { journal, store } = await makeRig();
    const shown: string[] = [];
    const stop = new AbortController();
    journal.onCommit(({ commit }) => shown.push(`commit ${commit.revision}`));
    const watching = (async () => {
      for await (const event of journal.watch({ revision: 0 }, stop.signal)) shown.push(`watch ${event.kind}`);
    })();
    const release = store.hold();
    const answered = journal.submit(write('a')).then(() => shown.push('answer'));
    await vi.waitUntil(() => store.groups.length === 1);
    await new Promise(setImmediate);
    expect(shown).toEqual([]);
    expect(journal.fleet.revision).toBe(0);
    expect(journal.fleet.count(NOTE)).toBe(0);
    release();
    await answered;
    await vi.waitUntil(() => shown.includes('watch commits'));
    expect(shown).toContain('commit 1');
    stop.abort();
    await watching;
  });
});
