// Agents and servers one version apart: each gets BFD by the name that it knows, and both names are read.
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { BFD_DOWN_PEERS_FEATURE, HEARTBEAT } from './messages.ts';
import { reportFromWire, reportToWire } from './report-words.ts';

const REST = { facts: {}, strays: [], problems: [] };
const PRESENT = { ...REST, bfdDownPeers: ['c3'] };
const FORMER = { ...REST, unheardPeers: ['c3'] };

test('a-server-of-0.1.0-gets-the-name-that-it-knows', () => {
  for (const features of [[], ['conditions', 'process']]) expect(reportToWire(PRESENT, features)).toEqual(FORMER);
  expect(reportToWire(PRESENT, ['conditions', BFD_DOWN_PEERS_FEATURE])).toEqual(PRESENT);
});

test('a-report-of-either-version-is-valid-and-read', () => {
  for (const report of [PRESENT, FORMER]) {
    expect(Value.Check(HEARTBEAT, { serviceVersion: 6, report })).toBe(true);
    expect(reportFromWire(report)).toEqual(PRESENT);
  }
});

test('a-report-without-bfd-is-the-same-on-both-sides', () => {
  expect(reportToWire(REST, [])).toBe(REST);
  expect(reportFromWire(REST)).toBe(REST);
});
