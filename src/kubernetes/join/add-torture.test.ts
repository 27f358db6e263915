// The operation that adds workers on the torture kit: each step twice, failures and crashes at every port call, cancels at each step. However it goes, no instance is
// built twice, and none is in service without its Node.
import { put, type Change, type FleetReader } from '../../fleet/index.ts';
import { Builders, hostBuilder, INSTANCE } from '../../instances/index.ts';
import { fixtureF } from '../../instances/reference-fixture.ts';
import { accept, type Journal } from '../../journal/index.ts';
import type { Driver, OperationId } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { NODES_DRIVER } from '../drain/node-order.ts';
import { NodesDriver } from '../drain/nodes-driver.ts';
import { WORKER } from '../model.ts';
import { cluster, EDGE, joinsDriver, SEALED_TOKEN, TEMPLATE, WORKER_MODELS } from '../workers-fixture.ts';
import { workerAdd } from './add-operation.ts';
import { addWorkers, type AddWorkers } from './decide.ts';
import { JOINS_DRIVER } from './join-order.ts';

const BUILDERS = new Builders([hostBuilder]);
const COUNT = 2;

let nowMs = 1_000_000;
let simulated = new MemoryCluster(EDGE, () => nowMs);
let journal: Journal | undefined;

const request = (operation: OperationId, atMs: number): AddWorkers => ({
  ...{ cluster: EDGE, operation, by: 'ann', nowMs: atMs, count: COUNT, template: TEMPLATE },
  ...{ ids: ['w-00000001', 'w-00000002'], token: { id: 'abcdef', sealedSecret: SEALED_TOKEN } },
  joinDeadlineMs: 24 * 3600 * 1000,
});

torture({
  name: 'worker-add',
  models: WORKER_MODELS,
  kind: workerAdd(BUILDERS),
  drivers: () => {
    nowMs = 1_000_000;
    simulated = new MemoryCluster(EDGE, () => nowMs);
    const apis = { apiOf: () => simulated };
    const patient = {
      nowMs: () => nowMs,
      sleep: () => new Promise<never>(() => undefined),
      turn: async () => undefined,
    };
    const ofJournal = {
      get fleet() {
        if (journal === undefined) throw new Error('no server has been up yet');
        return journal.fleet;
      },
    };
    return new Map<string, Driver>([
      [NODES_DRIVER, new NodesDriver(apis)],
      [JOINS_DRIVER, joinsDriver(ofJournal, patient, apis)],
    ]);
  },
  prepare: [...fixtureF(), cluster({ reach: 'simulated' })],
  start: (operation, atMs) => ({
    by: 'test',
    decide: (fleet) => addWorkers(fleet, request(operation, atMs), BUILDERS),
  }),
  world: async (current, atMs) => {
    journal = current;
    nowMs = Math.max(nowMs, atMs);
    // Kubelets renew their Leases, also while no server is there.
    for (const [name, node] of simulated.objects.nodes.list())
      simulated.objects.nodes.put(name, { ...node, renewedAtMs: nowMs });
    const built = finishBuilds(current.fleet);
    if (built.length > 0) await current.submit({ by: 'test', decide: (fleet) => accept(finishBuilds(fleet), null) });
  },
  wrongWhenDone: (fleet) => [
    ...wrongInstances(fleet),
    ...[...fleet.all(WORKER)].flatMap(({ id, doc }) => {
      const node = simulated.look().readNode(doc.node);
      const isWell = doc.state === 'in-service' && node?.uid === doc.nodeUid && node?.providerId === doc.providerId;
      return isWell ? [] : [`${id} is ${doc.state}, and its Node is ${JSON.stringify(node)}`];
    }),
  ],
  wrongWhenCancelled: (fleet) => [
    ...wrongInstances(fleet),
    // What is not in service is removed by another operation, which is not played here.
    ...[...fleet.all(WORKER)].flatMap(({ id, doc }) => {
      const isGivenBack = doc.work?.operation.endsWith('.undo') === true || doc.state === 'in-service';
      return isGivenBack ? [] : [`${id} is ${doc.state}`];
    }),
  ],
});

/** Whoever builds instances does so between two passes. */
function finishBuilds(fleet: FleetReader): Change[] {
  return [...fleet.all(INSTANCE)].flatMap(({ id, doc }) =>
    doc.state === 'building' ? [put(INSTANCE, id, { ...doc, state: 'active' as const, wasActive: true })] : [],
  );
}

function wrongInstances(fleet: FleetReader): string[] {
  const names = new Set([...fleet.all(WORKER)].map(({ doc }) => doc.node));
  const stray = [...fleet.all(INSTANCE)].flatMap(({ id }) => (names.has(id) ? [] : [`instance ${id} is of no worker`]));
  const count = [...fleet.all(INSTANCE)].length;
  return [...stray, ...(count > COUNT ? [`${count} instances`] : [])];
}
