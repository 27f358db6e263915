// What is promised to the owners of a cluster: its budgets hold, its operators' cordons stay, and nothing is done there for an operation that is over, as far as the server
// that does it can know.
import { idOf, type AppliedChange, type Fleet } from '../../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { CLUSTER, WORKERS_BY_INSTANCE, type Worker } from '../../../src/kubernetes/model.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import type { ClusterCall } from '../../world/clusters/cluster-calls.ts';
import { MARKS } from '../../world/clusters/sim-cluster.ts';
import type { World } from '../../world/world.ts';
import type { Checker } from '../checker.ts';
import { podsToLeave } from './victims.ts';

export const budgetsKept: Checker = {
  name: 'never: a budget of pods is broken',
  watch: (violated, world) => ({
    onClusterServed: ({ cluster, changed, acting }, before) => {
      if (changed.call === 'heartbeatNode' || isLost(world, acting?.operation)) return;
      const { workloads } = cluster.memory.objects;
      const look = cluster.memory.look();
      const pods = cluster.memory.objects.nodes.list().flatMap(([name]) => look.readContents(name).pods);
      for (const [name, was] of before.ready) {
        const { minAvailable = 0 } = workloads.get(name) ?? {};
        const is = pods.filter((pod) => pod.isReady && pod.owner?.uid === name).length;
        if (is < was && is < minAvailable)
          violated(`${changed.call} for ${acting?.operation}: ${is} of ${name} are ready, and ${minAvailable} must be`);
      }
    },
  }),
};

/** Its machine is lost already, and its pods with it. */
function isLost({ truth }: World, operation: string | undefined): boolean {
  return truth.get(OPERATION, idOf(OPERATION, operation ?? ''))?.doc.kind === 'worker-rejoin';
}

export const operatorsCordonKept: Checker = {
  name: "never: an operator's cordon or label is undone",
  watch: (violated) => {
    const note = ({ cluster, changed }: ClusterCall): void => {
      if (changed.call !== 'markNode') return;
      const node = cluster.memory.objects.nodes.get(changed.node);
      if (node === undefined || node.uid !== changed.uid) return;
      for (const mark of MARKS)
        if (changed.marks[mark] === false && cluster.ownerOf(node.uid, mark) === 'operator')
          violated(`${mark} of Node ${node.name} in ${cluster.name}`);
    };
    return { onClusterCall: note };
  },
};

const DEADLINE_SLACK_MS = 1;

export const actsForRunning: Checker = {
  name: 'never: a server acts for an operation that it knows is cancelled, ended or past its deadline, or without the lease',
  watch: (violated) => ({
    onClusterCall: ({ by: { journal, clock }, acting, changed, program }) => {
      if (acting === undefined) return;
      const operation = journal.fleet.get(OPERATION, idOf(OPERATION, acting.operation))?.doc;
      const what = `${changed.call} ${changed.node} by ${program.name} for ${acting.operation}`;
      if (operation?.state !== 'running') violated(`${what}, which is ${operation?.state ?? 'gone'}`);
      if (journal.fence === undefined) violated(`${what}, and it has no lease`);
      if (clock.nowMs() > acting.deadlineAtMs + DEADLINE_SLACK_MS) violated(`${what}, which is past its deadline`);
    },
  }),
};

const LEAVING: readonly Instance['state'][] = ['moving', 'shelving', 'deleting'];

export const movedEmpty: Checker = {
  name: "never: a worker's instance is moved, shelved or deleted with a pod on its Node that must leave, unless it is forced",
  watch: (violated, world) => ({
    onApplied: ({ truth, applied }) => {
      for (const change of applied) {
        const moved = leavingInstance(change);
        const worker = moved === undefined ? undefined : workerOn(truth, applied, moved);
        if (moved === undefined || worker === undefined || isAllowed(truth, worker)) continue;
        const cluster = world.clusters.find(({ name }) => name === worker.cluster);
        const node = cluster?.memory.objects.nodes.get(worker.node);
        if (cluster === undefined || node?.uid !== worker.nodeUid || node === undefined) continue;
        if (cluster.uncordoned.has(node.uid)) continue;
        cluster.memory.look();
        const pods = podsToLeave(cluster, node, cluster.memory.objects.pods.list());
        if (pods.length > 0)
          violated(`instance ${moved} of ${worker.node}: ${pods.map(({ name }) => name).join(', ')}`);
      }
    },
  }),
};

function leavingInstance({ kind, before, after }: AppliedChange): string | undefined {
  if (kind !== INSTANCE.name || after === undefined) return undefined;
  const [was, is] = [(before?.doc as Instance | undefined)?.state, (after.doc as Instance).state];
  return was === 'active' && LEAVING.includes(is) ? after.id : undefined;
}

/** As it was before what is done to its instance. */
function workerOn(truth: Fleet, applied: readonly AppliedChange[], instance: string): Worker | undefined {
  const changed = applied.find(
    ({ kind, before }) => kind === WORKER.name && (before?.doc as Worker | undefined)?.instance === instance,
  );
  if (changed !== undefined) return changed.after === undefined ? undefined : (changed.after.doc as Worker);
  const [worker] = truth.find(WORKERS_BY_INSTANCE, instance);
  return worker?.doc;
}

/** It was forced, or its cluster says that workers move as they are; or it has not joined, or joins anew. */
function isAllowed(truth: Fleet, { cluster, forced, state }: Worker): boolean {
  const movesAsItIs = truth.get(CLUSTER, idOf(CLUSTER, cluster))?.doc.whenHostLeaves === 'move';
  return movesAsItIs || forced !== undefined || state === 'building' || state === 'joining';
}
