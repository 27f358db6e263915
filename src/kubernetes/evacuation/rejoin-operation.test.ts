// What a worker whose machine was lost waits for.
import { idOf } from '../../fleet/index.ts';
import { ITEM, newOperation, OPERATION, type PlannedStep } from '../../operations/index.ts';
import { cluster, worker, WorkersWorld } from '../workers-fixture.ts';
import { expect, test } from 'vitest';
import { workerRejoin } from './rejoin-operation.ts';

const REJOIN = idOf(OPERATION, 'op-rejoin');
const LOST = { state: 'joining', readiness: 'missing', work: { operation: REJOIN } } as const;

async function planAt(step: string, facts: Parameters<typeof worker>[1]): Promise<readonly PlannedStep[]> {
  const world = await WorkersWorld.of([]);
  const items = [{ key: 'edge.a', target: { kind: 'worker', id: 'edge.a' }, step, state: 'running' as const }];
  const operation = newOperation({
    ...{ id: REJOIN, kind: workerRejoin.name, title: 'join worker edge.a again', by: 'ann', nowMs: 0 },
    ...{ deadlineMs: 1000, items },
  });
  await world.put(cluster({ reach: 'simulated' }), worker('a', { ...LOST, ...facts }), ...operation);
  const item = world.fleet.get(ITEM, idOf(ITEM, `${REJOIN}.edge.a`));
  return item === undefined ? [] : workerRejoin.plan(world.fleet, [item], world.nowMs);
}

test('a-worker-whose-instance-was-deleted-meanwhile-is-not-waited-for: nothing can bring it back', async () => {
  const failed = {
    kind: 'record',
    progress: { state: 'failed', reason: { code: 'worker-instance-gone', worker: 'edge.a' } },
  };
  expect(await planAt('await-instance', {})).toMatchObject([failed]);
  expect(await planAt('await-instance', { instance: 'gone' })).toMatchObject([failed]);
});
