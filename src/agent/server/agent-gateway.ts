// The lease holder's end of the link: agents join here, are heard, get their views and bring their answers. It decides
// nothing itself and keeps nothing that the next holder would miss; without the lease it only says who has it.
import { secretText, TOKEN, tokenIdIn, type Token, type TokenId } from '../../access/index.ts';
import type { PeerBfdStatus } from '../../election/index.ts';
import type { AppliedChange, Refusal } from '../../fleet/index.ts';
import { findHost, HOST, type Host } from '../../hosts/index.ts';
import { NotHolder, type Decision } from '../../journal/index.ts';
import {
  toRefusedReply,
  denyUnlessAdmitted,
  hostOfRevokedToken,
  notInFleet,
  authenticateAgent,
  type AgentIdentity,
} from './admission.ts';
import { ViewCache } from './view-cache.ts';
import { readConvergence, type Convergence } from './convergence.ts';
import { agentName, credentialId, joinAgent, type JoinCommand } from './decide.ts';
import { ConntrackRelay } from './conntrack-relay.ts';
import { recordObservation } from './observations.ts';
import { REPORT_KNOWN, REPORT_WANTED } from './heartbeat-response.ts';
import { ReportRecorder } from './report-recorder.ts';
import {
  VIEW_WAIT_MAX_MS,
  type CollectRequest,
  type CollectResponse,
  type DepositRequest,
  type DepositResponse,
  type HeartbeatResponse,
  type Heartbeat,
  type JoinRequest,
  type JoinResponse,
  type Observations,
  type ObservationsResponse,
  type HostReport,
  type View,
  type ViewResponse,
  type ViewRequest,
} from '../protocol/messages.ts';
import type { Reply } from '../node/ports.ts';
import type { AgentGatewayOptions } from './gateway-options.ts';
import { SharedCredentials } from './shared-credentials.ts';
import { affectedHosts, composeView, isOutdated } from './compose-view.ts';
import { BfdDownIndex } from './bfd-down-index.ts';
import { isRepeat, toBaseline, type HeartbeatBaseline } from './heartbeat-dedup.ts';
import { StatementIssuer } from './statement-issuer.ts';
import { LongPollWaiters } from './long-poll-waiters.ts';

/** What a host's agent last said of itself. In memory only: the next holder asks for it. */
export interface AgentReport extends Convergence {
  readonly report?: HostReport | undefined;
  readonly baseline?: HeartbeatBaseline | undefined;
}

/** Waits that run out are ended a few at a time: a thousand answers at once would hold up everybody else. */
const INTERVAL_MS = 50;

export class AgentGateway {
  readonly #options: AgentGatewayOptions;
  readonly statements: StatementIssuer;
  readonly #waiters = new LongPollWaiters();
  readonly #agentReports = new Map<string, AgentReport>();
  readonly #viewCache = new ViewCache();
  /** The view that was last given to each host. */
  readonly #sentViews = new Map<string, Pick<View, 'digest' | 'stamp'>>();
  readonly #reportRecorder: ReportRecorder;
  readonly #conntrackRelay: ConntrackRelay;
  readonly #bfdDown = new BfdDownIndex();
  readonly shared = new SharedCredentials();
  readonly #convergenceListeners = new Set<(host: string) => void>();
  /** Hosts that something happened to since the waiters were last woken. */
  #affected = new Set<string>();
  #isWakeScheduled = false;
  #epoch: number | undefined;
  #isOpen = false;

  constructor(options: AgentGatewayOptions) {
    this.#options = options;
    this.statements = options.statements ?? new StatementIssuer({ journalId: () => options.journal.journalId });
    this.#reportRecorder = new ReportRecorder(options);
    this.#conntrackRelay = new ConntrackRelay(options);
  }

  /** How many agents wait for their view to change. */
  get waiterCount(): number {
    return this.#waiters.size;
  }

  reportOf(host: string): AgentReport | undefined {
    return this.#agentReports.get(host);
  }

  /** Whether an agent that listens for the tunnel heartbeat of another host hears it. */
  bfdStatus(listener: string, host: string): PeerBfdStatus {
    // One that is silent itself said what it heard long ago.
    const isUp = findHost(this.#options.journal.fleet, listener)?.doc.connection.state === 'up';
    const unheard = this.#agentReports.get(listener)?.report?.unheardPeers;
    if (!isUp || unheard === undefined) return undefined;
    return unheard.includes(host) ? 'down' : 'up';
  }

  countBfdDown(host: string): number {
    return this.#bfdDown.countDown(host);
  }

  /** Calls at once when a host is heard no more by somebody, or again. */
  onBfdChange(listener: (host: string) => void): () => void {
    return this.#bfdDown.onChange(listener);
  }

  /** Calls whenever a host is in line with another view than before. */
  onConvergence(hear: (host: string) => void): () => void {
    this.#convergenceListeners.add(hear);
    return () => this.#convergenceListeners.delete(hear);
  }

  /** Whether a host has reported that it applied a view composed at or after a revision, or one that says the same. */
  hasConverged(host: string, revision: number, serviceVersion = 0): boolean {
    const { journal } = this.#options;
    const applied = this.#lacksLease() ? undefined : this.#agentReports.get(host)?.applied;
    if (applied === undefined) return false;
    if ((findHost(journal.fleet, host)?.doc.serviceVersion ?? 0) < serviceVersion) return false;
    const holds = this.#viewCache.isValidAt(host, applied, revision);
    if (holds !== undefined || journal.fleet.revision < revision) return holds ?? false;
    return this.#compose(host)?.digest === applied;
  }

  /** Why a host that has converged cannot provide a service yet; undefined when it can. */
  unreadinessOf(host: string, service: string): string | undefined {
    return this.#agentReports.get(host)?.unready?.get(service);
  }

  #compose(host: string): View | undefined {
    const { journal, source, clock } = this.#options;
    const leaseEpoch = journal.fence?.epoch;
    if (leaseEpoch === undefined) return undefined;
    const view = composeView(journal.fleet, source, host, { journalId: journal.journalId, leaseEpoch });
    this.#viewCache.record(host, { digest: view.digest, revision: view.stamp.revision, atMs: clock.nowMs() });
    return view;
  }

  /** Wakes those who wait, until `signal` is aborted; then everybody is sent away. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, clock, intervalMs = INTERVAL_MS } = this.#options;
    this.#isOpen = true;
    this.#viewCache.clear(); // nobody listened to what happened to hosts
    const stops = [
      journal.onCommit((_commit, applied) => this.#onCommit(applied)),
      journal.onRebuilt(() => this.#reset()),
    ];
    while (!signal.aborted) {
      this.#checkLease();
      this.#waiters.expire(clock.nowMs());
      this.#conntrackRelay.expire(clock.nowMs());
      await clock.sleep(intervalMs, signal);
    }
    for (const stop of stops) stop();
    this.close();
  }

  /** Nobody waits here any more, and nobody is let in. */
  close(): void {
    this.#isOpen = false;
    this.#waiters.wakeAll();
    this.#conntrackRelay.clear();
  }

  /** Another lease is another authority: those who wait must hear of it, and what was said before may be old. */
  #checkLease(): void {
    const epoch = this.#options.journal.fence?.epoch;
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#agentReports.clear();
    this.#sentViews.clear();
    this.#conntrackRelay.clear();
    this.#bfdDown.clear();
    this.shared.clear();
    this.#reportRecorder.reset();
    this.#reset();
  }

  #reset(): void {
    this.#viewCache.clear();
    this.#waiters.wakeAll();
    this.#conntrackRelay.recheck();
  }

  #onCommit(applied: readonly AppliedChange[]): void {
    const { journal, source, clock } = this.#options;
    this.#conntrackRelay.onCommit(applied);
    this.#wakeUnauthorized(applied);
    // Whom a change concerns costs more to know than most changes do, and here is nobody to tell.
    if (this.#viewCache.isEmpty && this.#waiters.size === 0) return;
    for (const change of applied) {
      for (const host of affectedHosts(journal.fleet, source.parts, change)) {
        this.#affected.add(host);
        this.#viewCache.invalidate(host);
      }
      if (change.kind === HOST.name) this.#forgetRemovedHost(change);
    }
    if (this.#affected.size === 0 || this.#isWakeScheduled) return;
    this.#isWakeScheduled = true;
    // The commits of a group come one after the other: a host that several of them touch is looked at once.
    void clock.turn().then(() => this.#wakeAffected());
  }

  /** Whoever waits here with a token that has ended is answered at once, with the refusal. */
  #wakeUnauthorized(applied: readonly AppliedChange[]): void {
    for (const { kind, after } of applied) {
      const { role, host, revoked } = (kind === TOKEN.name ? (after?.doc as Token | undefined) : undefined) ?? {};
      if (role !== 'agent' || host === undefined || revoked === undefined) continue;
      this.#waiters.wake(host);
      this.#conntrackRelay.recheck();
    }
  }

  #forgetRemovedHost({ before, after }: AppliedChange): void {
    const gone = after === undefined || (after.doc as Host).state === 'removed';
    const id = (after ?? before)?.id ?? '';
    if (!gone) return;
    this.#agentReports.delete(id);
    this.#sentViews.delete(id);
    this.#bfdDown.update(id, []);
    this.#viewCache.forget(id);
  }

  #wakeAffected(): void {
    const touched = this.#affected;
    this.#affected = new Set();
    this.#isWakeScheduled = false;
    for (const host of touched) this.#waiters.wake(host);
  }

  /** Whose secret this is. Without the lease nobody is judged: this server may not have read of the newest tokens. */
  authenticate(secret: string, role: 'agent' | 'join'): Reply<AgentIdentity> {
    const { journal, hash } = this.#options;
    if (this.#lacksLease()) return this.#redirect();
    const speaker = authenticateAgent(journal.fleet, { secret, role, hash });
    if (!('code' in speaker)) return { kind: 'answer', answer: speaker };
    const host = hostOfRevokedToken(journal.fleet, { secret, role, hash });
    if (host === undefined) return toRefusedReply(speaker);
    const token = tokenIdIn(secret);
    return toRefusedReply(this.refuseRevoked(host, token) ?? this.statements.attachProof(speaker, { host, token }));
  }

  /**
   * Somebody showed the credential of a host that has none any more. Of a removed one a person hears, now and then; and it is
   * told that it was removed, so that its switch is wiped.
   */
  refuseRevoked(id: string, token: string | undefined): Refusal | undefined {
    this.#reportRecorder.recordRemovedHost(id);
    const host = findHost(this.#options.journal.fleet, id);
    if (host?.doc.state !== 'removed') return undefined;
    return this.statements.attachProof(notInFleet(id, host), { host: id, token });
  }

  /** When a removed host was last heard by this server, to the minute. */
  readonly removedReportMs = (host: string): number | undefined => this.#reportRecorder.removedReportMs(host);

  #denyUnlessAdmitted(speaker: AgentIdentity): Refusal | undefined {
    const { journal, clock } = this.#options;
    const refusal = denyUnlessAdmitted(journal.fleet, speaker, clock.nowMs());
    if (refusal?.code === 'host-removed') this.#reportRecorder.recordRemovedHost(speaker.host);
    return refusal === undefined ? undefined : this.statements.attachProof(refusal, speaker);
  }

  async join(joinToken: string, join: JoinRequest): Promise<Reply<JoinResponse>> {
    const { journal } = this.#options;
    const found = this.authenticate(joinToken, 'join');
    if (found.kind !== 'answer') return found;
    const speaker = found.answer;
    const command = this.joinCommand(speaker, join);
    const decide = (fleet: Parameters<typeof joinAgent>[0]): Decision<JoinResponse> => joinAgent(fleet, command);
    try {
      const outcome = await journal.submit({ by: agentName(speaker.host), why: 'agent joins', decide });
      if (outcome.kind === 'refused') return toRefusedReply(outcome.refusal);
      return { kind: 'answer', answer: this.statements.joinResponse(outcome.answer) };
    } catch (error) {
      if (error instanceof NotHolder) return this.#redirect();
      throw error;
    }
  }

  /** The secret ends here: what goes on into the decision is its hash. */
  joinCommand({ host, token }: AgentIdentity, { secret, host: claimed }: JoinRequest): JoinCommand {
    const { clock, hash } = this.#options;
    const joinToken = token as TokenId;
    const credential = secretText(credentialId(joinToken), secret);
    return { joinToken, host, claimed, hash: hash(credential), nowMs: clock.nowMs() };
  }

  /** Costs three look-ups when it says nothing new. Only what is worth writing down is committed, and nobody waits for that. */
  heartbeat(speaker: AgentIdentity, beat: Heartbeat): Reply<HeartbeatResponse> {
    const { journal, liveness } = this.#options;
    if (this.#lacksLease()) return this.#redirect();
    const { host } = speaker;
    const stored = findHost(journal.fleet, host);
    const word = this.#agentReports.get(host);
    if (word?.baseline !== undefined && isRepeat(word.baseline, speaker.token, beat, stored)) {
      liveness.recordHeartbeat(host, true);
      return word.report === undefined ? REPORT_WANTED : REPORT_KNOWN;
    }
    const refusal = this.#denyUnlessAdmitted(speaker);
    if (refusal !== undefined) return toRefusedReply(refusal);
    this.shared.note(speaker, beat.process, this.#options.clock.nowMs());
    const isUp = stored?.doc.connection.state === 'up';
    liveness.recordHeartbeat(host, isUp);
    const report = beat.report ?? word?.report;
    const isNew = stored === undefined || this.#reportRecorder.record(speaker, stored.doc, { beat, report });
    const sentRevision = this.#sentViews.get(host)?.stamp.revision ?? 0;
    const { applied, unready } = readConvergence(beat, { host: stored?.doc, previous: word, sentRevision });
    const baseline = isUp && !isNew ? toBaseline(speaker, beat, stored) : undefined;
    this.#agentReports.set(host, { applied, unready, report, baseline });
    if (word?.report !== report) this.#bfdDown.update(host, report?.unheardPeers ?? []);
    if (word?.applied !== applied || word?.unready !== unready)
      for (const hear of this.#convergenceListeners) hear(host);
    return report === undefined ? REPORT_WANTED : REPORT_KNOWN;
  }

  /** The view, as soon as it is another than what the agent has. */
  async view(speaker: AgentIdentity, ask: ViewRequest): Promise<Reply<ViewResponse>> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + Math.min(ask.waitMs ?? VIEW_WAIT_MAX_MS, VIEW_WAIT_MAX_MS);
    for (;;) {
      if (this.#lacksLease()) return this.#redirect();
      const refusal = this.#denyUnlessAdmitted(speaker);
      if (refusal !== undefined) return toRefusedReply(refusal);
      // One that has another view than it was given last did not get that: it must not seem to be busy with it.
      const { digest = ask.digest } = this.#sentViews.get(speaker.host) ?? {};
      if (digest !== ask.digest || !this.#hasCurrentView(speaker.host, ask)) {
        const view = this.#compose(speaker.host);
        if (view === undefined) return this.#redirect();
        if (isOutdated(ask, view) || digest !== ask.digest) return this.#sendView(view, speaker);
      }
      if (clock.nowMs() >= untilMs) return this.#replyUnchanged();
      if ((await this.#waiters.wait(speaker.host, untilMs)) === 'over') return this.#replyUnchanged();
    }
  }

  /** The agent has what composing its view would give: nearly every poll finds it so. */
  #hasCurrentView(host: string, { digest, leaseEpoch }: ViewRequest): boolean {
    if (digest === undefined || leaseEpoch !== this.#epoch) return false;
    return this.#viewCache.isCurrent(host, digest, this.#options.clock.nowMs());
  }

  /** It is busy with this view from here on: what it said that it applied before says nothing of what it has now. */
  #sendView(view: View, { token }: AgentIdentity): Reply<ViewResponse> {
    this.#sentViews.set(view.host, { digest: view.digest, stamp: view.stamp });
    const word = this.#agentReports.get(view.host);
    if (word?.applied !== undefined && word.applied !== view.digest)
      this.#agentReports.set(view.host, { ...word, applied: undefined, baseline: undefined });
    return { kind: 'answer', answer: this.statements.viewResponse(view, token) };
  }

  #replyUnchanged(): Reply<ViewResponse> {
    return { kind: 'answer', answer: this.statements.unchangedResponse() };
  }

  /** Answers to tasks. Each counts by itself: one that cannot be taken now does not hold up the others. */
  async observe(speaker: AgentIdentity, { answers }: Observations): Promise<Reply<ObservationsResponse>> {
    const denial = this.denialOf(speaker);
    if (denial !== undefined) return denial;
    const results = await Promise.all(answers.map((answer) => recordObservation(this.#options, speaker, answer)));
    return { kind: 'answer', answer: { results } };
  }

  /** Connections for the host that takes a service over. They stay in memory: nothing of them is journalled. */
  deposit(speaker: AgentIdentity, deposit: DepositRequest): Reply<DepositResponse> {
    return this.denialOf(speaker) ?? this.#conntrackRelay.deposit(speaker.host, deposit);
  }

  collect(speaker: AgentIdentity, ask: CollectRequest): Promise<Reply<CollectResponse>> {
    return this.#conntrackRelay.collect(speaker.host, ask, () => this.denialOf(speaker));
  }

  /** What is said to one who does not get any further here. */
  denialOf(speaker: AgentIdentity): Reply<never> | undefined {
    if (this.#lacksLease()) return this.#redirect();
    const refusal = this.#denyUnlessAdmitted(speaker);
    return refusal === undefined ? undefined : toRefusedReply(refusal);
  }

  #lacksLease(): boolean {
    this.#checkLease();
    return !this.#isOpen || this.#options.journal.fence === undefined;
  }

  #redirect(): Reply<never> {
    return this.statements.redirect(this.#isOpen ? this.#options.holder() : undefined);
  }
}
