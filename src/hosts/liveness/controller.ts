// Receives heartbeats at the lease holder and commits connection transitions. A holder that is new, or was itself away, restarts every
// host's clock: it must never hold its own absence against a host.
import { runInSlices } from '../../access/index.ts';
import { finish, mark, valueOf, type FleetReader, type Steps } from '../../fleet/index.ts';
import {
  isJournalAway,
  LeaseHolderLoop,
  type Clock,
  type Decision,
  type Journal,
  type Log,
} from '../../journal/index.ts';
import { SITE } from '../../sites/index.ts';
import { findHost } from '../decide.ts';
import {
  addHeartbeat,
  LIVENESS,
  addLoss,
  NO_HEARTBEAT_HISTORY,
  possiblePartitionAfterMs,
  type HeartbeatHistory,
  type ObservationWindow,
  type LivenessSettings,
} from './liveness.ts';
import { HOST } from '../model.ts';
import {
  planLiveness,
  findPossiblyPartitionedSites,
  recordSilentSites,
  recordTransitions,
  type LivenessPlan,
  type Transition,
} from './plan.ts';

export interface LivenessOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 1000;
/** A host is missed when its time is up and not at the next look; but of many that fall silent one by one, some are missed together. */
const BETWEEN_EARLY_LOOKS_MS = 100;
/** A pass that is later than this was not merely delayed: the process or the machine stood still. */
const ABSENT_AFTER_MS = 5000;
/** Hosts in one step: well below a millisecond. */
const HOSTS_PER_STEP = 100;
/** So many are checked in a millisecond or two, at any time. */
const HOSTS_AT_ONCE_MAX = 2000;
/** Hosts per commit: a returning site is a few commits, none of them large. */
const TRANSITIONS_PER_COMMIT = 100;

export class LivenessController {
  readonly #options: LivenessOptions;
  readonly #loop: LeaseHolderLoop;
  /** In the order of their last heartbeats, the longest silent first: a pass stops at the first host that is not silent. */
  readonly #heartbeats = new Map<string, HeartbeatHistory>();
  /** Sends heartbeats, but is not up yet: joining, or back after a loss. */
  readonly #returning = new Set<string>();
  #epoch: number | undefined;
  #observingSinceMs = 0;
  #lastPassMs = 0;
  /** When the first of the hosts that are up becomes suspect if no heartbeat follows. */
  #dueMs: number | undefined;
  #earlyPassMs = 0;
  /** Computed on first use after a pass, as it is not needed while no host is silent; with many hosts by the pass. */
  #possiblyPartitionedSites: ReadonlySet<string> | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'liveness',
      reconcile: () => this.reconcile(),
      intervalMs: () => this.#nextPassInMs(),
      // Without the lease it forgets whose clocks it started.
      runsAsFollower: true,
    });
  }

  /** Records a heartbeat, in memory only; a host that was unknown or down is checked soon. */
  recordHeartbeat(host: string, isUp = this.#isUp(host)): void {
    const { journal, clock } = this.#options;
    const nowMs = clock.nowMs();
    // Before the first pass of a term: heartbeats until then belong to it.
    if (journal.fence !== undefined && journal.fence.epoch !== this.#epoch)
      this.#restartObservation(journal.fence.epoch, nowMs);
    const settings = valueOf(journal.fleet, LIVENESS);
    const history = addHeartbeat(this.#heartbeats.get(host) ?? NO_HEARTBEAT_HISTORY, nowMs, settings);
    this.#heartbeats.delete(host);
    this.#heartbeats.set(host, history);
    if (!isUp) this.#returning.add(host);
  }

  #isUp(host: string): boolean {
    return findHost(this.#options.journal.fleet, host)?.doc.connection.state === 'up';
  }

  /** When this server last received a heartbeat of a host. */
  lastHeartbeatMs(host: string): number | undefined {
    return this.#heartbeats.get(host)?.lastMs;
  }

  /**
   * Whether so many hosts of a site are silent that its uplink may be cut, or this server has not observed for long enough to decide: no host
   * there may be considered lost for its silence.
   */
  maybePartitioned(site: string): boolean {
    const { journal, clock } = this.#options;
    if (journal.fence === undefined || journal.fence.epoch !== this.#epoch) return true;
    const listening = { sinceMs: this.#observingSinceMs, nowMs: clock.nowMs() };
    const settings = valueOf(journal.fleet, LIVENESS);
    if (listening.nowMs - listening.sinceMs < possiblePartitionAfterMs(settings)) return true;
    this.#possiblyPartitionedSites ??= finish(
      findPossiblyPartitionedSites(journal.fleet, this.#heartbeats, listening, settings),
    );
    return this.#possiblyPartitionedSites.has(site);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  #nextPassInMs(): number {
    const { clock, intervalMs = INTERVAL_MS } = this.#options;
    const nowMs = clock.nowMs();
    const earlyMs = Math.max(this.#dueMs ?? Infinity, this.#earlyPassMs + BETWEEN_EARLY_LOOKS_MS);
    if (earlyMs >= nowMs + intervalMs) return intervalMs;
    this.#earlyPassMs = Math.max(earlyMs, nowMs);
    return this.#earlyPassMs - nowMs;
  }

  /** Checks every host once. */
  async reconcile(): Promise<void> {
    const { journal, clock } = this.#options;
    const nowMs = clock.nowMs();
    this.#dueMs = undefined;
    if (!this.#isLarge) this.#possiblyPartitionedSites = undefined;
    if (journal.fence === undefined) {
      this.#epoch = undefined;
      return;
    }
    this.#restartObservationAfterAbsence(journal.fence.epoch, nowMs);
    this.#lastPassMs = nowMs;
    const listening = { sinceMs: this.#observingSinceMs, nowMs };
    const settings = valueOf(journal.fleet, LIVENESS);
    await this.#record(await runInSlices(this.#plan(listening, settings), clock), nowMs);
    // Before it is requested: then it would take one long piece of the event loop. Until it is there the one before holds.
    const { fleet } = journal;
    if (this.#isLarge)
      this.#possiblyPartitionedSites = await runInSlices(
        findPossiblyPartitionedSites(fleet, this.#heartbeats, { ...listening, nowMs: clock.nowMs() }, settings),
        clock,
      );
  }

  get #isLarge(): boolean {
    return this.#heartbeats.size > HOSTS_AT_ONCE_MAX;
  }

  *#plan(listening: ObservationWindow, settings: LivenessSettings): Steps<LivenessPlan> {
    const { fleet } = this.#options.journal;
    const watched = yield* this.#hostsToAssess(fleet, listening, settings);
    return yield* planLiveness(fleet, watched, listening, settings);
  }

  #restartObservationAfterAbsence(epoch: number, nowMs: number): void {
    if (epoch === this.#epoch && nowMs - this.#lastPassMs <= ABSENT_AFTER_MS) return;
    if (epoch === this.#epoch) mark('liveness-own-absence');
    this.#restartObservation(epoch, nowMs);
  }

  #restartObservation(epoch: number, nowMs: number): void {
    if (epoch !== this.#epoch) this.#expectAll();
    this.#possiblyPartitionedSites = undefined;
    this.#epoch = epoch;
    this.#observingSinceMs = nowMs;
    this.#lastPassMs = nowMs;
  }

  /** A new holder has no heartbeat times: hosts that were up are expected to report again. Costs O(fleet), once. */
  #expectAll(): void {
    const known = new Map(this.#heartbeats);
    this.#heartbeats.clear();
    for (const { id, doc } of this.#options.journal.fleet.all(HOST)) {
      if (doc.connection.state !== 'unknown' && !known.has(id)) this.#heartbeats.set(id, NO_HEARTBEAT_HISTORY);
    }
    for (const [host, history] of known) this.#heartbeats.set(host, history);
  }

  /** The hosts that a pass has to check. Heartbeats that come between the steps move their hosts to the end. */
  *#hostsToAssess(
    fleet: FleetReader,
    listening: ObservationWindow,
    settings: LivenessSettings,
  ): Steps<Map<string, HeartbeatHistory>> {
    const watched = new Map<string, HeartbeatHistory>();
    for (const [host, history] of this.#heartbeats) {
      if (watched.size % HOSTS_PER_STEP === HOSTS_PER_STEP - 1) yield;
      if (history.lastMs !== undefined && listening.nowMs - history.lastMs < settings.suspectAfterMs) {
        this.#dueMs = history.lastMs + settings.suspectAfterMs;
        break;
      }
      watched.set(host, history);
    }
    for (const host of this.#returning) {
      const history = this.#heartbeats.get(host);
      const stored = findHost(fleet, host);
      if (history === undefined || stored === undefined || stored.doc.connection.state === 'up')
        this.#returning.delete(host);
      else watched.set(host, history);
    }
    return watched;
  }

  async #record(plan: LivenessPlan, nowMs: number): Promise<void> {
    for (const host of plan.gone)
      if (findHost(this.#options.journal.fleet, host) === undefined) this.#heartbeats.delete(host);
    // The pass was made in slices: a heartbeat that came meanwhile counts.
    const transitions = plan.transitions.filter(({ host, to }) => to === 'up' || !this.#hasHeartbeatSince(host, nowMs));
    for (const { host, to } of transitions) {
      if (to === 'suspect' || to === 'down')
        this.#heartbeats.set(host, addLoss(this.#heartbeats.get(host) ?? NO_HEARTBEAT_HISTORY, nowMs));
    }
    const slices: Transition[][] = [];
    for (let at = 0; at < transitions.length; at += TRANSITIONS_PER_COMMIT) {
      slices.push(transitions.slice(at, at + TRANSITIONS_PER_COMMIT));
    }
    const sites = [...this.#options.journal.fleet.all(SITE)].map((site) => site.id);
    await Promise.all([...slices.map((slice) => this.#commitSlice(slice, nowMs)), ...this.#alarms(plan, sites, nowMs)]);
  }

  #hasHeartbeatSince(host: string, atMs: number): boolean {
    return (this.#heartbeats.get(host)?.lastMs ?? -Infinity) >= atMs;
  }

  #alarms(plan: LivenessPlan, sites: readonly string[], nowMs: number): Promise<void>[] {
    const decide = (fleet: FleetReader): Decision<number> => recordSilentSites(fleet, plan, sites, nowMs);
    const planned = decide(this.#options.journal.fleet);
    const changes = planned.kind === 'accept' ? planned.changes.length : 0;
    return changes === 0 ? [] : [this.#commit('silence of a whole site', decide)];
  }

  /** A host whose document cannot be written is logged on its own; the others of its slice are not held up. */
  async #commitSlice(slice: readonly Transition[], nowMs: number): Promise<void> {
    try {
      await this.#commit('connection transitions committed', (fleet) => recordTransitions(fleet, slice, nowMs));
    } catch (error) {
      if (slice.length > 1) await Promise.all(slice.map((one) => this.#commitSlice([one], nowMs)));
      else this.#options.log.error({ host: slice[0]?.host, err: error }, 'the connection of a host cannot be recorded');
    }
  }

  async #commit(why: string, decide: (fleet: FleetReader) => Decision<number>): Promise<void> {
    try {
      await this.#options.journal.submit({ by: 'liveness', why, decide });
    } catch (error) {
      // The next look, here or at the next holder, finds the same.
      if (!isJournalAway(error)) throw error;
      this.#options.log.warn({ code: error.code }, 'liveness not recorded');
    }
  }
}
