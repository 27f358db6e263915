// What a host waits for that was moved off it: connected where it went, or what became of it since.
import { expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { PORT } from '../../network/index.ts';
import type { OperationId } from '../../operations/index.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { startActive } from '../move/moves-fixture.ts';
import { INSTANCE_EVACUATOR } from '../reference-fixture.ts';

const MOVE = { operation: 'op-9' as OperationId, kind: 'cold' as const, tries: [], movedOff: ['h4'] };

/** It left h4 for h2, and the back end has not bound its port there. */
async function startUnconnected(facts: Partial<Instance>): Promise<InstancesWorld> {
  const world = await startActive();
  const { binding: _, ...port } = world.port('web-p0')!;
  const instance = { ...world.instance('web')!, ...facts };
  await world.put(put(INSTANCE, idOf(INSTANCE, 'web'), instance), put(PORT, idOf(PORT, 'web-p0'), port));
  return world;
}

const reasons = (world: InstancesWorld): unknown[] => [
  ...(INSTANCE_EVACUATOR.findUnsettled?.(world.fleet, 'h4') ?? []),
];

test('an-instance-that-is-not-connected-where-it-went', async () => {
  const world = await startUnconnected({ move: { ...MOVE, from: 'h4' } });
  expect(reasons(world)).toMatchObject([{ code: 'moved-and-degraded', instance: 'web', host: 'h2', from: 'h4' }]);
});

test('one-whose-later-move-failed-in-the-middle: that move is named', async () => {
  const world = await startUnconnected({ state: 'moving', move: { ...MOVE, from: 'h2' } });
  expect(reasons(world)).toEqual([{ code: 'left-unfinished', instance: 'web', state: 'moving', operation: 'op-9' }]);
});
