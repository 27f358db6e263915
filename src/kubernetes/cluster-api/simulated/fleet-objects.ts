// The objects of one simulated cluster as they are in a fleet, with the changes that a call makes to them.
import {
  idOf,
  put,
  remove,
  type AnyDoc,
  type Change,
  type FleetReader,
  type Index,
  type Kind,
} from '../../../fleet/index.ts';
import {
  SIMULATED_NODE,
  SIMULATED_NODES_BY_CLUSTER,
  SIMULATED_POD,
  SIMULATED_PODS_BY_CLUSTER,
  SIMULATED_TOKEN,
  SIMULATED_TOKENS_BY_CLUSTER,
  SIMULATED_WORKLOAD,
  SIMULATED_WORKLOADS_BY_CLUSTER,
} from './model.ts';
import type { ClusterObjects, ObjectTable, SimulatedClusterNode, SimulatedPod, SimulatedWorkload } from './objects.ts';

interface TableOptions<K extends string, D extends AnyDoc> {
  readonly fleet: FleetReader;
  readonly cluster: string;
  readonly kind: Kind<K, D>;
  readonly byCluster: Index<K, D>;
}

/** Ids in the fleet are `<cluster>.<id>`. */
class FleetTable<K extends string, D extends AnyDoc> implements ObjectTable<D> {
  readonly #options: TableOptions<K, D>;
  readonly #staged = new Map<string, D | null>();

  constructor(options: TableOptions<K, D>) {
    this.#options = options;
  }

  get(id: string): D | undefined {
    const staged = this.#staged.get(id);
    if (staged !== undefined) return staged ?? undefined;
    const { fleet, kind } = this.#options;
    return fleet.get(kind, this.#idOf(id))?.doc;
  }

  list(): readonly (readonly [string, D])[] {
    const { fleet, byCluster, cluster } = this.#options;
    const prefix = cluster.length + 1;
    const objects = new Map<string, D | null>([
      ...[...fleet.find(byCluster, cluster)].map(({ id, doc }) => [id.slice(prefix), doc] as const),
      ...this.#staged,
    ]);
    return [...objects]
      .flatMap(([id, doc]) => (doc === null ? [] : [[id, doc] as const]))
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  put(id: string, object: D): void {
    this.#staged.set(id, object);
  }

  remove(id: string): void {
    this.#staged.set(id, null);
  }

  changes(): Change[] {
    const { fleet, kind } = this.#options;
    return [...this.#staged].flatMap(([name, doc]) => {
      const id = this.#idOf(name);
      const before = fleet.get(kind, id)?.doc;
      if (doc === null) return before === undefined ? [] : [remove(kind, id)];
      return JSON.stringify(before) === JSON.stringify(doc) ? [] : [put(kind, id, doc)];
    });
  }

  #idOf(id: string) {
    return idOf(this.#options.kind as Kind<K, never>, `${this.#options.cluster}.${id}`);
  }
}

export class FleetObjects implements ClusterObjects {
  readonly cluster: string;
  readonly nodes: FleetTable<'simulated-cluster-node', SimulatedClusterNode>;
  readonly workloads: FleetTable<'simulated-workload', SimulatedWorkload>;
  readonly pods: FleetTable<'simulated-pod', SimulatedPod>;
  readonly tokens: FleetTable<'simulated-join-token', { cluster: string; expiresAtMs: number }>;

  constructor(fleet: FleetReader, cluster: string) {
    this.cluster = cluster;
    const of = { fleet, cluster };
    this.nodes = new FleetTable({ ...of, kind: SIMULATED_NODE, byCluster: SIMULATED_NODES_BY_CLUSTER });
    this.workloads = new FleetTable({ ...of, kind: SIMULATED_WORKLOAD, byCluster: SIMULATED_WORKLOADS_BY_CLUSTER });
    this.pods = new FleetTable({ ...of, kind: SIMULATED_POD, byCluster: SIMULATED_PODS_BY_CLUSTER });
    this.tokens = new FleetTable({ ...of, kind: SIMULATED_TOKEN, byCluster: SIMULATED_TOKENS_BY_CLUSTER });
  }

  changes(): Change[] {
    return [this.nodes, this.workloads, this.pods, this.tokens].flatMap((table) => table.changes());
  }
}
