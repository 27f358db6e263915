// Which parts of agents' reports are recorded: another version, another switch, a host that should not be there any more. Heartbeats are
// never journalled; no answer waits for a record, and each host has at most one in progress.
import { valueOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  CONDITIONS,
  isTombstoned,
  assessCondition,
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
import { composeEndedChanges, readReportedInstances, recordEnded } from '../../instances/index.ts';
import type { Log } from '../../operations/index.ts';
import { denyUnlessAdmitted, type AgentIdentity } from './admission.ts';
import { agentName, recordVersion } from './decide.ts';
import type { Heartbeat, HostReport } from '../protocol/messages.ts';
import { readReportedConditions } from './reported-conditions.ts';
import { isImpostor, isSameSwitch, recordRemovedHostReport, recordSwitch } from './switch-reports.ts';

export interface ReportRecorderOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** A removed host may report every few seconds for years. */
const REMOVED_REPORT_INTERVAL_MS = 60_000;
const REMOVED_REPORTS_MAX = 10_000;

const IMMEDIATELY = { degradedAfterMs: 0, steadyMs: 0 };

export class ReportRecorder {
  readonly #options: ReportRecorderOptions;
  readonly #inFlight = new Set<string>();
  readonly #removedReports = new Map<string, number>();
  /** Of hosts with faults, now or lately. */
  readonly #conditions = new Map<string, ConditionMemory>();
  /** The same for hosts that report strays. */
  readonly #strays = new Map<string, ConditionMemory>();

  constructor(options: ReportRecorderOptions) {
    this.#options = options;
  }

  /** Whether there is anything new. Costs a few comparisons when there is not. */
  record(
    identity: AgentIdentity,
    doc: Host,
    said: { readonly beat: Heartbeat; readonly report: HostReport | undefined },
  ): boolean {
    const { beat, report } = said;
    const { host } = identity;
    const { clock, journal } = this.#options;
    if (doc.serviceVersion !== beat.serviceVersion) {
      const version = { host, serviceVersion: beat.serviceVersion, nowMs: clock.nowMs() };
      this.#submitAs(identity, 'agent reports another version', (fleet) => recordVersion(fleet, version));
      return true;
    }
    const isTroubled =
      this.#evaluateConditions(identity, doc, readReportedConditions(beat, report)) ||
      this.#evaluateStrays(identity, doc, report) ||
      this.#evaluateInstances(identity, report);
    if (report?.switch === undefined) return isTroubled;
    // Each report is evaluated again: another host may have reported the same switch meanwhile.
    const known = isSameSwitch(doc.switch, report.switch);
    const isNew = !known || (beat.report !== undefined && isImpostor(journal.fleet, host, doc));
    if (isNew) {
      const observation = { host, identity: report.switch, by: agentName(host), nowMs: clock.nowMs() };
      this.#submitAs(identity, 'agent reports its switch', (fleet) => recordSwitch(fleet, observation));
    }
    return isNew || isTroubled;
  }

  /** Another holder got other reports. */
  reset(): void {
    this.#conditions.clear();
    this.#strays.clear();
  }

  /** Whether what the host reports to be wrong differs from what is recorded. An agent that says nothing of it counts as well. */
  #evaluateConditions(identity: AgentIdentity, { degraded }: Host, conditions: readonly Condition[]): boolean {
    const { host } = identity;
    const memory = this.#conditions.get(host);
    if (memory === undefined && degraded === undefined && conditions.length === 0) return false;
    const { clock, journal } = this.#options;
    const nowMs = clock.nowMs();
    const keys = { recorded: troubleKey(degraded ?? []), reported: troubleKey(conditions) };
    const settings = valueOf(journal.fleet, CONDITIONS);
    const verdict = assessCondition({ ...keys, memory: memory ?? NEVER_BAD }, nowMs, settings);
    this.#conditions.set(host, verdict.memory);
    if (verdict.verdict === 'record') {
      const decide = (fleet: FleetReader): Decision<null> => recordConditions(fleet, { host, conditions, nowMs });
      this.#submitAs(identity, conditions.length > 0 ? 'agent reports a fault' : 'agent reports no fault', decide);
    }
    return verdict.verdict !== 'same';
  }

  /** Whether the reported strays differ from those on record. On a leaving host they count at once: nothing else comes and goes there. */
  #evaluateStrays(identity: AgentIdentity, doc: Host, report: HostReport | undefined): boolean {
    const { host } = identity;
    const memory = this.#strays.get(host);
    const isQuiet = memory === undefined && doc.strays === undefined && (report?.strays.length ?? 0) === 0;
    if (report === undefined || isQuiet) return false;
    const { clock, journal } = this.#options;
    const nowMs = clock.nowMs();
    const strays = summarizeStrays(report.strays, report.facts['strays']);
    const patience = isTombstoned(doc) ? IMMEDIATELY : valueOf(journal.fleet, CONDITIONS);
    const keys = { recorded: straysKey(doc.strays), reported: straysKey(strays) };
    const verdict = assessCondition({ ...keys, memory: memory ?? NEVER_BAD }, nowMs, patience);
    this.#strays.set(host, verdict.memory);
    if (verdict.verdict === 'record') {
      const decide = (fleet: FleetReader): Decision<null> => recordStrays(fleet, { host, strays, nowMs });
      this.#submitAs(identity, strays === undefined ? 'agent reports no strays' : 'agent reports strays', decide);
    }
    return verdict.verdict !== 'same';
  }

  /** Whether the report says of instances that ended by themselves what is not on record. */
  #evaluateInstances(identity: AgentIdentity, report: HostReport | undefined): boolean {
    const { host } = identity;
    const { clock, journal } = this.#options;
    const reported = readReportedInstances(report?.facts['instances']);
    const ended = { host, reported, nowMs: clock.nowMs() };
    if (composeEndedChanges(journal.fleet, ended).length === 0) return false;
    this.#submitAs(identity, 'agent reports instances that ended by themselves', (fleet) => recordEnded(fleet, ended));
    return true;
  }

  /** A credential that this host once had was presented. */
  recordRemovedHost(host: string): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - (this.#removedReports.get(host) ?? -REMOVED_REPORT_INTERVAL_MS) < REMOVED_REPORT_INTERVAL_MS) return;
    if (this.#removedReports.size >= REMOVED_REPORTS_MAX) this.#removedReports.clear();
    this.#removedReports.set(host, nowMs);
    const decide = (fleet: FleetReader): Decision<null> => recordRemovedHostReport(fleet, { host, nowMs });
    // Done on the server's own observation: a removed host is authorised for nothing.
    this.#submit(host, { by: 'agent-gateway', why: 'a removed host reports', decide });
  }

  removedReportMs(host: string): number | undefined {
    return this.#removedReports.get(host);
  }

  #submitAs(identity: AgentIdentity, why: string, decide: (fleet: FleetReader) => Decision<null>): void {
    const authorize = (fleet: FleetReader, nowMs: number): Refusal | undefined =>
      denyUnlessAdmitted(fleet, identity, nowMs);
    this.#submit(identity.host, { by: agentName(identity.host), why, decide, authorize });
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

/** After a lost lease or a store failure the agent reports again; any other error is a bug, and is logged as one. */
export function logUnrecorded(log: Log, error: unknown, host: string): void {
  if (error instanceof NotHolder || error instanceof StoreUnavailable) {
    log.warn({ host, code: error.code }, 'the report of an agent was not recorded; the agent will send it again');
  } else log.error({ host, err: error }, 'the report of an agent cannot be recorded');
}
