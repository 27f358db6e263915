import { describe, expect, test } from 'vitest';
import type { Stamp, ViewRefusal } from './messages.ts';
import { findViewRefusal } from './stamp.ts';

const HAVE: Stamp = { journalId: 'j1', leaseEpoch: 5, revision: 100 };

describe('an agent', () => {
  test.each<[string, Partial<Stamp>, ViewRefusal | undefined]>([
    ['takes-the-same-again', {}, undefined],
    ['takes-a-later-revision', { revision: 101 }, undefined],
    ['takes-a-later-holder', { leaseEpoch: 6 }, undefined],
    ['refuses-an-earlier-revision', { revision: 99 }, 'older-revision'],
    ['refuses-an-earlier-revision-of-a-later-holder', { leaseEpoch: 6, revision: 99 }, 'older-revision'],
    ['refuses-an-earlier-holder', { leaseEpoch: 4 }, 'older-epoch'],
    ['refuses-an-earlier-holder-with-a-later-revision', { leaseEpoch: 4, revision: 200 }, 'older-epoch'],
    ['refuses-another-journal', { journalId: 'j2', leaseEpoch: 9, revision: 900 }, 'other-journal'],
  ])('%s', (_name, change, refusal) => {
    const view = { host: 'c1', stamp: { ...HAVE, ...change } };
    expect(findViewRefusal({ host: 'c1', stamp: HAVE }, view)).toBe(refusal);
  });

  test('takes-the-first-view-of-the-journal-that-continues-its-own-whatever-its-revision', () => {
    const restored = { host: 'c1', stamp: { journalId: 'j2', leaseEpoch: 1, revision: 3 } };
    expect(findViewRefusal({ host: 'c1', stamp: HAVE, journalId: 'j2' }, restored)).toBeUndefined();
    expect(findViewRefusal({ host: 'c1', stamp: HAVE, journalId: 'j1' }, restored)).toBe('other-journal');
    // What was said before the backup was restored is over.
    expect(findViewRefusal({ host: 'c1', stamp: restored.stamp, journalId: 'j2' }, { host: 'c1', stamp: HAVE })).toBe(
      'other-journal',
    );
  });

  test('takes-any-first-view-of-its-own-host-and-none-of-another', () => {
    expect(findViewRefusal({ host: 'c1', stamp: undefined }, { host: 'c1', stamp: HAVE })).toBeUndefined();
    expect(findViewRefusal({ host: 'c1', stamp: undefined }, { host: 'c2', stamp: HAVE })).toBe('other-host');
  });
});
