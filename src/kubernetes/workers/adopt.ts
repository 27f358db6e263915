// Decides on the adoption of Nodes that are in a cluster already: from then on they are workers, which Muster drains and removes. The Nodes were read before, by the
// route; nothing is changed in the cluster.
import { idOf, put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import type { ClusterNode } from '../cluster-api/cluster-api.ts';
import { CLUSTER, WORKER, WORKERS_BY_INSTANCE, type Worker, type WorkerState } from '../model.ts';
import { removeReport } from '../drain/drain-report.ts';
import { isBusy } from './busy.ts';
import { denyControlPlane, denyTwice } from './chosen-workers.ts';
import { unknownCluster } from './decide.ts';
import { adoptAgain } from './transitions.ts';

export interface AdoptedNode {
  readonly node: string;
  /** The instance that it runs on, where Muster has it. */
  readonly instance?: string;
}

export interface AdoptNodes {
  readonly cluster: string;
  readonly nodes: readonly AdoptedNode[];
  /** What the cluster shows of them, by name. */
  readonly seen: ReadonlyMap<string, ClusterNode>;
  /** Whether the caller may see an instance: a worker that is removed takes its instance with it, which must not be another's. */
  readonly canSeeInstance: (fleet: FleetReader, instance: string) => boolean;
  readonly by: string;
  readonly nowMs: number;
}

export function adoptNodes(fleet: FleetReader, command: AdoptNodes): Decision<readonly string[]> {
  const { cluster, nodes, seen, canSeeInstance, by, nowMs } = command;
  if (fleet.get(CLUSTER, idOf(CLUSTER, cluster)) === undefined) return refuse(unknownCluster(cluster));
  const workers: { readonly id: string; readonly doc: Worker }[] = [];
  for (const [nth, adopted] of nodes.entries()) {
    const node = seen.get(adopted.node);
    const denied = denyTwiceIn(nodes, nth) ?? denyNode(fleet, { cluster, adopted, nth, node, canSeeInstance });
    if (denied !== undefined) return refuse(denied);
    if (node === undefined) continue;
    const id = workerId(cluster, adopted.node);
    const before = fleet.get(WORKER, idOf(WORKER, id))?.doc;
    const doc =
      before === undefined
        ? composeWorker(cluster, { adopted, node }, { by, nowMs })
        : adoptAgain(before, { ...describeAdopted({ adopted, node }), by, nowMs });
    workers.push({ id, doc });
  }
  return accept(
    workers.flatMap(({ id, doc }) => [put(WORKER, idOf(WORKER, id), doc), ...removeReport(fleet, id)]),
    workers.map(({ id }) => id),
  );
}

export function workerId(cluster: string, node: string): string {
  return `${cluster}.${node}`;
}

/** A Node, or the instance that it runs on: two workers are on no instance. */
function denyTwiceIn(nodes: readonly AdoptedNode[], nth: number): Refusal | undefined {
  const before = nodes.slice(0, nth);
  const { node, instance } = nodes[nth] ?? { node: '' };
  if (before.some((one) => one.node === node)) return denyTwice(node, `/nodes/${nth}/node`);
  const other = instance === undefined ? undefined : before.find((one) => one.instance === instance);
  return other === undefined ? undefined : denySecondWorker(instance ?? '', other.node, `/nodes/${nth}/instance`);
}

interface NamedNode extends Pick<AdoptNodes, 'canSeeInstance'> {
  readonly cluster: string;
  readonly adopted: AdoptedNode;
  readonly nth: number;
  readonly node: ClusterNode | undefined;
}

function denyNode(fleet: FleetReader, { cluster, adopted, nth, node, canSeeInstance }: NamedNode): Refusal | undefined {
  const { node: name, instance } = adopted;
  const [field, instanceField] = [`/nodes/${nth}/node`, `/nodes/${nth}/instance`];
  const before = fleet.get(WORKER, idOf(WORKER, workerId(cluster, name)));
  if (before !== undefined && !isLeftBehind(fleet, before.doc, node)) return workerExists(cluster, name, field);
  if (node === undefined) return unknownNode(cluster, name, field);
  if (node.isControlPlane) return denyControlPlane(name, field);
  if (instance === undefined) return undefined;
  if (fleet.get(INSTANCE, idOf(INSTANCE, instance)) === undefined || !canSeeInstance(fleet, instance))
    return unknownInstance(instance, instanceField);
  const [worker] = fleet.find(WORKERS_BY_INSTANCE, instance);
  return worker === undefined || worker.id === before?.id
    ? undefined
    : denySecondWorker(instance, worker.id, instanceField);
}

const WITH_NODE: readonly WorkerState[] = ['in-service', 'draining', 'drained'];

/** Its Node is not the one that has the name now, and nothing is under way with it. */
function isLeftBehind(fleet: FleetReader, worker: Worker, node: ClusterNode | undefined): boolean {
  return (
    node !== undefined && node.uid !== worker.nodeUid && WITH_NODE.includes(worker.state) && !isBusy(fleet, worker)
  );
}

interface AdoptedAs {
  readonly adopted: AdoptedNode;
  readonly node: ClusterNode;
}

function describeAdopted({ adopted: { instance }, node: { uid, readiness } }: AdoptedAs) {
  return { nodeUid: uid, readiness, ...(instance !== undefined && { instance }) };
}

function composeWorker(cluster: string, named: AdoptedAs, { by, nowMs }: Pick<AdoptNodes, 'by' | 'nowMs'>): Worker {
  return {
    ...{ cluster, node: named.adopted.node, isAdopted: true, ...describeAdopted(named) },
    ...{ state: 'in-service', stateSinceMs: nowMs, readinessSinceMs: nowMs },
    ...{ createdAtMs: nowMs, changedBy: by, changedAtMs: nowMs },
  };
}

function workerExists(cluster: string, node: string, field: string): Refusal {
  const message = `Node "${node}" of cluster "${cluster}" is a worker already. Look at it with "muster workers show ${cluster}.${node}".`;
  return { kind: 'conflict', code: 'worker-exists', message, field, facts: { cluster, worker: node } };
}

function unknownNode(cluster: string, node: string, field: string): Refusal {
  const message = `Cluster "${cluster}" has no Node "${node}". Name it as "kubectl get nodes" does.`;
  return { kind: 'invalid', code: 'unknown-node', message, field, facts: { cluster, node } };
}

function unknownInstance(instance: string, field: string): Refusal {
  const message = `There is no instance "${instance}". List them with "muster instances list".`;
  return { kind: 'invalid', code: 'unknown-instance', message, field, facts: { instance } };
}

function denySecondWorker(instance: string, worker: string, field: string): Refusal {
  const message = `Instance "${instance}" is worker "${worker}" already. Name the instance that this Node runs on.`;
  return { kind: 'conflict', code: 'instance-is-worker', message, field, facts: { instance, worker } };
}
