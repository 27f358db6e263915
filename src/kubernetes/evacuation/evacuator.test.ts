// What drains of leaving hosts' workers begin.
import { idOf } from '../../fleet/index.ts';
import { beginEvacuation, hostOfDrain } from '../../hosts/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { WorkersWorld } from '../workers-fixture.ts';
import { expect, test } from 'vitest';
import { workerEvacuator } from './evacuator.ts';

test('the-drain-of-a-worker-is-no-move-of-its-host: it takes nothing from the budget of moves', async () => {
  const world = await WorkersWorld.of(['a']);
  const planned = [{ host: 'h1', tenant: { kind: 'worker', id: 'edge.a' }, evacuation: { kind: 'drain' as const } }];
  const how = { operation: idOf(OPERATION, 'drain-7'), by: 'test', nowMs: 0, deadlineMs: 1000 };
  const begun = beginEvacuation(world.fleet, workerEvacuator, planned, how);
  const changes = 'code' in begun ? [] : begun.changes;
  const operations = changes.filter(({ kind }) => kind === OPERATION.name).map(({ id }) => id);
  expect(operations).toEqual(['workers-drain-7.edge.a']);
  expect(operations.map(hostOfDrain)).toEqual([undefined]);
});
