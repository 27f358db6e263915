import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { digestDocument } from './chain.ts';
import { tailFloor, LoadCheck, tailStart, type LoadedHead, type ResourceRow } from './load-check.ts';

const MIB = 1024 * 1024;
const sizes = (...bytes: readonly number[]) => bytes.map((size, at) => ({ revision: 100 - at, bytes: size }));

test('a-start-looks-at-a-thousand-commits-and-never-below-the-floor', () => {
  expect(tailFloor({ revision: 5000, floorRevision: 0 })).toBe(4000);
  expect(tailFloor({ revision: 5000, floorRevision: 4900 })).toBe(4900);
});

test.each<[string, readonly { revision: number; bytes: number }[], number]>([
  ['all-of-small-commits', sizes(100, 100, 100), 97],
  ['none-after-the-floor', [], 97],
  ['large-ones-as-far-as-they-fit', sizes(MIB, 2 * MIB, 3 * MIB), 98],
  ['the-last-one-however-large', sizes(9 * MIB, 1), 99],
])('%s', (_name, damage, start) => {
  expect(tailStart(97, damage)).toBe(start);
});

describe('documents and a head that was compacted to', () => {
  const sha256 = (text: string): string => hash('sha256', text, 'hex');
  const row = (id: string, revision: number, body = '{}'): ResourceRow => {
    const document = { kind: 'host', id, revision, body };
    return { ...document, digest: digestDocument(sha256, document) };
  };
  const HEAD: LoadedHead = {
    revision: 9,
    commitId: 'c9',
    hash: 'h9',
    floorRevision: 9,
    floorCommitId: 'c9',
    floorHash: 'h9',
    chainedFrom: 1,
    totals: { count: 2, revisionSum: 11 },
  };
  const check = (rows: readonly ResourceRow[], head: Partial<LoadedHead> = {}): readonly string[] => {
    const checking = new LoadCheck(sha256);
    for (const one of rows) checking.take(one);
    const log = { after: { revision: 9, hash: 'h9' }, rows: [], gaps: [] };
    return checking.finish({ ...HEAD, ...head }, log).map(({ kind }) => kind);
  };
  const WHOLE = [row('a', 4), row('b', 7)];

  test('that-fit-have-no-damage', () => expect(check(WHOLE)).toEqual([]));

  test.each<[string, readonly ResourceRow[], string]>([
    ['one-that-is-missing', [row('a', 11)], 'documents'],
    ['one-that-was-added', [...WHOLE, row('c', 0)], 'documents'],
    ['one-that-is-older-with-the-digest-of-then', [row('a', 3), row('b', 7)], 'documents'],
    ['one-that-was-changed', [row('a', 4), { ...row('b', 7), body: '[]' }], 'document'],
  ])('%s', (_name, rows, damage) => {
    expect(check(rows)).toEqual([damage]);
  });

  test.each<[string, Partial<LoadedHead>]>([
    ['of-another-commit', { commitId: 'c8' }],
    ['of-another-hash', { hash: 'h8' }],
  ])('a head %s', (_name, head) => {
    expect(check(WHOLE, head)).toEqual(['head']);
  });
});
