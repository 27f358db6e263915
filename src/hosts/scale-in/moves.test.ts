import { expect, test } from 'vitest';
import type { Item } from '../../operations/index.ts';
import { hostDrainedBy } from './moves.ts';

const MOVE = { target: { kind: 'instance', id: 'a' }, step: 'schedule', state: 'pending' as const, attempt: 1 };

test.each<[name: string, item: Pick<Item, 'operation' | 'drainedHost'>, host: string | undefined]>([
  ['a-move-of-a-drain-says-its-host', { operation: 'drain-7.instance-moves', drainedHost: 'c1' }, 'c1'],
  ['one-that-an-earlier-version-began-has-it-in-the-id', { operation: 'drain-7.c1.r2.instance-moves' }, 'c1.r2'],
  ['a-move-of-a-user-is-no-drains', { operation: 'op-7' }, undefined],
  ['a-number-in-an-id-is-no-host', { operation: 'drain-7.instance-moves' }, undefined],
])('%s', (_name, item, host) => {
  expect(hostDrainedBy({ ...MOVE, ...item, sinceMs: 1 })).toBe(host);
});
