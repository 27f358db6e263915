// A small rack whose NAT is about to be handed over, for tests of handovers.
import { expect } from 'vitest';
import { cancelOperation, type OperationId } from '../../operations/index.ts';
import { fitHost, LEAVING, servedBy, type ElectionWorld } from '../election-fixture.ts';
import { handoverKind } from './operation.ts';

export const NAT = 'nat:r1';

/** Whom each step of it waits for when `a` leaves and nothing goes wrong. */
export const WHOLE_WAY = ['prepare x', 'sync a x', 'switch b x y', 'retire a', 'resync a x', 'redirect a', 'clear a'];
const KINDS = new Map([[handoverKind.name, handoverKind]]);

/** `nat:r1` is at a; b has the subnet's route; x and y are candidates for both. */
export async function served(): Promise<ElectionWorld> {
  const world = await servedBy('a', 'b', 'x', 'y');
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  world.views.log.length = 0;
  return world;
}

export async function startLeaving(): Promise<ElectionWorld> {
  const world = await served();
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a (a to x, preparing), subnet-route:s1 b');
  return world;
}

export const stateOf = (world: ElectionWorld): string =>
  world
    .items()
    .map(({ step, state, reason }) => `${step} ${state} ${reason?.code ?? ''}`.trim())
    .join('; ');

export function cancel(world: ElectionWorld): Promise<unknown> {
  const id = world.items().map(({ operation }) => operation as OperationId)[0] ?? world.operation();
  return world.commit((fleet) => cancelOperation(fleet, { id, kinds: KINDS, nowMs: world.nowMs }));
}
