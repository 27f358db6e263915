// Another module has instances of its own join a cluster, drains them, and has them leave: it finds how by the service key, and begins each in a commit of its own.
import { expect, test } from 'vitest';
import { Runtime } from '../../../src/composition/index.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { composeToken, WORKER, WORKER_JOIN } from '../../../src/kubernetes/decisions-fixture.ts';
import { WORKER_LIFECYCLE } from '../../../src/kubernetes/index.ts';
import { coreProviders } from '../../../src/main/core-providers.ts';
import { IDLE_CORE } from '../../../src/main/core-providers-fixture.ts';
import { OPERATION, type OperationId } from '../../../src/operations/index.ts';
import { FAKE_SECRETS } from '../secrets-fixture.ts';
import { EDGE, LeavingWorkers } from './leaving-workers-fixture.ts';

const NODE = 'vnf-1';
const WORKER_ID = idOf(WORKER, `${EDGE}.${NODE}`);

test('kubernetes-38: join, drain and leave, one by one, with deadlines and policy as values', async () => {
  const edge = await LeavingWorkers.start({ workers: ['a'], pods: { replicas: 4, minAvailable: 2 } });
  const { world } = edge;
  await edge.setReach('simulated');
  await world.place('v1', 'b');
  const { clock, ids, program, server } = world;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const runtime = new Runtime(program, { journal: server.journal, clock, ids, log }, coreProviders(IDLE_CORE));
  const lifecycle = runtime.get(WORKER_LIFECYCLE);
  const operationOf = (id: OperationId) => world.fleet.get(OPERATION, id)?.doc;
  const ended = (id: OperationId) => world.until(`the end of ${id}`, () => operationOf(id)?.finishedAtMs !== undefined);
  const base = (nth: number) => ({
    ...{ cluster: EDGE, operation: idOf(OPERATION, `hook-${nth}`), by: 'hooks', why: 'scale', nowMs: world.nowMs },
  });

  const joining = base(1);
  const seal = (secret: string) => FAKE_SECRETS.seal({ kind: WORKER_JOIN.name, id: joining.operation }, secret);
  const token = composeToken(ids, seal);
  const workers = [{ node: NODE, instance: 'v1' }];
  await world.commit((fleet) => lifecycle.join(fleet, { ...joining, token, workers, joinDeadlineMs: 90_000 }));
  await ended(joining.operation);
  expect(operationOf(joining.operation)).toMatchObject({ state: 'succeeded', by: 'hooks', why: 'scale' });
  expect(world.fleet.get(WORKER, WORKER_ID)?.doc).toMatchObject({ state: 'in-service', instance: 'v1' });

  const draining = base(2);
  const policy = { deadlineMs: 45_000, evictBare: true };
  const chosen = { workers: { nodes: [NODE] }, policy };
  await world.commit((fleet) => lifecycle.drain(fleet, { ...draining, ...chosen }));
  expect(operationOf(draining.operation)?.deadlineMs).toBe(45_000);
  expect(world.fleet.get(WORKER, WORKER_ID)?.doc.work?.policy).toMatchObject(policy);
  await ended(draining.operation);
  expect(world.fleet.get(WORKER, WORKER_ID)?.doc.state).toBe('drained');

  const leaving = base(3);
  await world.commit((fleet) => lifecycle.leave(fleet, { ...leaving, ...chosen, keepsInstances: true }));
  await ended(leaving.operation);
  expect(operationOf(leaving.operation)?.state).toBe('succeeded');
  expect(world.fleet.get(WORKER, WORKER_ID)).toBeUndefined();
  expect(world.instance('v1').state).toBe('active');
});
