// A simulated cluster in memory: for tests and the simulation. It outlives the servers that call it, as a real one does. Faults stand in the way of calls as they are armed.
import {
  ClusterRefused,
  ClusterUnreachable,
  type BootstrapToken,
  type ClusterCallOptions,
  type ClusterApi,
  type ClusterFacts,
  type ClusterNode,
  type EvictionAnswer,
  type NodeContents,
  type NodeMarks,
  type NodeRef,
  type NodeRegistration,
  type PodEviction,
  type WatchedChange,
  type WatchedKind,
} from '../cluster-api.ts';
import { SimulatedCalls } from './calls.ts';
import {
  MemoryTable,
  podId,
  type ClusterObjects,
  type SimulatedClusterNode,
  type SimulatedPod,
  type SimulatedWorkload,
} from './objects.ts';
import { changeOfNode, changeOfPod, watchUntilAborted, type NotifyWatcher } from './watchers.ts';

/** What becomes of a call: it does not arrive, its answer does not, or it is answered by a status. */
export type CallFault = 'unreachable' | 'reply-lost' | { readonly status: number };

export type ApiCall = Exclude<keyof ClusterApi, 'watch'>;

export interface CallNote {
  readonly call: ApiCall;
  readonly node: string | undefined;
  readonly what: string;
}

export class MemoryCluster implements ClusterApi {
  readonly objects: ClusterObjects;
  /** In their order; also those that had no effect. */
  readonly calls: CallNote[] = [];
  /** Called before every call. */
  fault: (call: ApiCall, node: string | undefined) => CallFault | undefined = () => undefined;
  readonly #nowMs: () => number;
  readonly #watchers = new Set<NotifyWatcher>();
  #uids = 0;

  constructor(cluster: string, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.objects = {
      cluster,
      nodes: new MemoryTable<SimulatedClusterNode>((node) => this.#notify(changeOfNode(node))),
      workloads: new MemoryTable<SimulatedWorkload>(),
      pods: new MemoryTable<SimulatedPod>((pod) => this.#notify(changeOfPod(pod))),
      tokens: new MemoryTable<{ cluster: string; expiresAtMs: number }>(),
    };
  }

  /** What is there now, past every fault. */
  look(): SimulatedCalls {
    return new SimulatedCalls(this.objects, this.#nowMs());
  }

  nextUid(): string {
    this.#uids += 1;
    return `uid-${this.#uids}`;
  }

  readFacts(how: ClusterCallOptions): Promise<ClusterFacts> {
    const facts: ClusterFacts = {
      version: 'v0.0.0-simulated',
      missingPermissions: [],
      caPin: `sha256:${'0'.repeat(64)}`,
    };
    return this.#answer({ call: 'readFacts', node: undefined, what: '' }, how, () => facts);
  }

  listNodes(how: ClusterCallOptions): Promise<readonly ClusterNode[]> {
    return this.#answer({ call: 'listNodes', node: undefined, what: '' }, how, (calls) => calls.listNodes());
  }

  readNode(name: string, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    return this.#answer({ call: 'readNode', node: name, what: '' }, how, (calls) => calls.readNode(name));
  }

  markNode(node: NodeRef, marks: NodeMarks, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    const note = { call: 'markNode', node: node.name, what: JSON.stringify(marks) } as const;
    return this.#answer(note, how, (calls) => calls.markNode(node, marks));
  }

  deleteNode(node: NodeRef, how: ClusterCallOptions): Promise<'deleted' | 'gone'> {
    const note = { call: 'deleteNode', node: node.name, what: node.uid } as const;
    return this.#answer(note, how, (calls) => calls.deleteNode(node));
  }

  readContents(node: string, how: ClusterCallOptions): Promise<NodeContents> {
    return this.#answer({ call: 'readContents', node, what: '' }, how, (calls) => calls.readContents(node));
  }

  evict(pod: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer> {
    const node = this.objects.pods.get(podId(pod.namespace, pod.name))?.node;
    const note = { call: 'evict', node, what: `${pod.namespace}/${pod.name}` } as const;
    return this.#answer(note, how, (calls) => calls.evict(pod));
  }

  countVolumeAttachments(node: string, how: ClusterCallOptions): Promise<number> {
    const note = { call: 'countVolumeAttachments', node, what: '' } as const;
    return this.#answer(note, how, (calls) => calls.countVolumeAttachments(node));
  }

  createBootstrapToken(token: BootstrapToken, how: ClusterCallOptions): Promise<void> {
    const note = { call: 'createBootstrapToken', node: undefined, what: token.id } as const;
    return this.#answer(note, how, (calls) => calls.createBootstrapToken(token));
  }

  revokeBootstrapToken(id: string, how: ClusterCallOptions): Promise<void> {
    const note = { call: 'revokeBootstrapToken', node: undefined, what: id } as const;
    return this.#answer(note, how, (calls) => calls.revokeBootstrapToken(id));
  }

  heartbeatNode(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode> {
    const note = { call: 'heartbeatNode', node: node.name, what: '' } as const;
    return this.#answer(note, how, (calls) => calls.heartbeatNode(node, () => this.nextUid()));
  }

  watch(what: WatchedKind, onChange: (change: WatchedChange) => void, how: ClusterCallOptions): Promise<void> {
    const subscribe = (notify: NotifyWatcher) => {
      this.#watchers.add(notify);
      return () => void this.#watchers.delete(notify);
    };
    return watchUntilAborted(subscribe, { what, onChange }, how);
  }

  #notify(change: WatchedChange): void {
    for (const notify of this.#watchers) notify(change);
  }

  async #answer<T>(note: CallNote, { signal }: ClusterCallOptions, carryOut: (calls: SimulatedCalls) => T): Promise<T> {
    signal.throwIfAborted();
    const fault = this.fault(note.call, note.node);
    if (fault === 'unreachable') throw new ClusterUnreachable('the API does not answer');
    if (fault !== undefined && fault !== 'reply-lost')
      throw new ClusterRefused(fault.status, 'Fault', `status ${fault.status}`);
    this.calls.push(note);
    const answer = carryOut(this.look());
    if (fault === 'reply-lost') throw new ClusterUnreachable('the connection was cut before the answer');
    return answer;
  }
}
