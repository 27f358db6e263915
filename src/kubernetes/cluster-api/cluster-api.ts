// The port to the API of a Kubernetes cluster: what Muster reads and changes there, and nothing else. Only nodes, pods and evictions are required;
// what a cluster does not show is `unknown` and never an error. No implementation decides, waits for pods, or deletes one.
import type { Readiness } from '../model.ts';

/** A Node, as far as it matters here. */
export interface ClusterNode {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** What the Ready condition says: `unknown` when its kubelet was silent for too long. */
  readonly readiness: Exclude<Readiness, 'missing' | 'replaced'>;
  readonly isUnschedulable: boolean;
  /** Load balancers outside the cluster send it nothing. */
  readonly isExcludedFromLoadBalancers: boolean;
  readonly isControlPlane: boolean;
  readonly providerId?: string;
  readonly kubeletVersion?: string;
  readonly createdAtMs: number;
}

export interface PodOwner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its controller; a pod without one is bare: nothing makes another. */
  readonly owner?: PodOwner;
  /** The kubelet made it from a file: the API has only its mirror. */
  readonly isMirror: boolean;
  readonly isFinished: boolean;
  readonly isTerminating: boolean;
  readonly isReady: boolean;
  readonly graceSeconds: number;
  readonly hasEmptyDir: boolean;
  /** The names of its volume claims. */
  readonly claims: readonly string[];
}

/** How a PodDisruptionBudget chooses its pods: all of it has to hold. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

export interface Budget {
  readonly namespace: string;
  readonly name: string;
  /** Chooses no pod when absent. */
  readonly selector?: LabelSelector;
  /** How many of its pods may be evicted now. */
  readonly disruptionsAllowed: number;
}

/** A volume that is on one node alone: its pod cannot run elsewhere. */
export interface LocalVolume {
  readonly namespace: string;
  readonly claim: string;
  readonly volume: string;
}

/** One look at what is on a node. `unknown`: the cluster has no such thing, or does not show it to Muster. */
export interface NodeContents {
  readonly node: ClusterNode | undefined;
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[] | 'unknown';
  readonly localVolumes: readonly LocalVolume[] | 'unknown';
}

/** The marks of a cordon. Each is set or removed; one that is left out stays as it is. */
export interface NodeMarks {
  readonly isUnschedulable?: boolean;
  readonly isExcludedFromLoadBalancers?: boolean;
}

export interface PodEviction {
  readonly namespace: string;
  readonly name: string;
  /** Another pod of this name is left alone. */
  readonly uid: string;
  /** Instead of the pod's own. */
  readonly graceSeconds?: number;
}

export type EvictionAnswer =
  | { readonly kind: 'accepted' }
  /** It is gone, or another pod has its name. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'budget'; readonly budget?: string; readonly text: string; readonly retryAfterMs?: number }
  | { readonly kind: 'two-budgets'; readonly text: string };

/** What a caller may not do there: verb and resource, as `kubectl auth can-i` names them. */
export interface MissingPermission {
  readonly verb: string;
  readonly resource: string;
}

export interface ClusterFacts {
  /** Absent when the cluster does not say. */
  readonly version?: string;
  readonly missingPermissions: readonly MissingPermission[] | 'unknown';
  /** Where kubeadm of a joining node is to connect to, as the cluster publishes it: `host:port`. */
  readonly joinEndpoint?: string;
  /** Pins the authority that signs for the cluster: `sha256:<hex>` of its public key. */
  readonly caPin?: string;
}

export interface BootstrapToken {
  /** Six characters. */
  readonly id: string;
  /** Sixteen characters. */
  readonly secret: string;
  readonly expiresAtMs: number;
  readonly about: string;
}

export interface ClusterCallOptions {
  /** Aborted at the deadline, when the lease is lost, and when the operation is cancelled. */
  readonly signal: AbortSignal;
}

/** What a simulated kubelet says of itself. */
export interface NodeRegistration {
  readonly name: string;
  readonly providerId?: string;
}

export interface ClusterApi {
  readFacts(how: ClusterCallOptions): Promise<ClusterFacts>;
  listNodes(how: ClusterCallOptions): Promise<readonly ClusterNode[]>;
  readNode(name: string, how: ClusterCallOptions): Promise<ClusterNode | undefined>;
  /** Changes the marks of the Node with this UID; undefined when there is no such Node any more. */
  markNode(node: NodeRef, marks: NodeMarks, how: ClusterCallOptions): Promise<ClusterNode | undefined>;
  /** `gone` also when another Node has its name. */
  deleteNode(node: NodeRef, how: ClusterCallOptions): Promise<'deleted' | 'gone'>;
  readContents(node: string, how: ClusterCallOptions): Promise<NodeContents>;
  /** Never deletes a pod: only requests its eviction. */
  evict(pod: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer>;
  /** How many volumes are attached to it still; `unknown` when the cluster does not show them. */
  countVolumeAttachments(node: string, how: ClusterCallOptions): Promise<number | 'unknown'>;
  /** Made again under the same id it is the same token. */
  createBootstrapToken(token: BootstrapToken, how: ClusterCallOptions): Promise<void>;
  /** Also of one that is not there. */
  revokeBootstrapToken(id: string, how: ClusterCallOptions): Promise<void>;
  /** Registers a Node that is Ready, and renews its Lease: what a kubelet does, for workers that are simulated. */
  heartbeatNode(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode>;
  /**
   * Calls back when something may have changed there, until it ends: by its signal, or because the API ends it or is away. It only makes a look sooner: nothing follows
   * from what it says, and one that is silent, breaks or never begins loses nothing.
   */
  watch(what: WatchedKind, onChange: (change: WatchedChange) => void, how: ClusterCallOptions): Promise<void>;
}

export type WatchedKind = 'nodes' | 'pods';

/** Where to look. */
export type WatchedChange =
  | { readonly kind: 'node'; readonly node: string }
  /** `node`: absent while it has none. */
  | { readonly kind: 'pod'; readonly namespace: string; readonly node?: string };

export interface NodeRef {
  readonly name: string;
  readonly uid: string;
}

/** The API does not answer: not reached, cut off, or it says itself that it is away. What was sent may have had effect. */
export class ClusterUnreachable extends Error {
  readonly code = 'cluster-unreachable';
  readonly retryable = true;
  /** A server answers with a certificate that is not valid for the API: nothing was sent to it. */
  readonly isUntrusted: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly isUntrusted?: boolean } = {}) {
    super(message, options);
    this.name = 'ClusterUnreachable';
    this.isUntrusted = options.isUntrusted === true;
  }
}

/** The API answered with a status that the port has no word for. */
export class ClusterRefused extends Error {
  readonly code = 'cluster-refused';
  readonly status: number;
  /** As Kubernetes names it, such as `Forbidden`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ClusterRefused';
    this.status = status;
    this.reason = reason;
  }

  /** A server's own fault, which may pass. */
  get retryable(): boolean {
    return this.status >= 500;
  }
}
