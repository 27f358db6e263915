import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chainCommits, digestDocument, hashOf } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import { describeDamage } from './damage.ts';
import { sha256 } from './sha256-store.ts';
import type { StoredCommit } from './store.ts';

const COMMIT: StoredCommit = {
  revision: 7,
  id: 'c-7',
  atMs: 1000,
  by: 'admin',
  why: 'a reason',
  operation: 'op-1',
  changes: [
    { kind: 'host', id: 'a', body: '{"x":1}' },
    { kind: 'host', id: 'b', body: null },
  ],
};

const text = fc.string({ unit: 'grapheme', maxLength: 5 });
const commits: fc.Arbitrary<StoredCommit> = fc.record(
  {
    revision: fc.nat({ max: 3 }),
    id: text,
    atMs: fc.nat({ max: 3 }),
    by: text,
    why: text,
    operation: text,
    changes: fc.array(fc.record({ kind: text, id: text, body: fc.option(text) }), { maxLength: 3 }),
  },
  { requiredKeys: ['revision', 'id', 'atMs', 'by', 'changes'] },
);

const sorted = (commit: StoredCommit): string =>
  JSON.stringify(Object.entries(commit).sort(([one], [other]) => (one < other ? -1 : 1)));

describe('the hash of a commit', () => {
  const { why: _, ...without } = COMMIT;
  test.each<[string, StoredCommit]>([
    ['revision', { ...COMMIT, revision: 8 }],
    ['id', { ...COMMIT, id: 'c-8' }],
    ['time', { ...COMMIT, atMs: 1001 }],
    ['caller', { ...COMMIT, by: 'admi' }],
    ['absent reason', without],
    ['empty reason', { ...COMMIT, why: '' }],
    ['operation', { ...COMMIT, operation: 'op-2' }],
    ['a change less', { ...COMMIT, changes: COMMIT.changes.slice(1) }],
    ['order', { ...COMMIT, changes: COMMIT.changes.toReversed() }],
    ['deletion', { ...COMMIT, changes: COMMIT.changes.map((one) => ({ ...one, body: null })) }],
    ['body', { ...COMMIT, changes: COMMIT.changes.map((one) => ({ ...one, body: one.body && '{"x":2}' })) }],
  ])('covers the %s', (_name, changed) => {
    expect(hashOf(sha256, null, changed)).not.toBe(hashOf(sha256, null, COMMIT));
  });

  test('covers the hash before it', () => {
    expect(hashOf(sha256, 'a', COMMIT)).not.toBe(hashOf(sha256, null, COMMIT));
  });

  test('never the same for two commits', () => {
    fc.assert(
      fc.property(commits, commits, (one, other) => {
        const same = sorted(one) === sorted(other);
        expect(hashOf(sha256, null, one) === hashOf(sha256, null, other)).toBe(same);
      }),
    );
  });
});

test('the digest of a document is that of its change in the chain', () => {
  const [chained] = chainCommits(sha256, { revision: 6, hash: null }, [COMMIT]);
  expect(chained?.hash).toBe(hashOf(sha256, null, COMMIT));
  const document = { kind: 'host', id: 'a', body: '{"x":1}', revision: 7 };
  expect(chained?.digests).toEqual([digestDocument(sha256, document), null]);
});

describe('walking a chain', () => {
  const {
    changes: [first],
  } = COMMIT;
  const notes = ['c-1', 'c-2', 'c-3', 'c-4'].map((id) => ({
    id,
    atMs: 1,
    by: 'test',
    changes: first === undefined ? [] : [first],
  }));
  const chained = chainCommits(sha256, { revision: 2, hash: null }, notes.slice(2));
  const log: StoredCommit[] = notes.map((note, at) => ({
    ...note,
    revision: at + 1,
    ...(at >= 2 && { hash: chained[at - 2]?.hash ?? '' }),
  }));
  const walked = (found: readonly StoredCommit[], chainedFrom: number | null = 3): string[] => {
    const walk = new ChainWalk(sha256, { after: { revision: 0, hash: null }, chainedFrom });
    return [...found.map((one) => walk.take(one)), walk.end(4)].flatMap((one) =>
      one === undefined ? [] : [describeDamage(one)],
    );
  };

  test.each<[string, readonly StoredCommit[], number | null, string[]]>([
    ['begins with the first commit that has a hash', log, 3, []],
    ['a cut at the end', log.slice(0, 3), 3, ['the commit of revision 4 is missing from the log']],
    ['a gap', [...log.slice(0, 1), ...log.slice(3)], 3, ['the commits of revisions 2 to 3 are missing from the log']],
    [
      'a hash that was taken away',
      log.map(({ hash: _, ...one }) => one),
      3,
      [
        'the commit of revision 3 does not match the hash chain',
        'the commit of revision 4 does not match the hash chain',
      ],
    ],
    [
      'a commit that was changed',
      log.map((one) => (one.revision === 4 ? { ...one, by: 'else' } : one)),
      3,
      ['the commit of revision 4 does not match the hash chain'],
    ],
    ['no chain at all', log.slice(0, 2), null, ['the commits of revisions 3 to 4 are missing from the log']],
  ])('%s', (_name, found, chainedFrom, expected) => {
    expect(walked(found, chainedFrom)).toEqual(expected);
  });
});
