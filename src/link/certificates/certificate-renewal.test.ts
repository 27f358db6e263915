import { expect, test } from 'vitest';
import { renewalAtMs, type RenewalState } from './certificate-renewal.ts';

const DAY_MS = 24 * 3600 * 1000;
const NOW_MS = 100 * DAY_MS;
const held = { fromMs: 0, toMs: 30 * DAY_MS, serial: 1, receivedAtMs: NOW_MS - DAY_MS };
const state: RenewalState = { current: held, rotation: undefined, isRefused: false, jitter: 0 };

test.each<[string, Partial<RenewalState>, number]>([
  ['none-is-asked-for-at-once', { current: undefined }, 0],
  ['after-two-thirds-of-its-life', {}, 19 * DAY_MS],
  ['never-later-than-that-and-up-to-a-tenth-earlier', { jitter: 1 }, 16 * DAY_MS],
  ['at-once-when-a-server-refuses-it', { isRefused: true }, 0],
  ['at-once-when-the-clock-went-back', { current: { ...held, receivedAtMs: NOW_MS + 1 } }, 0],
  // The server's clock is a year ahead: what counts is how long it is valid.
  ['by-its-own-clock', { current: { ...held, fromMs: 365 * DAY_MS, toMs: 395 * DAY_MS } }, 19 * DAY_MS],
  ['spread-after-a-rotation', { rotation: { serial: 2, learntAtMs: NOW_MS }, jitter: 0.5 }, 30_000],
  ['not-for-keys-that-it-has', { rotation: { serial: 1, learntAtMs: NOW_MS } }, 19 * DAY_MS],
])('%s', (_name, change, inMs) => {
  expect(Math.round(renewalAtMs({ ...state, ...change }, NOW_MS) - NOW_MS)).toBe(inMs);
});
