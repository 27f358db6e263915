// What each role may reach.
import { expect, test } from 'vitest';
import { permits, canSeeSite, type Access, type Caller } from './role.ts';

const ACCESSES: readonly Access[] = ['public', 'viewer', 'operator', 'admin', 'agent', 'join', 'manager'];

test.each([
  ['nobody', 'public'],
  ['viewer', 'public viewer'],
  ['operator', 'public viewer operator'],
  ['admin', 'public viewer operator admin'],
  ['agent', 'public agent'],
  ['join', 'public join'],
  ['manager', 'public manager'],
] as const)('%s reaches %s', (role, reached) => {
  const caller: Caller = { name: 'x', role };
  expect(ACCESSES.filter((access) => permits(caller, access)).join(' ')).toBe(reached);
});

test('a-site-bound-caller-sees-its-site-and-nothing-that-has-none', () => {
  const bound: Caller = { name: 'x', role: 'admin', site: 's1' };
  expect(['s1', 's2', undefined].map((site) => canSeeSite(bound, site))).toEqual([true, false, false]);
  const free: Caller = { name: 'x', role: 'viewer' };
  expect(['s1', undefined].map((site) => canSeeSite(free, site))).toEqual([true, true]);
});
