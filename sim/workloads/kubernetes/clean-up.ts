// The end of every world with Kubernetes: what blocks drains is taken away, all workers are removed, and then everything else. Nothing of them may be left in the clusters.
import { idOf } from '../../../src/fleet/index.ts';
import { HOST, recoverHosts } from '../../../src/hosts/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { isBusy } from '../../../src/kubernetes/workers/busy.ts';
import { removeWorkers } from '../../../src/kubernetes/workers/decide.ts';
import { forgetWorkers } from '../../../src/kubernetes/workers/forget.ts';
import type { StoredWorker } from '../../../src/kubernetes/workers/transitions.ts';
import { cancelOperation, OPERATION } from '../../../src/operations/index.ts';
import { MARKS, type SimCluster } from '../../world/clusters/sim-cluster.ts';
import type { OperatorCommand } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import { plain } from '../commands.ts';
import { deleteEverything, leftoverInstances } from '../instance-cleanup.ts';
import { restoreTrust, type Ask } from '../scale-in-cleanup.ts';
import { leftoverTokens } from './at-rest.ts';

const ROUNDS_MAX = 10;
const ROUND_MS = 4000;
const DRAIN_MS = 30_000;
const OWN = 'op-remover-';

export async function removeAllWorkers(world: World): Promise<void> {
  const operator = world.newOperator('remover');
  let requests = 0;
  const ask: Ask = (what, decide) => operator.ask(plain(`remover-${(requests += 1)}-${what}`, decide));
  for (const machine of world.machines) if (!machine.powered) machine.getPower();
  for (const cluster of world.clusters) unblock(cluster);
  await restoreTrust(world, ask);
  for (const { id, doc } of [...world.truth.all(HOST)])
    if (doc.leaving !== undefined)
      await ask(`recover-${id}`, (fleet, nowMs) =>
        recoverHosts(fleet, {
          hosts: [id],
          failBack: false,
          operation: idOf(OPERATION, `op-recoverer-${id}`),
          by: 'remover',
          nowMs,
        }),
      );
  for (let round = 1; round <= ROUNDS_MAX && world.truth.count(WORKER) > 0; round += 1) {
    const commands = [...world.truth.all(WORKER)].flatMap(
      (worker) => removal(world, worker, `remove-${round}-${worker.id}`) ?? [],
    );
    await Promise.all(commands.map((command) => operator.ask(command)));
    await operator.pause(ROUND_MS);
  }
  if (world.truth.count(WORKER) === 0) await deleteEverything(world);
}

/** What no waiting cures goes, and there is a place for all pods. */
function unblock(cluster: SimCluster): void {
  const { nodes, pods, workloads } = cluster.memory.objects;
  for (const [name, { minAvailable: _, ...workload }] of workloads.list())
    workloads.put(name, { ...workload, graceSeconds: 1, startMs: 200 });
  for (const name of ['disk', 'twice', 'bare']) {
    workloads.remove(name);
    for (const [id, { workload }] of pods.list()) if (workload === name) pods.remove(id);
  }
  for (const [name] of nodes.list()) for (const mark of MARKS) cluster.markByOperator(name, mark, false);
}

/** Of one that something else has in hand, that ends first. */
function removal(
  { truth, composition }: World,
  { id, doc }: StoredWorker,
  by: string,
): OperatorCommand<unknown> | undefined {
  if (isBusy(truth, doc)) {
    const operation = doc.work?.operation ?? '';
    if (operation.startsWith(OWN)) return undefined;
    return plain(by, (fleet, nowMs) =>
      cancelOperation(fleet, { id: operation, kinds: composition.operationKinds, nowMs }),
    );
  }
  // Its own Node is gone, and another one of its name is not its concern.
  if (doc.readiness === 'replaced' && doc.isAdopted === true)
    return plain(by, (fleet) => forgetWorkers(fleet, { cluster: doc.cluster, nodes: [doc.node] }));
  return plain(by, (fleet, nowMs) =>
    removeWorkers(fleet, {
      ...{ cluster: doc.cluster, operation: idOf(OPERATION, `${OWN}${by}`), by, nowMs, why: id },
      ...{ workers: { nodes: [doc.node] }, policy: { deadlineMs: DRAIN_MS, evictBare: true, keepEmptyDir: false } },
    }),
  );
}

export function leftoverWorkers(world: World): string[] {
  return [
    ...[...world.truth.all(WORKER)].map(({ id, doc }) => `worker ${id} is ${doc.state} and is left`),
    ...leftoverInstances(world).filter((sentence) => !sentence.startsWith('operation ')),
    ...world.clusters.flatMap((cluster) => [
      ...leftoverTokens(world, cluster),
      ...cluster.memory.objects.nodes
        .list()
        .flatMap(([name, { providerId }]) =>
          providerId === undefined || cluster.meddledNodes.has(name) ? [] : [`Node ${name} is left in ${cluster.name}`],
        ),
    ]),
  ];
}
