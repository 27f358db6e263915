// The lease holder's end of the link: agents join here, are heard, get their views and bring their answers. It decides
// nothing itself and keeps nothing that the next holder would miss; without the lease it only says who has it.
import { secretText, TOKEN, tokenIdIn, type Token, type TokenId } from '../access/index.ts';
import type { Hearing } from '../election/index.ts';
import type { AppliedChange, Refusal } from '../fleet/index.ts';
import { findHost, HOST, type Host } from '../hosts/index.ts';
import { NotHolder, type Clock, type Decision, type Journal } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import { refused, denyUnlessAdmitted, hostOfRevoked, notInFleet, speakerWith, type Speaker } from './admission.ts';
import { Composed } from './composed.ts';
import { convergenceIn, type Convergence } from './convergence.ts';
import { agentName, credentialId, joinAgent, type JoinCommand } from './decide.ts';
import { Exchange } from './exchange.ts';
import { recordObservation } from './observations.ts';
import { KNOWN, WANTED } from './heard.ts';
import { Reports } from './reports.ts';
import {
  VIEW_WAIT_MAX_MS,
  type Collect,
  type Collected,
  type Deposit,
  type Deposited,
  type Heard,
  type Heartbeat,
  type Join,
  type Joined,
  type Observations,
  type Observed,
  type Report,
  type View,
  type ViewAnswer,
  type ViewAsk,
} from './messages.ts';
import type { Reply } from './ports.ts';
import { affectedHosts, composeView, isNews, type ViewSource } from './view.ts';
import { SharedCredentials } from './shared-credentials.ts';
import { Unheard } from './unheard.ts';
import { isSettled, settledBy, type Settled } from './settled.ts';
import { Vouching } from './vouching.ts';
import { Waiters } from './waiters.ts';

export interface DeskOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** What views are made of. */
  readonly source: ViewSource;
  /** Told of every heartbeat. */
  readonly liveness: { heard(host: string, isUp: boolean): void };
  /** SHA-256 as hexadecimal text. */
  readonly hash: (text: string) => string;
  /** Where the lease holder answers, and in which epoch, as far as this server knows. */
  readonly holder: () => { readonly url: string; readonly epoch: number } | undefined;
  /** What this server signs with; one without keys signs nothing. */
  readonly vouching?: Vouching | undefined;
  readonly lookMs?: number;
}

/** What a host's agent last said of itself. In memory only: the next holder asks for it. */
export interface AgentWord extends Convergence {
  readonly report?: Report | undefined;
  readonly settled?: Settled | undefined;
}

/** Waits that run out are ended a few at a time: a thousand answers at once would hold up everybody else. */
const LOOK_MS = 50;

export class Desk {
  readonly #options: DeskOptions;
  readonly vouching: Vouching;
  readonly #waiters = new Waiters();
  readonly #words = new Map<string, AgentWord>();
  readonly #composed = new Composed();
  /** The view that was last given to each host. */
  readonly #given = new Map<string, Pick<View, 'digest' | 'stamp'>>();
  readonly #reports: Reports;
  readonly #exchange: Exchange;
  readonly #unheard = new Unheard();
  readonly shared = new SharedCredentials();
  readonly #hearers = new Set<(host: string) => void>();
  /** Hosts that something happened to since the waiters were last woken. */
  #touched = new Set<string>();
  #waking = false;
  #epoch: number | undefined;
  #open = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.vouching = options.vouching ?? new Vouching({ journalId: () => options.journal.journalId });
    this.#reports = new Reports(options);
    this.#exchange = new Exchange(options);
  }

  /** How many agents wait for their view to change. */
  get waiting(): number {
    return this.#waiters.size;
  }

  wordOf(host: string): AgentWord | undefined {
    return this.#words.get(host);
  }

  /** Whether an agent that listens for the tunnel heartbeat of another host hears it. */
  hearing(listener: string, host: string): Hearing {
    // One that is silent itself said what it heard long ago.
    const isUp = findHost(this.#options.journal.fleet, listener)?.doc.connection.state === 'up';
    const unheard = this.#words.get(listener)?.report?.unheardPeers;
    if (!isUp || unheard === undefined) return undefined;
    return unheard.includes(host) ? 'unheard' : 'heard';
  }

  unheardBy(host: string): number {
    return this.#unheard.by(host);
  }

  /** Calls at once when a host is heard no more by somebody, or again. */
  onHearing(listener: (host: string) => void): () => void {
    return this.#unheard.onChange(listener);
  }

  /** Calls whenever a host is in line with another view than before. */
  onApplied(hear: (host: string) => void): () => void {
    this.#hearers.add(hear);
    return () => this.#hearers.delete(hear);
  }

  /** Whether a host has reported that it applied a view composed at or after a revision, or one that says the same. */
  isInLine(host: string, revision: number, serviceVersion = 0): boolean {
    const { journal } = this.#options;
    const applied = this.#lacksLease() ? undefined : this.#words.get(host)?.applied;
    if (applied === undefined) return false;
    if ((findHost(journal.fleet, host)?.doc.serviceVersion ?? 0) < serviceVersion) return false;
    const holds = this.#composed.holdsAt(host, applied, revision);
    if (holds !== undefined || journal.fleet.revision < revision) return holds ?? false;
    return this.#compose(host)?.digest === applied;
  }

  /** Why a host that has converged cannot provide a service yet; undefined when it can. */
  unreadinessOf(host: string, service: string): string | undefined {
    return this.#words.get(host)?.unready?.get(service);
  }

  #compose(host: string): View | undefined {
    const { journal, source, clock } = this.#options;
    const leaseEpoch = journal.fence?.epoch;
    if (leaseEpoch === undefined) return undefined;
    const view = composeView(journal.fleet, source, host, { journalId: journal.journalId, leaseEpoch });
    this.#composed.note(host, { digest: view.digest, revision: view.stamp.revision, atMs: clock.nowMs() });
    return view;
  }

  /** Wakes those who wait, until `signal` is aborted; then everybody is sent away. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, clock, lookMs = LOOK_MS } = this.#options;
    this.#open = true;
    this.#composed.clear(); // nobody listened to what happened to hosts
    const stops = [
      journal.onCommit((_commit, applied) => this.#touch(applied)),
      journal.onRebuilt(() => this.#startAnew()),
    ];
    while (!signal.aborted) {
      this.#lookAtLease();
      this.#waiters.expire(clock.nowMs());
      this.#exchange.expire(clock.nowMs());
      await clock.sleep(lookMs, signal);
    }
    for (const stop of stops) stop();
    this.close();
  }

  /** Nobody waits here any more, and nobody is let in. */
  close(): void {
    this.#open = false;
    this.#waiters.changedAll();
    this.#exchange.clear();
  }

  /** Another lease is another authority: those who wait must hear of it, and what was said before may be old. */
  #lookAtLease(): void {
    const epoch = this.#options.journal.fence?.epoch;
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#words.clear();
    this.#given.clear();
    this.#exchange.clear();
    this.#unheard.clear();
    this.shared.clear();
    this.#reports.forget();
    this.#startAnew();
  }

  #startAnew(): void {
    this.#composed.clear();
    this.#waiters.changedAll();
    this.#exchange.look();
  }

  #touch(applied: readonly AppliedChange[]): void {
    const { journal, source, clock } = this.#options;
    this.#exchange.touch(applied);
    this.#wakeUnauthorized(applied);
    // Whom a change concerns costs more to know than most changes do, and here is nobody to tell.
    if (this.#composed.isEmpty && this.#waiters.size === 0) return;
    for (const change of applied) {
      for (const host of affectedHosts(journal.fleet, source.parts, change)) {
        this.#touched.add(host);
        this.#composed.touch(host);
      }
      if (change.kind === HOST.name) this.#forgetGone(change);
    }
    if (this.#touched.size === 0 || this.#waking) return;
    this.#waking = true;
    // The commits of a group come one after the other: a host that several of them touch is looked at once.
    void clock.turn().then(() => this.#wake());
  }

  /** Whoever waits here with a token that has ended is answered at once, with the refusal. */
  #wakeUnauthorized(applied: readonly AppliedChange[]): void {
    for (const { kind, after } of applied) {
      const { role, host, revoked } = (kind === TOKEN.name ? (after?.doc as Token | undefined) : undefined) ?? {};
      if (role !== 'agent' || host === undefined || revoked === undefined) continue;
      this.#waiters.changed(host);
      this.#exchange.look();
    }
  }

  #forgetGone({ before, after }: AppliedChange): void {
    const gone = after === undefined || (after.doc as Host).state === 'removed';
    const id = (after ?? before)?.id ?? '';
    if (!gone) return;
    this.#words.delete(id);
    this.#given.delete(id);
    this.#unheard.say(id, []);
    this.#composed.forget(id);
  }

  #wake(): void {
    const touched = this.#touched;
    this.#touched = new Set();
    this.#waking = false;
    for (const host of touched) this.#waiters.changed(host);
  }

  /** Whose secret this is. Without the lease nobody is judged: this server may not have read of the newest tokens. */
  speakerWith(secret: string, role: 'agent' | 'join'): Reply<Speaker> {
    const { journal, hash } = this.#options;
    if (this.#lacksLease()) return this.#elsewhere();
    const speaker = speakerWith(journal.fleet, { secret, role, hash });
    if (!('code' in speaker)) return { kind: 'answer', answer: speaker };
    const host = hostOfRevoked(journal.fleet, { secret, role, hash });
    if (host === undefined) return refused(speaker);
    const token = tokenIdIn(secret);
    return refused(this.refuseRevoked(host, token) ?? this.vouching.signRefusal(speaker, { host, token }));
  }

  /**
   * Somebody showed the credential of a host that has none any more. Of a removed one a person hears, now and then; and it is
   * told that it was removed, so that its switch is wiped.
   */
  refuseRevoked(id: string, token: string | undefined): Refusal | undefined {
    this.#reports.noteRemovedHost(id);
    const host = findHost(this.#options.journal.fleet, id);
    if (host?.doc.state !== 'removed') return undefined;
    return this.vouching.signRefusal(notInFleet(id, host), { host: id, token });
  }

  /** When a removed host was last heard by this server, to the minute. */
  readonly removedReportMs = (host: string): number | undefined => this.#reports.removedReportMs(host);

  #refusalOf(speaker: Speaker): Refusal | undefined {
    const { journal, clock } = this.#options;
    const refusal = denyUnlessAdmitted(journal.fleet, speaker, clock.nowMs());
    if (refusal?.code === 'host-removed') this.#reports.noteRemovedHost(speaker.host);
    return refusal === undefined ? undefined : this.vouching.signRefusal(refusal, speaker);
  }

  async join(joinToken: string, join: Join): Promise<Reply<Joined>> {
    const { journal } = this.#options;
    const found = this.speakerWith(joinToken, 'join');
    if (found.kind !== 'answer') return found;
    const speaker = found.answer;
    const command = this.joinCommand(speaker, join);
    const decide = (fleet: Parameters<typeof joinAgent>[0]): Decision<Joined> => joinAgent(fleet, command);
    try {
      const outcome = await journal.submit({ by: agentName(speaker.host), why: 'agent joins', decide });
      if (outcome.kind === 'refused') return refused(outcome.refusal);
      return { kind: 'answer', answer: this.vouching.joined(outcome.answer) };
    } catch (error) {
      if (error instanceof NotHolder) return this.#elsewhere();
      throw error;
    }
  }

  /** The secret ends here: what goes on into the decision is its hash. */
  joinCommand({ host, token }: Speaker, { secret, host: claimed }: Join): JoinCommand {
    const { clock, hash } = this.#options;
    const joinToken = token as TokenId;
    const credential = secretText(credentialId(joinToken), secret);
    return { joinToken, host, claimed, hash: hash(credential), nowMs: clock.nowMs() };
  }

  /** Costs three look-ups when it says nothing new. Only what is worth writing down is committed, and nobody waits for that. */
  heartbeat(speaker: Speaker, beat: Heartbeat): Reply<Heard> {
    const { journal, liveness } = this.#options;
    if (this.#lacksLease()) return this.#elsewhere();
    const { host } = speaker;
    const stored = findHost(journal.fleet, host);
    const word = this.#words.get(host);
    if (word?.settled !== undefined && isSettled(word.settled, speaker.token, beat, stored)) {
      liveness.heard(host, true);
      return word.report === undefined ? WANTED : KNOWN;
    }
    const refusal = this.#refusalOf(speaker);
    if (refusal !== undefined) return refused(refusal);
    this.shared.note(speaker, beat.process, this.#options.clock.nowMs());
    const isUp = stored?.doc.connection.state === 'up';
    liveness.heard(host, isUp);
    const report = beat.report ?? word?.report;
    const isNew = stored === undefined || this.#reports.heard(speaker, stored.doc, { beat, report });
    const givenRevision = this.#given.get(host)?.stamp.revision ?? 0;
    const { applied, unready } = convergenceIn(beat, { host: stored?.doc, before: word, givenRevision });
    const settled = isUp && !isNew ? settledBy(speaker, beat, stored) : undefined;
    this.#words.set(host, { applied, unready, report, settled });
    if (word?.report !== report) this.#unheard.say(host, report?.unheardPeers ?? []);
    if (word?.applied !== applied || word?.unready !== unready) for (const hear of this.#hearers) hear(host);
    return report === undefined ? WANTED : KNOWN;
  }

  /** The view, as soon as it is another than what the agent has. */
  async view(speaker: Speaker, ask: ViewAsk): Promise<Reply<ViewAnswer>> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + Math.min(ask.waitMs ?? VIEW_WAIT_MAX_MS, VIEW_WAIT_MAX_MS);
    for (;;) {
      if (this.#lacksLease()) return this.#elsewhere();
      const refusal = this.#refusalOf(speaker);
      if (refusal !== undefined) return refused(refusal);
      // One that has another view than it was given last did not get that: it must not seem to be busy with it.
      const { digest = ask.digest } = this.#given.get(speaker.host) ?? {};
      if (digest !== ask.digest || !this.#isKnown(speaker.host, ask)) {
        const view = this.#compose(speaker.host);
        if (view === undefined) return this.#elsewhere();
        if (isNews(ask, view) || digest !== ask.digest) return this.#give(view, speaker);
      }
      if (clock.nowMs() >= untilMs) return this.#unchanged();
      if ((await this.#waiters.wait(speaker.host, untilMs)) === 'over') return this.#unchanged();
    }
  }

  /** The agent has what composing its view would give: nearly every poll finds it so. */
  #isKnown(host: string, { digest, leaseEpoch }: ViewAsk): boolean {
    if (digest === undefined || leaseEpoch !== this.#epoch) return false;
    return this.#composed.isStill(host, digest, this.#options.clock.nowMs());
  }

  /** It is busy with this view from here on: what it said that it applied before says nothing of what it has now. */
  #give(view: View, { token }: Speaker): Reply<ViewAnswer> {
    this.#given.set(view.host, { digest: view.digest, stamp: view.stamp });
    const word = this.#words.get(view.host);
    if (word?.applied !== undefined && word.applied !== view.digest)
      this.#words.set(view.host, { ...word, applied: undefined, settled: undefined });
    return { kind: 'answer', answer: this.vouching.viewAnswer(view, token) };
  }

  #unchanged(): Reply<ViewAnswer> {
    return { kind: 'answer', answer: this.vouching.unchanged() };
  }

  /** Answers to tasks. Each counts by itself: one that cannot be taken now does not hold up the others. */
  async observe(speaker: Speaker, { answers }: Observations): Promise<Reply<Observed>> {
    const denial = this.denialOf(speaker);
    if (denial !== undefined) return denial;
    const results = await Promise.all(answers.map((answer) => recordObservation(this.#options, speaker, answer)));
    return { kind: 'answer', answer: { results } };
  }

  /** Connections for the host that takes a service over. They stay in memory: nothing of them is journalled. */
  deposit(speaker: Speaker, deposit: Deposit): Reply<Deposited> {
    return this.denialOf(speaker) ?? this.#exchange.deposit(speaker.host, deposit);
  }

  collect(speaker: Speaker, ask: Collect): Promise<Reply<Collected>> {
    return this.#exchange.collect(speaker.host, ask, () => this.denialOf(speaker));
  }

  /** What is said to one who does not get any further here. */
  denialOf(speaker: Speaker): Reply<never> | undefined {
    if (this.#lacksLease()) return this.#elsewhere();
    const refusal = this.#refusalOf(speaker);
    return refusal === undefined ? undefined : refused(refusal);
  }

  #lacksLease(): boolean {
    this.#lookAtLease();
    return !this.#open || this.#options.journal.fence === undefined;
  }

  #elsewhere(): Reply<never> {
    return this.vouching.elsewhere(this.#open ? this.#options.holder() : undefined);
  }
}
