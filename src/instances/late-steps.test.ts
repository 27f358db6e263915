// A delete between the plan or answer of a step and its commit is never undone by that step.
import { describe, expect, test } from 'vitest';
import { idOf, type FleetReader } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import {
  ITEM,
  OPERATION,
  record,
  recordStep,
  type ActionOutcome,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { deleteInstances } from './delete/request.ts';
import { InstancesWorld } from './instances-fixture.ts';
import { moveInstances } from './move/move.ts';
import { fixtureF, KINDS } from './reference-fixture.ts';
import { shelveInstance } from './shelve-rebuild/shelve.ts';

const HOUR_MS = 3_600_000;

function itemOf(fleet: FleetReader, operation: string): StoredItem {
  const item = fleet.get(ITEM, idOf(ITEM, `${operation}.web`));
  if (item === undefined) throw new Error(`no item of ${operation}`);
  return item;
}

function kindOf(fleet: FleetReader, operation: string): OperationKind {
  const kind = KINDS.get(fleet.get(OPERATION, idOf(OPERATION, operation))?.doc.kind ?? '');
  if (kind === undefined) throw new Error(`no kind of ${operation}`);
  return kind;
}

type Late = (fleet: FleetReader) => readonly RecordStep[];

/** The plan of this moment, to be recorded later. */
function planLate({ fleet, nowMs }: InstancesWorld, operation: string): Late {
  const nexts = kindOf(fleet, operation).plan(fleet, [itemOf(fleet, operation)], nowMs);
  expect(nexts).toHaveLength(1);
  return (at) => nexts.flatMap((next) => (next.kind === 'decide' ? next.decide(at, nowMs) : (next as RecordStep)));
}

/** An answer of this moment that the commit reads. */
function observeLate({ nowMs }: InstancesWorld, operation: string, ports: readonly object[]): Late {
  const outcome: ActionOutcome = { kind: 'applied', facts: { ports } };
  return (at) => [kindOf(at, operation).observe?.(itemOf(at, operation), outcome, { fleet: at, nowMs }) as RecordStep];
}

async function commitAfterDelete(world: InstancesWorld, late: Late): Promise<void> {
  const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
  await world.commit((fleet): Decision<unknown> => {
    const [step] = late(fleet);
    return step === undefined ? accept([], null) : recordStep(fleet, step, world.nowMs);
  });
  expect(world.instance('web')?.state).toBe('deleting');
  await world.settle();
  expect(world.instance('web')).toBeUndefined();
  expect(world.port('web-p0')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.violations).toEqual([]);
}

async function startActive(backEnd: Parameters<typeof fixtureF>[0]): Promise<InstancesWorld> {
  const world = await InstancesWorld.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  return world;
}

describe('a delete is faster than', () => {
  test('the end of a try to build', async () => {
    const world = await InstancesWorld.of();
    const operation = await world.create();
    await world.forceDown('h2');
    await commitAfterDelete(world, planLate(world, operation));
  });

  test('the deadline of a build', async () => {
    const world = await InstancesWorld.of();
    const operation = await world.create();
    const item = itemOf(world.fleet, operation);
    const made = kindOf(world.fleet, operation).onDeadline?.(world.fleet, item, world.nowMs);
    const failed = { state: 'failed', step: 'build', reason: { code: 'deadline-passed' } } as const;
    await commitAfterDelete(world, () => [record(item, failed, made)]);
  });

  test.each(['schedule', 'switch'])('the step "%s" of a move', async (step) => {
    const world = await startActive('embedded');
    const operation = world.operation();
    const command = { operation, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => moveInstances(fleet, { ids: ['web'], kind: 'live', ...command }));
    await world.runUntilStep(operation, 'web', step);
    await commitAfterDelete(world, planLate(world, operation));
  });

  test('the back end that bound a port at the target of a move', async () => {
    const world = await startActive('simulated');
    const operation = world.operation();
    const command = { operation, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => moveInstances(fleet, { ids: ['web'], kind: 'live', ...command }));
    await world.runUntilStep(operation, 'web', 'bind');
    const addresses = [{ ip: '10.0.0.2', subnet: 'sub0' }];
    await commitAfterDelete(world, observeLate(world, operation, [{ port: 'web-p0', outcome: 'ok', addresses }]));
  });

  test('the back end that unbound a port of an instance for the shelf', async () => {
    const world = await startActive('simulated');
    const operation = world.operation();
    const command = { operation, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS, hasCredentials: true };
    await world.commit((fleet) => shelveInstance(fleet, { id: 'web', ...command }));
    await world.runUntilStep(operation, 'web', 'unbind');
    await commitAfterDelete(world, observeLate(world, operation, [{ port: 'web-p0', outcome: 'ok' }]));
  });

  describe('the release of a build that passed its deadline:', () => {
    async function startRelease(
      backEnd: Parameters<typeof fixtureF>[0],
    ): Promise<{ world: InstancesWorld; release: string }> {
      const world = await InstancesWorld.of(fixtureF(backEnd));
      const operation = await world.create({ deadlineMs: HOUR_MS });
      await world.runUntilStep(operation, 'web', 'build');
      world.clock.now += HOUR_MS + 1;
      const release = `release-${operation}.web:late`;
      await world.runUntilStep(release, 'web', 'release');
      expect(world.instance('web')?.state).toBe('error');
      return { world, release };
    }

    test('its last step', async () => {
      const { world, release } = await startRelease('embedded');
      await commitAfterDelete(world, planLate(world, release));
    });

    test('the back end that released its ports', async () => {
      const { world, release } = await startRelease('simulated');
      await commitAfterDelete(world, observeLate(world, release, [{ port: 'web-p0', outcome: 'ok' }]));
    });
  });
});
