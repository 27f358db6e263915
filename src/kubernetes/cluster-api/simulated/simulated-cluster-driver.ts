// A simulated cluster as a server has it: each call is a commit of its own where it changes something, as a call of a real API has an effect of its own.
import { accept, isJournalAway, type Clock, type Ids, type Journal } from '../../../journal/index.ts';
import {
  ClusterUnreachable,
  type BootstrapToken,
  type CallOptions,
  type ClusterApi,
  type ClusterFacts,
  type ClusterNode,
  type EvictionAnswer,
  type NodeContents,
  type NodeMarks,
  type NodeRef,
  type NodeRegistration,
  type PodEviction,
} from '../cluster-api.ts';
import { SimulatedCalls } from './calls.ts';
import { FleetObjects } from './fleet-objects.ts';

export interface SimulatedClusterOptions {
  readonly cluster: string;
  readonly journal: Pick<Journal, 'submit'>;
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

  async readFacts({ signal }: CallOptions): Promise<ClusterFacts> {
    signal.throwIfAborted();
    return FACTS;
  }

  listNodes(how: CallOptions): Promise<readonly ClusterNode[]> {
    return this.#call(how, (calls) => calls.listNodes());
  }

  readNode(name: string, how: CallOptions): Promise<ClusterNode | undefined> {
    return this.#call(how, (calls) => calls.readNode(name));
  }

  markNode(node: NodeRef, marks: NodeMarks, how: CallOptions): Promise<ClusterNode | undefined> {
    return this.#call(how, (calls) => calls.markNode(node, marks));
  }

  deleteNode(node: NodeRef, how: CallOptions): Promise<'deleted' | 'gone'> {
    return this.#call(how, (calls) => calls.deleteNode(node));
  }

  readContents(node: string, how: CallOptions): Promise<NodeContents> {
    return this.#call(how, (calls) => calls.readContents(node));
  }

  evict(pod: PodEviction, how: CallOptions): Promise<EvictionAnswer> {
    return this.#call(how, (calls) => calls.evict(pod));
  }

  countVolumeAttachments(node: string, how: CallOptions): Promise<number> {
    return this.#call(how, (calls) => calls.countVolumeAttachments(node));
  }

  createBootstrapToken(token: BootstrapToken, how: CallOptions): Promise<void> {
    return this.#call(how, (calls) => calls.createBootstrapToken(token));
  }

  revokeBootstrapToken(id: string, how: CallOptions): Promise<void> {
    return this.#call(how, (calls) => calls.revokeBootstrapToken(id));
  }

  heartbeatNode(node: NodeRegistration, how: CallOptions): Promise<ClusterNode> {
    const uid = this.#options.ids.next('uid');
    return this.#call(how, (calls) => calls.heartbeatNode(node, () => uid));
  }

  /** Silent: whoever watches looks by itself as well. */
  watch(): { close(): void } {
    return { close: () => undefined };
  }

  async #call<T>({ signal }: CallOptions, carryOut: (calls: SimulatedCalls) => T): Promise<T> {
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
