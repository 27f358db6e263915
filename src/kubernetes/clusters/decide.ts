// Decides on the registration of clusters.
import { idOf, put, remove, type FleetReader, type Refusal, type Stored, type ChangeNote } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { clearAlarm } from '../../alarms/index.ts';
import { SITE, unknownSite } from '../../sites/index.ts';
import type { ClusterAccess } from '../cluster-api/client/access.ts';
import { CLUSTER, DEFAULT_DRAIN_POLICY, WORKERS_BY_CLUSTER, type Cluster, type DrainPolicy } from '../model.ts';
import { unknownCluster } from '../workers/decide.ts';
import { composeContents, removeContents, type SimulatedContents } from '../cluster-api/simulated/contents.ts';
import type { ClusterFacts } from '../cluster-api/cluster-api.ts';
import { describeFacts } from './observe.ts';
import { removeScript } from './edit.ts';
import { silenceAlarm } from './silence-alarm.ts';

export interface ClusterSpec extends Omit<ClusterAccess, 'credentials'> {
  readonly kind: Cluster['kind'];
  readonly site?: string;
  readonly project?: string;
  /** Sealed for this cluster. */
  readonly credentials?: string;
  readonly joinEndpoint?: string;
  readonly drainPolicy?: Partial<DrainPolicy>;
  readonly whenHostLeaves?: Cluster['whenHostLeaves'];
  readonly drainsAtOnce?: number;
  /** What a simulated cluster has at first. */
  readonly simulated?: SimulatedContents;
  /** What it answered at the first look; absent when it did not answer, or was not called. */
  readonly facts?: ClusterFacts;
}

export function registerCluster(fleet: FleetReader, spec: ClusterSpec, { by, nowMs }: ChangeNote): Decision<unknown> {
  const { name, kind, site, drainPolicy, simulated, facts, ...rest } = spec;
  const id = idOf(CLUSTER, name);
  if (fleet.get(CLUSTER, id) !== undefined) return refuse(clusterExists(name));
  if (site !== undefined && fleet.get(SITE, idOf(SITE, site)) === undefined) return refuse(unknownSite(site, '/site'));
  const doc: Cluster = {
    ...{ whenHostLeaves: 'drain', drainsAtOnce: 1 },
    ...rest,
    ...{ name, kind, drainPolicy: { ...DEFAULT_DRAIN_POLICY, ...drainPolicy } },
    reach: kind === 'simulated' ? 'simulated' : 'none',
    ...{ state: 'unknown', sinceMs: nowMs, changedBy: by, changedAtMs: nowMs },
    ...(facts !== undefined && { state: 'reachable', ...describeFacts(facts) }),
    ...(site !== undefined && { site }),
  };
  return accept([put(CLUSTER, id, doc), ...composeContents(name, simulated, nowMs)], null);
}

export function deleteCluster(
  fleet: FleetReader,
  { id: name }: { readonly id: string },
): Decision<Stored<'cluster', Cluster>> {
  const stored = fleet.get(CLUSTER, idOf(CLUSTER, name));
  if (stored === undefined) return refuse(unknownCluster(name));
  const workers = fleet.countOf(WORKERS_BY_CLUSTER, name);
  if (workers > 0) return refuse(clusterInUse(name, workers));
  const alarm = clearAlarm(fleet, silenceAlarm(name));
  const gone = [remove(CLUSTER, stored.id), ...removeContents(fleet, name), ...removeScript(fleet, name), ...alarm];
  return accept(gone, stored);
}

function clusterExists(name: string): Refusal {
  const message = `There is a cluster "${name}" already. Choose another name, or look at it with "muster clusters show ${name}".`;
  return { kind: 'conflict', code: 'cluster-exists', message, field: '/name', facts: { cluster: name } };
}

function clusterInUse(name: string, workers: number): Refusal {
  const message = `Cluster "${name}" has ${workers} workers. Remove them first: "muster workers list --cluster ${name}" lists them.`;
  return { kind: 'conflict', code: 'cluster-in-use', message, facts: { cluster: name, workers } };
}
