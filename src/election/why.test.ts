// Why a service is where it is, in sentences that are true of the case: how its host was lost, and what speaks against the chosen one.
import { describe, expect, test } from 'vitest';
import type { Service, Why } from './model.ts';
import { whySentences } from './why.ts';

describe('each-sentence-is-true-of-its-case', () => {
  const whyOf = (why: Partial<Why>): string[] =>
    whySentences({
      designated: { host: 'b', sinceMs: 0 },
      why: {
        cause: 'host-lost',
        chosen: 'b',
        candidates: [],
        candidatesInAll: 0,
        rejected: [],
        rejectedInAll: 0,
        atMs: 0,
        ...why,
      },
    } as unknown as Service);

  test.each<[string, Partial<Why>, string]>([
    ['it-was-silent', { lost: 'silent' }, 'Its host was out of contact: b was chosen.'],
    ['its-bfd-was-down', { lost: 'bfd-down' }, 'Most of the peers of its host saw its BFD down: b was chosen.'],
    ['it-was-forced-down', { lost: 'forced-down' }, 'Its host was forced down: b was chosen.'],
    ['it-was-quarantined', { lost: 'quarantined' }, 'Its host was put in quarantine: b was chosen.'],
    ['it-was-removed', { lost: 'removed' }, 'Its host was removed: b was chosen.'],
    ['nobody-wrote-down-how', {}, 'Its host was out of contact, forced down or removed: b was chosen.'],
    [
      'only-its-switch-was-lost',
      { cause: 'data-path-lost' },
      'The switch of its host was out of control and forwarded nothing: b was chosen.',
    ],
  ])('how-the-host-of-a-service-was-lost: %s', (_name, why, sentence) => {
    expect(whyOf(why)).toEqual([sentence]);
  });

  test('a-chosen-host-that-is-leaving-is-named-once, with why it was chosen all the same', () => {
    const rejected = [
      { host: 'b', because: 'tombstoned' },
      { host: 'c', because: 'not-connected' },
    ] as const;
    expect(whyOf({ cause: 'first-election', rejected: [...rejected], rejectedInAll: 2 })).toEqual([
      'It was not served yet: b was chosen, although it is leaving: no other host could take it.',
      'Not eligible: c is not connected.',
    ]);
    expect(whyOf({ lost: 'bfd-down', rejected: [rejected[0]], rejectedInAll: 1, kept: true })).toEqual([
      'Most of the peers of its host saw its BFD down: b was chosen, although it is leaving, because it still had the connections.',
    ]);
  });
});
