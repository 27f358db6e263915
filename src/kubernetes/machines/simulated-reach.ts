// A machine that is simulated: it has no script, and Muster says in its place what its kubelet would. Its Lease is renewed by the controller of simulated kubelets.
import type { ClusterCallOptions, ClusterApi } from '../cluster-api/cluster-api.ts';
import type { ContactAnswer, JoinCall, LeaveCall, Reach, ReachAnswer } from './reach.ts';

const ENDED: ReachAnswer = { kind: 'ended', exitCode: 0, output: { text: '', isCut: false } };

export class SimulatedReach implements Reach {
  readonly #api: ClusterApi;

  constructor(api: ClusterApi) {
    this.#api = api;
  }

  async contact({ signal }: ClusterCallOptions): Promise<ContactAnswer> {
    signal.throwIfAborted();
    return { kind: 'contacted' };
  }

  async join({ node, providerId }: JoinCall, how: ClusterCallOptions): Promise<ReachAnswer> {
    await this.#api.heartbeatNode({ name: node, providerId }, how);
    return ENDED;
  }

  /** Its kubelet says nothing more as soon as the instance is not active. */
  async leave(_call: LeaveCall, { signal }: ClusterCallOptions): Promise<ReachAnswer> {
    signal.throwIfAborted();
    return ENDED;
  }
}
