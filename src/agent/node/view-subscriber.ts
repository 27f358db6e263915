// Keeps the host's view: waits at the holder for another one, refuses what is older, and has it on disk before anything
// acts on it. While no server answers, the last view stays.
import { mark } from '../../fleet/index.ts';
import { LongPoll, type LeaderClient, type PollOutcome, DiskFailed } from '../../link/index.ts';
import type { Membership } from './membership.ts';
import type { AgentStateStore, StoredView } from './state/agent-state-store.ts';
import type { HostReport, View, ViewResponse, ViewRequest } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';
import { findViewRefusal } from '../protocol/stamp.ts';
import type { ViewAuthenticity } from './trust.ts';

export interface ViewSubscriberParts {
  readonly leader: LeaderClient;
  readonly store: AgentStateStore;
  readonly membership: Membership;
  /** Called when another view was taken, or the same one was confirmed. */
  readonly onView: () => void;
}

export class ViewSubscriber {
  readonly #ports: AgentPorts;
  readonly #parts: ViewSubscriberParts;
  #accepted: StoredView | undefined;
  #isConfirmed = false;
  #isVerified = false;
  #refusedView: HostReport['refusedView'];
  #problem: string | undefined;

  constructor(ports: AgentPorts, parts: ViewSubscriberParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  get view(): View | undefined {
    return this.#accepted?.view;
  }

  /** Whether a holder has confirmed the view since this program started. Tasks of one from the disk may be over. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  /** Whether the view has proven to be of the control plane since this program started. One that has not may end nothing. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  get refusedView(): HostReport['refusedView'] {
    return this.#refusedView;
  }

  get problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Of a host that was ordered to leave, the last view is nothing to go by; nor is one that was taken under another credential. */
  async load(): Promise<void> {
    const { membership, store } = this.#parts;
    if (membership.departure.isLeaving) return;
    const stored = await store.readView();
    if (stored?.token === membership.current?.token) this.#accepted = stored;
  }

  /** The host has left: whatever it gets next is for a new identity. */
  reset(): void {
    this.#accepted = undefined;
    this.#isConfirmed = this.#isVerified = false;
    this.#refusedView = undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { leader, membership } = this.#parts;
    const { link } = this.#ports;
    const longPoll = new LongPoll<ViewResponse>(this.#ports, {
      leader,
      secret: () => membership.credential(),
      request: (to, how) => link.view(to, this.#composeRequest(how.isResumed), how.signal),
      take: (answer, via) => this.#take(answer, via),
    });
    await longPoll.run(signal);
  }

  #composeRequest(isResumed: boolean): ViewRequest {
    const words = 'glossary';
    if (!isResumed || this.#accepted === undefined || this.#lacksProof) return { words };
    const { digest, stamp } = this.#accepted.view;
    return { digest, leaseEpoch: stamp.leaseEpoch, words };
  }

  async #take(answer: ViewResponse, via: string): Promise<PollOutcome> {
    const { membership } = this.#parts;
    await membership.updateTrust(answer.controlPlane, via);
    if (answer.kind === 'view') {
      const authenticity = membership.authenticateView(answer, via);
      if (authenticity === 'not-authentic') return 'not-taken';
      return (await this.#accept(answer.view, authenticity)) ? 'taken' : 'not-taken';
    }
    // That a view is unchanged is not signed: a forged answer could bring back the tasks of one from the disk, which are over.
    if (this.#lacksProof) return 'not-taken';
    this.#confirm();
    return 'unchanged';
  }

  /** The view is of the disk, or was taken before this agent had a key: now it can be proven, so it is requested in full. */
  get #lacksProof(): boolean {
    return !this.#isVerified && this.#parts.membership.trust !== undefined;
  }

  /** A holder of the same epoch has the very view whose digest the request names: that is as good as sending it. */
  #confirm(): void {
    if (this.#isConfirmed && this.#refusedView === undefined) return;
    this.#isConfirmed = true;
    this.#refusedView = undefined;
    this.#parts.onView();
  }

  async #accept(view: View, authenticity: ViewAuthenticity): Promise<boolean> {
    const { membership, store } = this.#parts;
    const current = membership.current;
    if (current === undefined) return false;
    const bound = this.#accepted?.token === current.token ? this.#accepted.view.stamp : undefined;
    const because = findViewRefusal({ host: current.host, stamp: bound, journalId: current.trust?.journalId }, view);
    if (because !== undefined) return this.#refuse(because, view);
    const taken: StoredView = { token: current.token, view };
    try {
      if (!isSame(taken, this.#accepted)) await store.writeView(taken);
      await membership.confirmIdentity();
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      // What is not on disk is not acted on: after a crash it would be unknown how far this agent had come.
      this.#problem = error.message;
      return false;
    }
    this.#problem = undefined;
    this.#refusedView = undefined;
    this.#accepted = taken;
    this.#isVerified = authenticity === 'authentic';
    this.#isConfirmed = true;
    this.#parts.onView();
    return true;
  }

  #refuse(because: NonNullable<HostReport['refusedView']>['because'], { stamp }: View): false {
    mark('agent-refuses-old-view');
    if (this.#refusedView?.because !== because)
      this.#ports.log.warn({ because, stamp, have: this.#accepted?.view.stamp }, 'a view is refused');
    this.#refusedView = { because, stamp };
    return false;
  }
}

function isSame(one: StoredView, other: StoredView | undefined): boolean {
  if (one.token !== other?.token || one.view.digest !== other.view.digest) return false;
  const [a, b] = [one.view.stamp, other.view.stamp];
  return a.journalId === b.journalId && a.leaseEpoch === b.leaseEpoch && a.revision === b.revision;
}
