// Managers on a whole control plane in a test: programs that are started and may act, names of nodes, and how long something takes by its clock.
import { OPERATION, type OperationId } from '../../operations/index.ts';
import type { ManagedPlane } from './managed-plane-fixture.ts';
import { startManager, type TestManager } from './test-manager-fixture.ts';

export async function managersOf(plane: ManagedPlane, ...names: string[]): Promise<TestManager[]> {
  const managers = names.map((name) => startManager(plane, name));
  await plane.clock.until('all may act', () => managers.every(({ program }) => program.mayAct));
  return managers;
}

export const idsOf = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, nth) => `${prefix}${String(nth).padStart(4, '0')}`);

export const stateOf = (plane: ManagedPlane, operation: string): string | undefined =>
  plane.fleet.get(OPERATION, operation as OperationId)?.doc.state;

/** How long until something is so. */
export async function measure(plane: ManagedPlane, what: string, isTrue: () => boolean): Promise<number> {
  const beganMs = plane.clock.nowMs();
  await plane.clock.until(what, isTrue);
  return plane.clock.nowMs() - beganMs;
}
