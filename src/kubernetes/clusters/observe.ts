// What is committed of what was seen of a cluster: transitions alone. While nothing changes, a look costs no commit.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import type { ClusterFacts, ClusterNode } from '../cluster-api/cluster-api.ts';
import { CLUSTER, WORKER, WORKERS_BY_CLUSTER, type Cluster, type Worker } from '../model.ts';
import type { StoredWorker } from '../workers/transitions.ts';
import { clearSilence, raiseSilence } from './silence-alarm.ts';

export type ClusterObservation =
  | { readonly kind: 'seen'; readonly nodes: readonly ClusterNode[]; readonly facts?: ClusterFacts }
  | { readonly kind: 'silent'; readonly text: string };

const BY = 'clusters';

export interface ObservedCluster {
  readonly cluster: string;
  readonly observation: ClusterObservation;
  readonly nowMs: number;
}

export function recordObservation(fleet: FleetReader, { cluster, observation, nowMs }: ObservedCluster): Change[] {
  const stored = fleet.get(CLUSTER, idOf(CLUSTER, cluster));
  if (stored === undefined) return [];
  if (observation.kind === 'silent') return recordSilence(fleet, stored.doc, observation.text, nowMs);
  const { nodes, facts } = observation;
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const workers = [...fleet.find(WORKERS_BY_CLUSTER, cluster)];
  return [
    ...recordAnswer(fleet, stored.doc, facts, nowMs),
    ...workers.flatMap((worker) => recordNode(worker, byName.get(worker.doc.node), nowMs)),
  ];
}

/** Nothing is known of its Nodes: what was seen last stays. */
function recordSilence(fleet: FleetReader, doc: Cluster, text: string, nowMs: number): Change[] {
  if (doc.state === 'silent') return [];
  return [putCluster({ ...doc, state: 'silent', sinceMs: nowMs }, nowMs), ...raiseSilence(fleet, doc, text, nowMs)];
}

function recordAnswer(fleet: FleetReader, doc: Cluster, facts: ClusterFacts | undefined, nowMs: number): Change[] {
  const since = doc.state === 'reachable' ? {} : { state: 'reachable' as const, sinceMs: nowMs };
  const after: Cluster = { ...doc, ...since, ...(facts !== undefined && describeFacts(facts)) };
  const isSame = JSON.stringify(after) === JSON.stringify(doc);
  return [...(isSame ? [] : [putCluster(after, nowMs)]), ...clearSilence(fleet, doc)];
}

export function describeFacts({ version, missingPermissions, caPin, joinEndpoint }: ClusterFacts): Partial<Cluster> {
  return {
    ...(version !== undefined && { version }),
    ...(missingPermissions !== 'unknown' && { missingPermissions: [...missingPermissions] }),
    ...(caPin !== undefined && { caPin }),
    ...(joinEndpoint !== undefined && { publishedEndpoint: joinEndpoint }),
  };
}

function putCluster(doc: Cluster, nowMs: number): Change {
  return put(CLUSTER, idOf(CLUSTER, doc.name), { ...doc, changedBy: BY, changedAtMs: nowMs });
}

function recordNode({ id, doc }: StoredWorker, node: ClusterNode | undefined, nowMs: number): Change[] {
  const own = node !== undefined && isOwnNode(doc, node) ? node : undefined;
  const readiness = own?.readiness ?? (node === undefined ? 'missing' : 'replaced');
  const { isControlPlane: was, ...rest } = doc;
  const isControlPlane = own?.isControlPlane ?? was === true;
  // What is under way goes by the Node that it began with.
  const nodeUid = doc.work === undefined ? (own?.uid ?? doc.nodeUid) : doc.nodeUid;
  if (readiness === doc.readiness && nodeUid === doc.nodeUid && isControlPlane === (was === true)) return [];
  const after: Worker = {
    ...{ ...rest, readiness, readinessSinceMs: readiness === doc.readiness ? doc.readinessSinceMs : nowMs },
    ...(nodeUid !== undefined && { nodeUid }),
    ...(isControlPlane && { isControlPlane }),
    ...{ changedBy: BY, changedAtMs: nowMs },
  };
  return [put(WORKER, id, after)];
}

/**
 * A name is no identity: a Node with another UID is another machine, unless it says by its provider id that it is this worker's and nothing is under way. Before the first
 * look it must not say that it is another's.
 */
function isOwnNode({ nodeUid, providerId, work }: Worker, node: ClusterNode): boolean {
  if (nodeUid === node.uid) return true;
  if (nodeUid === undefined) return providerId === undefined || providerId === node.providerId;
  return work === undefined && providerId !== undefined && providerId === node.providerId;
}
