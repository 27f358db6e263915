import { describe, expect, test } from 'vitest';
import { idOf, type Change, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { MANAGER, type Manager } from '../model.ts';
import { registerManager } from './decide.ts';
import { newFleet, putManager } from './managers-fixture.ts';
import { isPaused, pauseManager, resumeManager } from './pause.ts';

const BY = { manager: 'M1', by: 'ann', nowMs: 100 };
const EMBEDDED: Partial<Manager> = { embedded: true };
const PAUSED: Partial<Manager> = { embedded: true, paused: { by: 'ann', atMs: 50 } };

const managerOf = (fleet: Fleet): Manager | undefined => fleet.get(MANAGER, idOf(MANAGER, 'm1'))?.doc;
const resultOf = (decision: Decision<unknown>): string =>
  decision.kind === 'refuse' ? decision.refusal.code : `${decision.changes.length} changes`;

function apply(fleet: Fleet, decision: Decision<unknown>): void {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  fleet.apply(fleet.revision + 1, decision.changes);
  for (const { kind, doc } of decision.changes) expect(fleet.registry.kinds.get(kind)?.check(doc)).toBeUndefined();
}

describe('a pause', () => {
  test.each<[string, readonly Change[], string, string]>([
    ['unknown', [], 'manager-not-found', 'manager-not-found'],
    ['a-program-of-its-own', [putManager('m1')], 'manager-not-embedded', '0 changes'],
    ['embedded', [putManager('m1', EMBEDDED)], '1 changes', '0 changes'],
    ['paused', [putManager('m1', PAUSED)], '0 changes', '1 changes'],
    ['lost-and-paused', [putManager('m1', { ...PAUSED, state: 'lost' })], '0 changes', '1 changes'],
    ['stopped', [putManager('m1', { ...EMBEDDED, state: 'stopped' })], 'manager-stopped', '0 changes'],
  ])('of one that is %s', (_name, changes, pause, resume) => {
    expect(resultOf(pauseManager(newFleet(...changes), BY))).toBe(pause);
    expect(resultOf(resumeManager(newFleet(...changes), BY))).toBe(resume);
  });

  test('is of one process: it lasts through its next registration, and not for its successor', () => {
    const fleet = newFleet(putManager('m1', EMBEDDED));
    apply(fleet, pauseManager(fleet, BY));
    expect(managerOf(fleet)).toMatchObject({ state: 'live', paused: { by: 'ann', atMs: 100 } });
    expect([isPaused(fleet, 'm1', 'm1-1'), isPaused(fleet, 'm1', 'm1-2')]).toEqual([true, false]);
    const register = { manager: 'm1', version: '1.0.0', embedded: true as const, by: 'm1', nowMs: 200 };
    apply(fleet, registerManager(fleet, { ...register, holder: 'm1-1', leaseEpoch: 4 }));
    expect(isPaused(fleet, 'm1', 'm1-1')).toBe(true);
    apply(fleet, registerManager(fleet, { ...register, holder: 'm1-2', leaseEpoch: 5 }));
    expect(managerOf(fleet)).not.toHaveProperty('paused');
  });

  test('changes nothing else of it', () => {
    const fleet = newFleet(putManager('m1', EMBEDDED));
    const before = managerOf(fleet);
    apply(fleet, pauseManager(fleet, BY));
    apply(fleet, resumeManager(fleet, BY));
    expect(managerOf(fleet)).toEqual({ ...before, changedBy: 'ann', changedAtMs: 100 });
  });
});
