import { describe, expect, test } from 'vitest';
import { renderBar, countsText, PlainProgress, progressLines } from './progress.ts';
import { painter } from '../output/paint.ts';
import type { Item, Operation } from '../client/representations.ts';

const plain = painter(false);
const NONE = { pending: 0, running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };

const operation = (more: Partial<Operation> = {}): Operation => ({
  id: 'op-1',
  revision: 1,
  kind: 'host-join',
  title: 'join 3 hosts',
  state: 'running',
  by: 'admin',
  createdAtMs: 0,
  deadlineMs: 3_600_000,
  deadlineAtMs: 3_600_000,
  counts: { ...NONE, done: 1, waiting: 1, running: 1 },
  ...more,
});

const item = (host: string, more: Partial<Item> = {}): Item => ({
  id: `op-1.${host}`,
  revision: 1,
  operation: 'op-1',
  target: { kind: 'host', id: host },
  step: 'await-agent',
  state: 'waiting',
  attempt: 1,
  sinceMs: 0,
  reason: { code: 'agent-not-joined' },
  sentence: `Host ${host} has no agent yet.`,
  ...more,
});

describe('progress', () => {
  test('the-picture-shows-a-bar, what is done, and why the rest waits', () => {
    const watched = {
      operation: operation(),
      stuckItems: [item('c3'), item('c4', { state: 'failed', retryAtMs: 42_000 })],
    };
    const lines = progressLines(watched, { paint: plain, nowMs: 12_000, columns: 100 });
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "████████░░░░░░░░░░░░░░░░ join 3 hosts: 1/3 done, 1 running, 1 waiting, 12s running
        c3 waiting: Host c3 has no agent yet.
        c4 failed: Host c4 has no agent yet. Next try in 30s."
    `);
  });

  test('no-line-is-wider-than-the-terminal, and reasons beyond five are counted', () => {
    const stuckItems = Array.from({ length: 9 }, (_, at) => item(`a-host-with-quite-a-long-name-${at}`));
    const lines = progressLines({ operation: operation(), stuckItems }, { paint: plain, nowMs: 1, columns: 60 });
    expect(lines).toHaveLength(7);
    expect(lines.at(-1)).toBe('  and 4 more');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  test.each([
    [NONE, '░░░░'],
    [{ ...NONE, done: 4 }, '████'],
    [{ ...NONE, done: 1, pending: 3 }, '█░░░'],
    [{ ...NONE, done: 1, failed: 1, pending: 2 }, '██░░'],
  ])('the bar of %j', (counts, text) => expect(renderBar(counts, plain, 4)).toBe(text));

  test('counts-name-only-what-there-is', () => {
    expect(countsText({ ...NONE, done: 2, pending: 1 })).toBe('2/3 done');
    expect(countsText({ ...NONE, failed: 2, cancelled: 1 })).toBe('0/3 done, 2 failed, 1 cancelled');
  });

  test('plain-lines-are-printed-once, and again when they change', () => {
    const progress = new PlainProgress();
    const first = { operation: operation(), stuckItems: [item('c3')] };
    expect(progress.lines(first)).toEqual([
      'op-1 running: 1/3 done, 1 running, 1 waiting',
      '  c3 waiting: Host c3 has no agent yet.',
    ]);
    expect(progress.lines(first)).toEqual([]);
    const other = {
      operation: operation(),
      stuckItems: [item('c3', { sentence: 'The agent of host c3 is not connected.' })],
    };
    expect(progress.lines(other)).toEqual(['  c3 waiting: The agent of host c3 is not connected.']);
    const ended = { operation: operation({ state: 'succeeded', counts: { ...NONE, done: 3 } }), stuckItems: [] };
    expect(progress.lines(ended)).toEqual(['op-1 succeeded: 3/3 done']);
  });
});
