// Every sentence that operators are shown, with the facts of each case that produces it. A code that is added needs a case in `sentence-cases-fixture.ts`; one
// that two modules have is said in the sentence of one of them, whichever case it is.
import { describe, expect, test } from 'vitest';
import { problemsOfSentence } from '../operations/reason-fixture.ts';
import { PROGRAM } from './modules.ts';
import { CASES, HOST, ON_C1, WEB, type ReasonFacts } from './sentence-cases-fixture.ts';

const CODES = PROGRAM.sentences.flatMap((module) => Object.keys(module));

test('every-code-has-its-cases', () => {
  expect(CODES.filter((code) => !Object.hasOwn(CASES, code))).toEqual([]);
  expect(Object.keys(CASES).filter((code) => !CODES.includes(code))).toEqual([]);
});

test.each(Object.entries(CASES).flatMap(([code, all]) => all.map((facts) => ({ code, ...facts }))))(
  'sentence-without-a-gap: %j',
  (reason) => {
    expect(problemsOfSentence(PROGRAM.sentences, reason)).toEqual([]);
  },
);

describe('each-sentence-is-true-of-its-case', () => {
  test.each<[string, ReasonFacts, string]>([
    ['host-works', HOST, 'The agent of host c1 has work that is not done yet.'],
    [
      'host-works',
      { ...HOST, kind: 'service', target: 'nat:edge', operation: 'op-1' },
      'The agent of host c1 has work of operation op-1 for service nat:edge that is not done yet. "muster operations show op-1" says what.',
    ],
    [
      'source-not-connected',
      ON_C1,
      'Host c1, which is to migrate instance web, is not connected. If it is off, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'migration-outcome-unknown',
      { ...ON_C1, from: 'c2' },
      'Host c2 was forced down while it migrated instance web. Host c1, which may have received it, is not connected; its task waits until it is. If it is off too, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'migration-outcome-unknown',
      { ...ON_C1, from: 'c2', removed: true },
      'Host c2 was removed while it migrated instance web. Host c1, which may have received it, is not connected; its task waits until it is. If it is off too, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'source-lost',
      { ...WEB, message: 'Host c1 was removed before it had migrated the instance.' },
      'Host c1 was removed before it had migrated the instance.',
    ],
  ])('%s %j', (code, facts, sentence) => {
    expect(PROGRAM.explain({ ...facts, code })).toBe(sentence);
  });
});

describe('each-case-in-its-own-words', () => {
  test.each<[string, ReasonFacts, string]>([
    ['quarantined', { ...HOST, because: 'identity' }, 'its switch has the identity of another host'],
    ['quarantined', { ...HOST, because: 'operator-fenced' }, 'what ran there was rebuilt elsewhere'],
    ['leave-unanswered', { ...HOST, forced: true }, 'It is removed by force'],
    ['leave-unanswered', HOST, '--force --reason'],
    [
      'host-degraded',
      CASES['host-degraded']?.[0] as ReasonFacts,
      'services that it has stay while its peers see its BFD up',
    ],
    ['host-degraded', CASES['host-degraded']?.[1] as ReasonFacts, 'services that it has move to other hosts'],
    ['host-degraded', CASES['host-degraded']?.[2] as ReasonFacts, 'muster dataplane diff'],
    ['hosts-behind', { hosts: ['c1', 'c2'], inAll: 5 }, 'c1, c2 and 3 more'],
    ['target-not-bound', { ...ON_C1, from: 'c2', fault: 'unavailable' }, 'the instance runs on host c2 as before'],
    [
      'addresses-exhausted',
      { message: 'the back end answered 409 X' },
      'There is no free address on the network: the back',
    ],
  ])('%s %j', (code, facts, words) => {
    expect(PROGRAM.explain({ ...facts, code })).toContain(words);
  });
});
