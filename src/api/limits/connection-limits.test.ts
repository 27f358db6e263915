import { expect, test } from 'vitest';
import { connectionLimits, descriptorLimit, descriptorsIn } from './connection-limits.ts';

test('connection-limits-stay-below-the-descriptors, with some kept', () => {
  for (const descriptors of [256, 1024, 4096, 65_536, 1_048_576]) {
    const limits = connectionLimits(descriptors);
    expect(limits.connections + limits.connectionsReservedForAdmins).toBeLessThanOrEqual(descriptors - 128);
    expect(limits.connectionsPerToken).toBeLessThan(limits.connections);
    expect(limits.anonymousPerAddress).toBeLessThan(limits.connections);
  }
  expect(connectionLimits(1024)).toEqual({
    connections: 880,
    connectionsReservedForAdmins: 16,
    connectionsPerToken: 220,
    anonymousPerAddress: 220,
  });
});

test('descriptors-are-read-from-the-soft-limit', () => {
  const line = 'Max open files            20000                524288               files     \n';
  expect(descriptorsIn(`Limit Soft Hard Units\nMax processes 1 2 processes\n${line}`)).toBe(20_000);
  expect(descriptorsIn('Max open files unlimited unlimited files\n')).toBeGreaterThan(100_000);
  expect(descriptorsIn('')).toBe(1024);
  expect(descriptorLimit()).toBeGreaterThan(0);
});
