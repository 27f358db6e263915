// Steps that are planned on the durable fleet and recorded later: a delete that comes in between is never undone by them.
import { describe, expect, test } from 'vitest';
import { idOf } from '../fleet/index.ts';
import { ITEM, OPERATION, recordStep, type RecordStep, type StoredItem } from '../operations/index.ts';
import { deleteInstances } from './delete.ts';
import { World } from './instances-fixture.ts';
import { moveInstances } from './move.ts';
import { fixtureF, KINDS } from './reference-fixture.ts';
import { shelveInstance } from './shelve.ts';

const HOUR_MS = 3_600_000;

function itemOf(world: World, operation: string): StoredItem {
  const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.web`));
  if (item === undefined) throw new Error(`no item of ${operation}`);
  return item;
}

/** The step that is to be recorded now, whatever happens meanwhile. */
function plannedStep(world: World, operation: string): RecordStep {
  const stored = world.fleet.get(OPERATION, idOf(OPERATION, operation));
  const kind = KINDS.get(stored?.doc.kind ?? '');
  const [next] = kind?.plan(world.fleet, stored as never, [itemOf(world, operation)], world.nowMs) ?? [];
  if (next?.kind !== 'record') throw new Error(`planned: ${JSON.stringify(next)}`);
  return next;
}

async function isLate(world: World, step: RecordStep): Promise<void> {
  const asking = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...asking }));
  expect(await world.commit((fleet) => recordStep(fleet, step, world.nowMs))).toBe('stale');
  await world.settle();
  expect(world.instance('web')).toBeUndefined();
  expect(world.violations).toEqual([]);
}

async function withActive(backEnd: Parameters<typeof fixtureF>[0]): Promise<World> {
  const world = await World.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  return world;
}

describe('a delete is faster than', () => {
  test('the end of a try to build', async () => {
    const world = await World.of();
    const operation = await world.create();
    await world.forceDown('h2');
    await isLate(world, plannedStep(world, operation));
  });

  test('the deadline of a build', async () => {
    const world = await World.of();
    const operation = await world.create();
    const step = { ...KINDS.get('instance-build')?.overdue?.(world.fleet, itemOf(world, operation), world.nowMs) };
    const failed = { state: 'failed', step: 'build', reason: { code: 'deadline-passed' } } as const;
    const { id, revision } = itemOf(world, operation);
    await isLate(world, { kind: 'record', item: id, expected: revision, progress: failed, ...step } as RecordStep);
  });

  test('the back end that bound a port at the target of a move', async () => {
    const world = await withActive('simulated');
    const operation = world.operation();
    const asking = { operation, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => moveInstances(fleet, { ids: ['web'], kind: 'live', ...asking }));
    await world.until(operation, 'web', 'bind');
    const ports = [
      { port: 'web-p0', outcome: 'ok', type: 'simulated', addresses: [{ ip: '10.0.0.2', subnet: 'sub0' }] },
    ];
    const outcome = { kind: 'applied', facts: { ports } } as const;
    const step = KINDS.get('instance-move')?.observe?.(world.fleet, itemOf(world, operation), outcome, world.nowMs);
    await isLate(world, step as RecordStep);
  });

  test('the back end that unbound a port of an instance for the shelf', async () => {
    const world = await withActive('simulated');
    const operation = world.operation();
    const asking = { operation, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS, credentials: true };
    await world.commit((fleet) => shelveInstance(fleet, { id: 'web', ...asking }));
    await world.until(operation, 'web', 'unbind');
    const outcome = { kind: 'applied', facts: { ports: [{ port: 'web-p0', outcome: 'ok' }] } } as const;
    const step = KINDS.get('instance-shelve')?.observe?.(world.fleet, itemOf(world, operation), outcome, world.nowMs);
    await isLate(world, step as RecordStep);
  });
});
