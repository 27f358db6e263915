// What agents say of themselves and what is worth writing down of it: another version, another switch, a host that should not be
// there any more. Heartbeats are never journalled; nobody waits for any of this, and each host has one on its way at a time.
import { valueOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  CONDITIONS,
  isTombstoned,
  judgeTrouble,
  NEVER_BAD,
  recordConditions,
  recordStrays,
  straysKey,
  summarizeStrays,
  troubleKey,
  type Condition,
  type ConditionMemory,
  type Host,
} from '../../hosts/index.ts';
import {
  NotHolder,
  StoreUnavailable,
  type Clock,
  type Decision,
  type Journal,
  type Request,
} from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { denyUnlessAdmitted, type AgentIdentity } from './admission.ts';
import { agentName, recordVersion } from './decide.ts';
import type { Heartbeat, HostReport } from '../protocol/messages.ts';
import { reportedConditions } from './reported-conditions.ts';
import { isImpostor, isSameSwitch, recordRemovedHostReport, recordSwitch } from './switch-reports.ts';

export interface ReportRecorderOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** A removed host may knock every few seconds for years. */
const REMOVED_REPORT_INTERVAL_MS = 60_000;
const REMOVED_REPORTS_MAX = 10_000;

const IMMEDIATELY = { degradedAfterMs: 0, steadyMs: 0 };

export class ReportRecorder {
  readonly #options: ReportRecorderOptions;
  readonly #inFlight = new Set<string>();
  readonly #removedReports = new Map<string, number>();
  /** Of hosts that are in trouble or were lately. */
  readonly #conditions = new Map<string, ConditionMemory>();
  /** The same of those that report what the fleet does not know. */
  readonly #strays = new Map<string, ConditionMemory>();

  constructor(options: ReportRecorderOptions) {
    this.#options = options;
  }

  /** Whether there is anything new. Costs a few comparisons when there is not. */
  record(
    speaker: AgentIdentity,
    doc: Host,
    said: { readonly beat: Heartbeat; readonly report: HostReport | undefined },
  ): boolean {
    const { beat, report } = said;
    const { host } = speaker;
    const { clock, journal } = this.#options;
    if (doc.serviceVersion !== beat.serviceVersion) {
      const version = { host, serviceVersion: beat.serviceVersion, nowMs: clock.nowMs() };
      this.#submitAs(speaker, 'agent of another version', (fleet) => recordVersion(fleet, version));
      return true;
    }
    const isTroubled =
      this.#evaluateConditions(speaker, doc, reportedConditions(beat, report)) ||
      this.#evaluateStrays(speaker, doc, report);
    if (report?.switch === undefined) return isTroubled;
    // With each report it is looked at anew: another host may have shown the same switch meanwhile.
    const known = isSameSwitch(doc.switch, report.switch);
    const isNew = !known || (beat.report !== undefined && isImpostor(journal.fleet, host, doc));
    if (isNew) {
      const heard = { host, identity: report.switch, by: agentName(host), nowMs: clock.nowMs() };
      this.#submitAs(speaker, 'agent tells of its switch', (fleet) => recordSwitch(fleet, heard));
    }
    return isNew || isTroubled;
  }

  /** Another holder was told other things. */
  reset(): void {
    this.#conditions.clear();
    this.#strays.clear();
  }

  /** Whether what the host reports to be wrong differs from what is recorded. An agent that says nothing of it counts as well. */
  #evaluateConditions(speaker: AgentIdentity, { degraded }: Host, conditions: readonly Condition[]): boolean {
    const { host } = speaker;
    const memory = this.#conditions.get(host);
    if (memory === undefined && degraded === undefined && conditions.length === 0) return false;
    const { clock, journal } = this.#options;
    const nowMs = clock.nowMs();
    const keys = { recorded: troubleKey(degraded ?? []), reported: troubleKey(conditions) };
    const settings = valueOf(journal.fleet, CONDITIONS);
    const judged = judgeTrouble({ ...keys, memory: memory ?? NEVER_BAD }, nowMs, settings);
    this.#conditions.set(host, judged.memory);
    if (judged.verdict === 'record') {
      const decide = (fleet: FleetReader): Decision<null> => recordConditions(fleet, { host, conditions, nowMs });
      this.#submitAs(speaker, conditions.length > 0 ? 'agent reports a trouble' : 'agent reports no trouble', decide);
    }
    return judged.verdict !== 'same';
  }

  /** Whether it reports other strays than are recorded. On a host that leaves they count at once: nothing else comes and goes there. */
  #evaluateStrays(speaker: AgentIdentity, doc: Host, report: HostReport | undefined): boolean {
    const { host } = speaker;
    const memory = this.#strays.get(host);
    const isQuiet = memory === undefined && doc.strays === undefined && (report?.strays.length ?? 0) === 0;
    if (report === undefined || isQuiet) return false;
    const { clock, journal } = this.#options;
    const nowMs = clock.nowMs();
    const strays = summarizeStrays(report.strays, report.facts['strays']);
    const patience = isTombstoned(doc) ? IMMEDIATELY : valueOf(journal.fleet, CONDITIONS);
    const keys = { recorded: straysKey(doc.strays), reported: straysKey(strays) };
    const judged = judgeTrouble({ ...keys, memory: memory ?? NEVER_BAD }, nowMs, patience);
    this.#strays.set(host, judged.memory);
    if (judged.verdict === 'record') {
      const decide = (fleet: FleetReader): Decision<null> => recordStrays(fleet, { host, strays, nowMs });
      this.#submitAs(speaker, strays === undefined ? 'agent reports no strays' : 'agent reports strays', decide);
    }
    return judged.verdict !== 'same';
  }

  /** Somebody showed a credential that this host had once. */
  recordRemovedHost(host: string): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - (this.#removedReports.get(host) ?? -REMOVED_REPORT_INTERVAL_MS) < REMOVED_REPORT_INTERVAL_MS) return;
    if (this.#removedReports.size >= REMOVED_REPORTS_MAX) this.#removedReports.clear();
    this.#removedReports.set(host, nowMs);
    const decide = (fleet: FleetReader): Decision<null> => recordRemovedHostReport(fleet, { host, nowMs });
    // What the control plane saw, not what the host asked for: it may ask for nothing.
    this.#submit(host, { by: 'agent-gateway', why: 'a removed host reports', decide });
  }

  removedReportMs(host: string): number | undefined {
    return this.#removedReports.get(host);
  }

  #submitAs(speaker: AgentIdentity, why: string, decide: (fleet: FleetReader) => Decision<null>): void {
    const authorize = (fleet: FleetReader, nowMs: number): Refusal | undefined =>
      denyUnlessAdmitted(fleet, speaker, nowMs);
    this.#submit(speaker.host, { by: agentName(speaker.host), why, decide, authorize });
  }

  #submit(host: string, request: Request<null>): void {
    const { journal, log } = this.#options;
    if (this.#inFlight.has(host) || journal.fence === undefined) return;
    this.#inFlight.add(host);
    void journal
      .submit(request)
      .catch((error: unknown) => logUnrecorded(log, error, host))
      .finally(() => this.#inFlight.delete(host));
  }
}

/** A lost lease or store is the agent's cue to say it again; anything else is a fault of ours, and says so. */
export function logUnrecorded(log: Log, error: unknown, host: string): void {
  if (error instanceof NotHolder || error instanceof StoreUnavailable) {
    log.warn({ host, code: error.code }, 'what an agent said is not recorded, it will say it again');
  } else log.error({ host, err: error }, 'what an agent said cannot be recorded');
}
