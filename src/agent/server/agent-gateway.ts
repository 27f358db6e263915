// The lease holder's end of the link: agents join, send heartbeats, get their views and report results here. It decides nothing itself and
// keeps nothing that the next holder would miss; without the lease it only names the holder.
import { secretText, TOKEN, tokenIdIn, type Token, type TokenId } from '../../access/index.ts';
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
import { AffectedHosts } from './affected-hosts.ts';
import { AgentReports } from './agent-reports.ts';
import { readConvergence } from './convergence.ts';
import { agentName, credentialId, joinAgent, type JoinCommand } from './decide.ts';
import { ConntrackRelay } from './conntrack-relay.ts';
import { recordObservation } from './observations.ts';
import { REPORT_KNOWN, REPORT_WANTED } from './heartbeat-response.ts';
import { ReportRecorder } from './report-recorder.ts';
import type {
  CollectRequest,
  CollectResponse,
  DepositRequest,
  DepositResponse,
  HeartbeatResponse,
  Heartbeat,
  JoinRequest,
  JoinResponse,
  Observations,
  ObservationsResponse,
  ViewResponse,
  ViewRequest,
} from '../protocol/messages.ts';
import { reportFromWire } from '../protocol/report-words.ts';
import type { Reply } from '../../link/index.ts';
import type { AgentGatewayOptions } from './gateway-options.ts';
import { SharedCredentials } from './shared-credentials.ts';
import { findAffectedHosts } from './compose-view.ts';
import { ViewComposer } from './view-composer.ts';
import { ViewDelivery } from './view-delivery.ts';
import { isRepeat, toBaseline } from './heartbeat-dedup.ts';
import { StatementIssuer } from './statement-issuer.ts';
import { LongPollWaiters } from './long-poll-waiters.ts';
import { TaskFactsRelay } from './task-facts-relay.ts';

/** Expired waits are ended a few at a time: a thousand answers at once would delay all other agents. */
const INTERVAL_MS = 50;

export class AgentGateway {
  readonly #options: AgentGatewayOptions;
  readonly statements: StatementIssuer;
  readonly #waiters = new LongPollWaiters();
  /** What agents have reported last. */
  readonly reports: AgentReports;
  readonly #views: ViewComposer;
  readonly #delivery: ViewDelivery;
  readonly #reportRecorder: ReportRecorder;
  readonly #conntrackRelay: ConntrackRelay;
  readonly #factsRelay: TaskFactsRelay;
  readonly shared = new SharedCredentials();
  /** Whose waiters are to be woken. */
  readonly #affected: AffectedHosts;
  #epoch: number | undefined;
  #isOpen = false;

  constructor(options: AgentGatewayOptions) {
    this.#options = options;
    this.statements = options.statements ?? new StatementIssuer({ journalId: () => options.journal.journalId });
    this.#reportRecorder = new ReportRecorder(options);
    this.#conntrackRelay = new ConntrackRelay(options);
    this.#factsRelay = new TaskFactsRelay(options.source.kinds);
    this.#affected = new AffectedHosts(options.clock, (host) => this.#waiters.wake(host));
    this.#views = new ViewComposer({ ...options, source: { ...options.source, relay: this.#factsRelay } });
    this.reports = new AgentReports(options.journal.fleet);
    this.#delivery = new ViewDelivery({
      ...options,
      ...{ views: this.#views, waiters: this.#waiters, statements: this.statements, reports: this.reports },
      denialOf: (identity) => this.denialOf(identity),
      redirect: () => this.#redirect(),
    });
  }

  /** How many agents wait for their view to change. */
  get waiterCount(): number {
    return this.#waiters.size;
  }

  /** Whether a host has applied a view that was composed at or after a revision, or an equal one. */
  hasConverged(host: string, revision: number, serviceVersion = 0): boolean {
    return !this.#lacksLease() && this.#delivery.hasConverged(host, revision, serviceVersion);
  }

  /** Wakes waiting agents until `signal` is aborted; then all waits are ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, clock, intervalMs = INTERVAL_MS } = this.#options;
    this.#isOpen = true;
    this.#views.clear(); // affected hosts were not tracked before
    const stops = [journal.onCommit(({ applied }) => this.#onCommit(applied)), journal.onRebuilt(() => this.#reset())];
    while (!signal.aborted) {
      this.#checkLease();
      this.#waiters.expire(clock.nowMs());
      this.#conntrackRelay.expire(clock.nowMs());
      await clock.sleep(intervalMs, signal);
    }
    for (const stop of stops) stop();
    this.close();
  }

  /** No agent waits here any more, and none is admitted. */
  close(): void {
    this.#isOpen = false;
    this.#waiters.wakeAll();
    this.#conntrackRelay.clear();
  }

  /** Another lease means another holder: waiting agents must be answered, and earlier reports may be out of date. */
  #checkLease(): void {
    const epoch = this.#options.journal.fence?.epoch;
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.reports.clear();
    this.#delivery.clear();
    this.#conntrackRelay.clear();
    this.#factsRelay.clear();
    this.shared.clear();
    this.#reportRecorder.reset();
    this.#reset();
  }

  #reset(): void {
    this.#views.clear();
    this.#waiters.wakeAll();
    this.#conntrackRelay.recheck();
  }

  #onCommit(applied: readonly AppliedChange[]): void {
    const { journal, source } = this.#options;
    this.#conntrackRelay.onCommit(applied);
    this.#factsRelay.onCommit(applied);
    this.#wakeUnauthorized(applied);
    // Finding the affected hosts costs more than most changes do, and on this server no agent waits for them.
    if (this.#views.isEmpty && this.#waiters.size === 0) return;
    for (const change of applied) {
      for (const host of findAffectedHosts(journal.fleet, source.parts, change)) {
        this.#affected.add(host);
        this.#views.invalidate(host);
      }
      if (change.kind === HOST.name) this.#forgetRemovedHost(change);
    }
  }

  /** A waiting agent whose token was revoked gets the refusal at once. */
  #wakeUnauthorized(applied: readonly AppliedChange[]): void {
    for (const { kind, after } of applied) {
      const { role, host, revoked } = (kind === TOKEN.name ? (after?.doc as Token | undefined) : undefined) ?? {};
      if (role !== 'agent' || host === undefined || revoked === undefined) continue;
      this.#waiters.wake(host);
      this.#conntrackRelay.recheck();
    }
  }

  #forgetRemovedHost({ before, after }: AppliedChange): void {
    const isRemoved = after === undefined || (after.doc as Host).state === 'removed';
    const id = (after ?? before)?.id ?? '';
    if (!isRemoved) return;
    this.reports.forget(id);
    this.#delivery.forget(id);
    this.#views.forget(id);
  }

  /** The token of a secret. Without the lease no agent is refused: this server may not have read the newest tokens yet. */
  authenticate(secret: string, role: 'agent' | 'join'): Reply<AgentIdentity> {
    const { journal, hash } = this.#options;
    if (this.#lacksLease()) return this.#redirect();
    const identity = authenticateAgent(journal.fleet, { secret, role, hash });
    if (!('code' in identity)) return { kind: 'answer', answer: identity };
    const host = hostOfRevokedToken(journal.fleet, { secret, role, hash });
    if (host === undefined) return toRefusedReply(identity);
    const token = tokenIdIn(secret);
    return toRefusedReply(this.refuseRevoked(host, token) ?? this.statements.attachProof(identity, { host, token }));
  }

  /**
   * A revoked credential was presented. For a removed host an alarm is raised now and then; and its agent is notified that the host was
   * removed, so that it clears its switch.
   */
  refuseRevoked(id: string, token: string | undefined): Refusal | undefined {
    this.#reportRecorder.recordRemovedHost(id);
    const host = findHost(this.#options.journal.fleet, id);
    if (host?.doc.state !== 'removed') return undefined;
    return this.statements.attachProof(notInFleet(id, host), { host: id, token });
  }

  /** When a removed host was last seen by this server, to the minute. */
  readonly removedReportMs = (host: string): number | undefined => this.#reportRecorder.removedReportMs(host);

  #denyUnlessAdmitted(identity: AgentIdentity): Refusal | undefined {
    const { journal, clock } = this.#options;
    const refusal = denyUnlessAdmitted(journal.fleet, identity, clock.nowMs());
    if (refusal?.code === 'host-removed') this.#reportRecorder.recordRemovedHost(identity.host);
    return refusal === undefined ? undefined : this.statements.attachProof(refusal, identity);
  }

  async join(joinToken: string, join: JoinRequest): Promise<Reply<JoinResponse>> {
    const { journal } = this.#options;
    const found = this.authenticate(joinToken, 'join');
    if (found.kind !== 'answer') return found;
    const identity = found.answer;
    const command = this.joinCommand(identity, join);
    const decide = (fleet: Parameters<typeof joinAgent>[0]): Decision<JoinResponse> => joinAgent(fleet, command);
    try {
      const outcome = await journal.submit({ by: agentName(identity.host), why: 'agent joins', decide });
      if (outcome.kind === 'refused') return toRefusedReply(outcome.refusal);
      return { kind: 'answer', answer: this.statements.joinResponse(outcome.answer) };
    } catch (error) {
      if (error instanceof NotHolder) return this.#redirect();
      throw error;
    }
  }

  /** The secret ends here: the decision only gets its hash. */
  joinCommand({ host, token }: AgentIdentity, { secret, host: claimed }: JoinRequest): JoinCommand {
    const { clock, hash } = this.#options;
    const joinToken = token as TokenId;
    const credential = secretText(credentialId(joinToken), secret);
    return { joinToken, host, claimed, hash: hash(credential), nowMs: clock.nowMs() };
  }

  /** Costs three look-ups when nothing is new. Only what has to be recorded is committed, and the answer does not wait for it. */
  heartbeat(identity: AgentIdentity, beat: Heartbeat): Reply<HeartbeatResponse> {
    const { journal, liveness } = this.#options;
    if (this.#lacksLease()) return this.#redirect();
    const { host } = identity;
    const stored = findHost(journal.fleet, host);
    const agentReport = this.reports.get(host);
    if (agentReport?.baseline !== undefined && isRepeat(agentReport.baseline, identity.token, beat, stored)) {
      liveness.recordHeartbeat(host, true);
      return agentReport.report === undefined ? REPORT_WANTED : REPORT_KNOWN;
    }
    const refusal = this.#denyUnlessAdmitted(identity);
    if (refusal !== undefined) return toRefusedReply(refusal);
    this.shared.note(identity, beat.process, this.#options.clock.nowMs());
    const isUp = stored?.doc.connection.state === 'up';
    liveness.recordHeartbeat(host, isUp);
    const report = beat.report === undefined ? agentReport?.report : reportFromWire(beat.report);
    const isNew = stored === undefined || this.#reportRecorder.record(identity, stored.doc, { beat, report });
    const sentRevision = this.#delivery.sentRevisionOf(host);
    const { applied, unready } = readConvergence(beat, { host: stored?.doc, previous: agentReport, sentRevision });
    const baseline = isUp && !isNew ? toBaseline(identity, beat, stored) : undefined;
    this.reports.record(host, { applied, unready, report, baseline });
    return report === undefined ? REPORT_WANTED : REPORT_KNOWN;
  }

  /** The view, as soon as it differs from the one that the agent has. */
  view(identity: AgentIdentity, request: ViewRequest): Promise<Reply<ViewResponse>> {
    return this.#delivery.deliver(identity, request);
  }

  /** Results of tasks. Each counts by itself: one that cannot be recorded now does not delay the others. */
  async observe(identity: AgentIdentity, { answers }: Observations): Promise<Reply<ObservationsResponse>> {
    const denial = this.denialOf(identity);
    if (denial !== undefined) return denial;
    for (const answer of answers) this.#factsRelay.note(this.#options.journal.fleet, identity.host, answer);
    const results = await Promise.all(answers.map((answer) => recordObservation(this.#options, identity, answer)));
    return { kind: 'answer', answer: { results } };
  }

  /** Connections for the host that takes a service over. They stay in memory and are never journalled. */
  deposit(identity: AgentIdentity, deposit: DepositRequest): Reply<DepositResponse> {
    return this.denialOf(identity) ?? this.#conntrackRelay.deposit(identity.host, deposit);
  }

  collect(identity: AgentIdentity, request: CollectRequest): Promise<Reply<CollectResponse>> {
    return this.#conntrackRelay.collect(identity.host, request, () => this.denialOf(identity));
  }

  /** The answer to an agent that this server cannot serve. */
  denialOf(identity: AgentIdentity): Reply<never> | undefined {
    if (this.#lacksLease()) return this.#redirect();
    const refusal = this.#denyUnlessAdmitted(identity);
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
