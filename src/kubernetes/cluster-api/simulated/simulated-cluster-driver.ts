// A simulated cluster as a server has it: each call is a commit of its own where it changes something, as a call of a real API has an effect of its own.
import type { AppliedChange } from '../../../fleet/index.ts';
import { accept, isJournalAway, type Clock, type Ids, type Journal } from '../../../journal/index.ts';
import {
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
import { FleetObjects } from './fleet-objects.ts';
import { SIMULATED_NODE, SIMULATED_POD } from './model.ts';
import type { SimulatedClusterNode, SimulatedPod } from './objects.ts';
import { changeOfNode, changeOfPod, watchUntilAborted, type NotifyWatcher } from './watchers.ts';

export interface SimulatedClusterOptions {
  readonly cluster: string;
  readonly journal: Pick<Journal, 'submit' | 'onCommit'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

const FACTS: ClusterFacts = {
  version: 'v0.0.0-simulated',
  missingPermissions: [],
  caPin: `sha256:${'0'.repeat(64)}`,
};

export class SimulatedCluster implements ClusterApi {
  readonly #options: SimulatedClusterOptions;

  constructor(options: SimulatedClusterOptions) {
    this.#options = options;
  }

  async readFacts({ signal }: ClusterCallOptions): Promise<ClusterFacts> {
    signal.throwIfAborted();
    return FACTS;
  }

  listNodes(how: ClusterCallOptions): Promise<readonly ClusterNode[]> {
    return this.#call(how, (calls) => calls.listNodes());
  }

  readNode(name: string, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    return this.#call(how, (calls) => calls.readNode(name));
  }

  markNode(node: NodeRef, marks: NodeMarks, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    return this.#call(how, (calls) => calls.markNode(node, marks));
  }

  deleteNode(node: NodeRef, how: ClusterCallOptions): Promise<'deleted' | 'gone'> {
    return this.#call(how, (calls) => calls.deleteNode(node));
  }

  readContents(node: string, how: ClusterCallOptions): Promise<NodeContents> {
    return this.#call(how, (calls) => calls.readContents(node));
  }

  evict(pod: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer> {
    return this.#call(how, (calls) => calls.evict(pod));
  }

  countVolumeAttachments(node: string, how: ClusterCallOptions): Promise<number> {
    return this.#call(how, (calls) => calls.countVolumeAttachments(node));
  }

  createBootstrapToken(token: BootstrapToken, how: ClusterCallOptions): Promise<void> {
    return this.#call(how, (calls) => calls.createBootstrapToken(token));
  }

  revokeBootstrapToken(id: string, how: ClusterCallOptions): Promise<void> {
    return this.#call(how, (calls) => calls.revokeBootstrapToken(id));
  }

  heartbeatNode(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode> {
    const uid = this.#options.ids.next('uid');
    return this.#call(how, (calls) => calls.heartbeatNode(node, () => uid));
  }

  /** What is over by the clock is seen when the next call is answered. */
  watch(what: WatchedKind, onChange: (change: WatchedChange) => void, how: ClusterCallOptions): Promise<void> {
    const { journal, cluster } = this.#options;
    const subscribe = (notify: NotifyWatcher) =>
      journal.onCommit(({ applied }) => {
        for (const change of applied) notifyOf(cluster, change, notify);
      });
    return watchUntilAborted(subscribe, { what, onChange }, how);
  }

  async #call<T>({ signal }: ClusterCallOptions, carryOut: (calls: SimulatedCalls) => T): Promise<T> {
    signal.throwIfAborted();
    const { cluster, journal, clock } = this.#options;
    const nowMs = clock.nowMs();
    try {
      const outcome = await journal.submit({
        by: `simulated-cluster:${cluster}`,
        decide: (fleet) => {
          const objects = new FleetObjects(fleet, cluster);
          const answer = carryOut(new SimulatedCalls(objects, nowMs));
          return accept(objects.changes(), answer);
        },
      });
      if (outcome.kind === 'accepted') return outcome.answer;
      throw new Error(`a call of the simulated cluster ${cluster} was refused: ${outcome.refusal.code}`);
    } catch (error) {
      if (!isJournalAway(error)) throw error;
      throw new ClusterUnreachable(`the simulated cluster ${cluster} does not answer`, { cause: error });
    }
  }
}

function notifyOf(cluster: string, { kind, before, after }: AppliedChange, notify: NotifyWatcher): void {
  const doc = (after ?? before)?.doc as SimulatedClusterNode | SimulatedPod | undefined;
  if (doc?.cluster !== cluster) return;
  if (kind === SIMULATED_NODE.name) notify(changeOfNode(doc as SimulatedClusterNode));
  if (kind === SIMULATED_POD.name) notify(changeOfPod(doc as SimulatedPod));
}
