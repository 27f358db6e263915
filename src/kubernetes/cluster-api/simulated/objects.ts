// The objects of a simulated cluster, and where they are kept: in memory for tests and the simulation, in the journal for a server. Work that takes time is over
// by the clock; nothing has to run for it.
import { Type, type Static } from 'typebox';
import { DNS_LABEL } from '../../model.ts';

const CLOSED = { additionalProperties: false };
const NAME = Type.String({ minLength: 1, maxLength: 253 });

export const SIMULATED_NODE_SCHEMA = Type.Object(
  {
    cluster: DNS_LABEL,
    name: DNS_LABEL,
    uid: Type.String(),
    revision: Type.Integer(),
    isUnschedulable: Type.Boolean(),
    isExcludedFromLoadBalancers: Type.Boolean(),
    isControlPlane: Type.Boolean(),
    providerId: Type.Optional(Type.String()),
    createdAtMs: Type.Integer(),
    /** When its kubelet renewed its lease last; absent for one whose kubelet always does. */
    renewedAtMs: Type.Optional(Type.Integer()),
    /** Its kubelet says that it is not well. */
    isSick: Type.Optional(Type.Literal(true)),
    attachedVolumes: Type.Integer({ minimum: 0 }),
  },
  CLOSED,
);
export type SimulatedClusterNode = Static<typeof SIMULATED_NODE_SCHEMA>;

/** What makes pods: so many of them, each replaced when it goes. */
export const SIMULATED_WORKLOAD_SCHEMA = Type.Object(
  {
    cluster: DNS_LABEL,
    namespace: NAME,
    name: NAME,
    /** `none`: pods that nothing makes again. */
    ownerKind: Type.Enum(['ReplicaSet', 'DaemonSet', 'none']),
    replicas: Type.Integer({ minimum: 0, maximum: 10_000 }),
    graceSeconds: Type.Integer({ minimum: 0 }),
    /** How long a pod takes to become ready. */
    startMs: Type.Integer({ minimum: 0 }),
    hasEmptyDir: Type.Optional(Type.Literal(true)),
    /** Its pods have a volume that is on one node alone. */
    hasLocalVolume: Type.Optional(Type.Literal(true)),
    /** Pods that do not end before their grace is over, and those that never do. */
    ends: Type.Optional(Type.Enum(['at-grace', 'never'])),
    /** The least that its budget leaves ready. */
    minAvailable: Type.Optional(Type.Integer({ minimum: 0 })),
    /** A second budget over the same pods. */
    hasSecondBudget: Type.Optional(Type.Literal(true)),
    /** The ordinal of the next pod. */
    nextPod: Type.Integer({ minimum: 0 }),
  },
  CLOSED,
);
export type SimulatedWorkload = Static<typeof SIMULATED_WORKLOAD_SCHEMA>;

export const SIMULATED_POD_SCHEMA = Type.Object(
  {
    cluster: DNS_LABEL,
    namespace: NAME,
    name: NAME,
    uid: Type.String(),
    workload: Type.String(),
    /** Absent while no node takes it. */
    node: Type.Optional(Type.String()),
    readyAtMs: Type.Optional(Type.Integer()),
    /** When it is gone; never, where its kubelet does not answer. */
    terminating: Type.Optional(Type.Object({ goneAtMs: Type.Integer() }, CLOSED)),
  },
  CLOSED,
);
export type SimulatedPod = Static<typeof SIMULATED_POD_SCHEMA>;

/** The objects of one cluster. Ids are unique among their kind. */
export interface ObjectTable<T> {
  get(id: string): T | undefined;
  /** Sorted by id. */
  list(): readonly (readonly [id: string, object: T])[];
  put(id: string, object: T): void;
  remove(id: string): void;
}

export interface ClusterObjects {
  readonly cluster: string;
  readonly nodes: ObjectTable<SimulatedClusterNode>;
  readonly workloads: ObjectTable<SimulatedWorkload>;
  readonly pods: ObjectTable<SimulatedPod>;
  /** The tokens that kubelets may join by. */
  readonly tokens: ObjectTable<{ cluster: string; expiresAtMs: number }>;
}

export class MemoryTable<T> implements ObjectTable<T> {
  readonly #objects = new Map<string, T>();
  readonly #onChange: (changed: T) => void;

  /** Notified of what was put, and of what was removed. */
  constructor(onChange: (changed: T) => void = () => undefined) {
    this.#onChange = onChange;
  }

  get(id: string): T | undefined {
    return this.#objects.get(id);
  }

  list(): readonly (readonly [string, T])[] {
    return [...this.#objects].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  put(id: string, object: T): void {
    const isSame = this.#objects.get(id) === object;
    this.#objects.set(id, object);
    if (!isSame) this.#onChange(object);
  }

  remove(id: string): void {
    const object = this.#objects.get(id);
    if (this.#objects.delete(id) && object !== undefined) this.#onChange(object);
  }
}

export function podId(namespace: string, name: string): string {
  return `${namespace}.${name}`;
}
