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
  // What is under way goes by the Node that it began with.
  const uid = doc.work === undefined && node !== undefined ? { nodeUid: node.uid } : {};
  const readiness: Worker['readiness'] = node?.readiness ?? 'missing';
  const since = readiness === doc.readiness ? {} : { readiness, readinessSinceMs: nowMs };
  const after: Worker = { ...doc, ...uid, ...since };
  if (after.nodeUid === doc.nodeUid && after.readiness === doc.readiness) return [];
  return [put(WORKER, id, { ...after, changedBy: BY, changedAtMs: nowMs })];
}
