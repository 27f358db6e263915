// The rejoin of a worker on the torture kit: its old Node is removed, and one join is begun with one token, whatever fails.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { createInstances, INSTANCE } from '../../instances/index.ts';
import { createCommand, fixtureF } from '../../instances/reference-fixture.ts';
import { accept, type Ids } from '../../journal/index.ts';
import { ITEM, newOperation, OPERATION, type Driver, type OperationId } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { NODES_DRIVER } from '../drain/node-order.ts';
import { NodesDriver } from '../drain/nodes-driver.ts';
import { WORKER_JOIN } from '../join/model.ts';
import { WORKER } from '../model.ts';
import { cluster, EDGE, SEALED_TOKEN, simulatedNode, worker, WORKER_MODELS } from '../workers-fixture.ts';
import { NEW_TOKENS_DRIVER } from './new-token-order.ts';
import { NewTokensDriver } from './new-tokens-driver.ts';
import { workerRejoin } from './rejoin-operation.ts';

const NODE = 'a';
let nowMs = 1_000_000;
let simulated = new MemoryCluster(EDGE, () => nowMs);
let drawn = 0;

const ids: Ids = {
  next: (prefix) => `${prefix}-${String((drawn += 1)).padStart(8, '0')}`,
  secret: () => String((drawn += 1)).padStart(32, '0'),
};

torture({
  name: workerRejoin.name,
  models: WORKER_MODELS,
  kind: workerRejoin,
  drivers: () => {
    nowMs = 1_000_000;
    simulated = new MemoryCluster(EDGE, () => nowMs);
    simulated.objects.nodes.put(NODE, simulatedNode(NODE));
    const tokens = new NewTokensDriver({ ids, secrets: { seal: () => ({ sealed: SEALED_TOKEN }) } });
    return new Map<string, Driver>([
      [NODES_DRIVER, new NodesDriver({ apiOf: () => simulated })],
      [NEW_TOKENS_DRIVER, tokens],
    ]);
  },
  prepare: [...fixtureF(), cluster({ reach: 'simulated' })],
  start: (operation, atMs) => ({ by: 'test', decide: (fleet) => accept(lose(fleet, operation, atMs), null) }),
  world: async (journal, atMs) => {
    nowMs = Math.max(nowMs, atMs);
    if (builds(journal.fleet).length > 0)
      await journal.submit({ by: 'test', decide: (fleet) => accept(builds(fleet), null) });
  },
  wrongWhenDone: (fleet) => {
    const [lost] = [...fleet.all(WORKER)];
    const joins = [...fleet.all(WORKER_JOIN)].map(({ id }) => id);
    return [
      ...(simulated.look().readNode(NODE) === undefined ? [] : ['the old Node is there']),
      ...(joins.length === 1 && lost?.doc.work?.operation === joins[0] ? [] : [`joins ${joins.join(', ')}`]),
    ];
  },
  // One that came when the join had begun found nothing to take back.
  wrongWhenCancelled: (fleet) =>
    [...fleet.all(WORKER)].flatMap(({ id, doc: { work } }) =>
      work === undefined || work.operation.endsWith('.join') ? [] : [`${id} is in the hands of ${work.operation}`],
    ),
});

/** Its instance is being built anew. */
function lose(fleet: FleetReader, operation: OperationId, atMs: number): Change[] {
  const created = createInstances(fleet, createCommand('op-build', atMs, { name: NODE }));
  const WORK: readonly string[] = [OPERATION.name, ITEM.name];
  const instance = created.kind === 'accept' ? created.changes.filter(({ kind }) => !WORK.includes(kind)) : [];
  const items = [{ key: `${EDGE}.${NODE}`, target: { kind: WORKER.name, id: `${EDGE}.${NODE}` }, step: 'delete-node' }];
  return [
    ...instance,
    worker(NODE, { instance: NODE, state: 'joining', work: { operation } }),
    ...newOperation({
      ...{ id: operation, kind: workerRejoin.name, title: 'join worker edge.a again', by: 'ann', nowMs: atMs },
      ...{ deadlineMs: 24 * 3600 * 1000, items },
    }),
  ];
}

function builds(fleet: FleetReader): Change[] {
  return [...fleet.all(INSTANCE)].flatMap(({ id, doc }) =>
    doc.state === 'building'
      ? [put(INSTANCE, idOf(INSTANCE, id), { ...doc, state: 'active' as const, wasActive: true })]
      : [],
  );
}
