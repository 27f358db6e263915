import { describe, expect, test } from 'vitest';
import { commitLines } from './commit-text.ts';
import { painter } from './paint.ts';
import type { Commit } from '../client/representations.ts';

const plain = painter(false);
const commit = (changes: Commit['changes'], more: Partial<Commit> = {}): Commit => ({
  revision: 7,
  atMs: 0,
  by: 'admin',
  changes,
  ...more,
});
const text = (one: Commit): string => commitLines(one, plain, '3m ago').join('\n');

describe('commits as text', () => {
  test('who, when, why, and what became of what', () => {
    const changes = [
      { kind: 'host', id: 'c1', doc: { state: 'active', connection: { state: 'up', sinceMs: 1 } } },
      { kind: 'item', id: 'op-1.c1', doc: { state: 'done', step: 'activate' } },
      { kind: 'site', id: 'north', doc: { name: 'north' } },
      { kind: 'alarm', id: 'a', doc: null },
    ];
    expect(text(commit(changes, { why: 'join hosts', operation: 'op-1' }))).toMatchInlineSnapshot(`
      "7  3m ago  admin: join hosts, in op-1
        host/c1 active up
        item/op-1.c1 done activate
        site/north
        alarm/a deleted"
    `);
  });

  test('fields that changed are shown with what they were', () => {
    const fields = [
      { field: '/zone', from: 'a', to: 'b' },
      { field: '/disabled', to: { reason: 'fan', by: 'x', atMs: 1 } },
      { field: '/forcedDown', from: { reason: 'off' } },
      { field: '/connection', from: { state: 'up', sinceMs: 1 }, to: { state: 'down', sinceMs: 2 } },
      { field: '/capacity', from: { vcpus: 8, diskGiB: 1 }, to: { vcpus: 16, diskGiB: 1 } },
      { field: '/changedAtMs', from: 1, to: 2 },
    ];
    expect(text(commit([{ kind: 'host', id: 'c1', doc: {}, fields }]))).toMatchInlineSnapshot(`
      "7  3m ago  admin
        host/c1 zone a → b, disabled {"reason":"fan","by":"x","atMs":1}, forcedDown removed, connection up → down, capacity.vcpus 8 → 16"
    `);
  });

  test('a large commit is counted, not scrolled', () => {
    const changes = Array.from({ length: 30 }, (_, at) => ({ kind: 'host', id: `h${at}`, doc: { state: 'joining' } }));
    const lines = commitLines(commit(changes), plain, 'now');
    expect(lines).toHaveLength(10);
    expect(lines.at(-1)).toBe('  and 22 more');
  });
});
