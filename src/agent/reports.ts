// What agents say of themselves and what is worth writing down of it: another version, another switch, a host that should not be
// there any more. Heartbeats are never journalled; nobody waits for any of this, and each host has one on its way at a time.
import { valueOf, type FleetReader, type Refusal } from '../fleet/index.ts';
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
  type ConditionMemory,
  type Host,
} from '../hosts/index.ts';
import {
  NotHolder,
  StoreUnavailable,
  type Clock,
  type Decision,
  type Journal,
  type Request,
} from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import { denyUnlessAdmitted, type Speaker } from './admission.ts';
import { agentName, recordVersion } from './decide.ts';
import type { Heartbeat, Report } from './messages.ts';
import { isImpostor, isSameSwitch, recordKnock, recordSwitch } from './switch-reports.ts';

export interface ReportsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** A removed host may knock every few seconds for years. */
const KNOCKS_EVERY_MS = 60_000;
const KNOCKS_KEPT = 10_000;

const AT_ONCE = { degradedAfterMs: 0, steadyMs: 0 };

export class Reports {
  readonly #options: ReportsOptions;
  readonly #underWay = new Set<string>();
  readonly #knocks = new Map<string, number>();
  /** Of hosts that are in trouble or were lately. */
  readonly #conditions = new Map<string, ConditionMemory>();
  /** The same of those that report what the fleet does not know. */
  readonly #strays = new Map<string, ConditionMemory>();

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** Whether there is anything new. Costs a few comparisons when there is not. */
  heard(speaker: Speaker, doc: Host, said: { readonly beat: Heartbeat; readonly report: Report | undefined }): boolean {
    const { beat, report } = said;
    const { host } = speaker;
    const { clock, journal } = this.#options;
    if (doc.serviceVersion !== beat.serviceVersion) {
      const version = { host, serviceVersion: beat.serviceVersion, nowMs: clock.nowMs() };
      this.#recordOf(speaker, 'agent of another version', (fleet) => recordVersion(fleet, version));
      return true;
    }
    const isTroubled = this.#judgeConditions(speaker, doc, beat) || this.#judgeStrays(speaker, doc, report);
    if (report?.switch === undefined) return isTroubled;
    // With each report it is looked at anew: another host may have shown the same switch meanwhile.
    const known = isSameSwitch(doc.switch, report.switch);
    const isNew = !known || (beat.report !== undefined && isImpostor(journal.fleet, host, doc));
    if (isNew) {
      const heard = { host, identity: report.switch, by: agentName(host), nowMs: clock.nowMs() };
      this.#recordOf(speaker, 'agent tells of its switch', (fleet) => recordSwitch(fleet, heard));
    }
    return isNew || isTroubled;
  }

  /** Another holder was told other things. */
  forget(): void {
    this.#conditions.clear();
    this.#strays.clear();
  }

  /** Whether what the host reports to be wrong differs from what is recorded. An agent that says nothing of it counts as well. */
  #judgeConditions(speaker: Speaker, { degraded }: Host, { conditions = [] }: Heartbeat): boolean {
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
      this.#recordOf(speaker, conditions.length > 0 ? 'agent reports a trouble' : 'agent reports no trouble', decide);
    }
    return judged.verdict !== 'same';
  }

  /** Whether it reports other strays than are recorded. On a host that leaves they count at once: nothing else comes and goes there. */
  #judgeStrays(speaker: Speaker, doc: Host, report: Report | undefined): boolean {
    const { host } = speaker;
    const memory = this.#strays.get(host);
    const isQuiet = memory === undefined && doc.strays === undefined && (report?.strays.length ?? 0) === 0;
    if (report === undefined || isQuiet) return false;
    const { clock, journal } = this.#options;
    const nowMs = clock.nowMs();
    const strays = summarizeStrays(report.strays, report.facts['strays']);
    const patience = isTombstoned(doc) ? AT_ONCE : valueOf(journal.fleet, CONDITIONS);
    const keys = { recorded: straysKey(doc.strays), reported: straysKey(strays) };
    const judged = judgeTrouble({ ...keys, memory: memory ?? NEVER_BAD }, nowMs, patience);
    this.#strays.set(host, judged.memory);
    if (judged.verdict === 'record') {
      const decide = (fleet: FleetReader): Decision<null> => recordStrays(fleet, { host, strays, nowMs });
      this.#recordOf(speaker, strays === undefined ? 'agent reports no strays' : 'agent reports strays', decide);
    }
    return judged.verdict !== 'same';
  }

  /** Somebody showed a credential that this host had once. */
  noteRemovedHost(host: string): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - (this.#knocks.get(host) ?? -KNOCKS_EVERY_MS) < KNOCKS_EVERY_MS) return;
    if (this.#knocks.size >= KNOCKS_KEPT) this.#knocks.clear();
    this.#knocks.set(host, nowMs);
    const decide = (fleet: FleetReader): Decision<null> => recordKnock(fleet, { host, nowMs });
    // What the control plane saw, not what the host asked for: it may ask for nothing.
    this.#record(host, { by: 'agent-gateway', why: 'a removed host reports', decide });
  }

  removedReportMs(host: string): number | undefined {
    return this.#knocks.get(host);
  }

  #recordOf(speaker: Speaker, why: string, decide: (fleet: FleetReader) => Decision<null>): void {
    const authorize = (fleet: FleetReader, nowMs: number): Refusal | undefined =>
      denyUnlessAdmitted(fleet, speaker, nowMs);
    this.#record(speaker.host, { by: agentName(speaker.host), why, decide, authorize });
  }

  #record(host: string, request: Request<null>): void {
    const { journal, log } = this.#options;
    if (this.#underWay.has(host) || journal.fence === undefined) return;
    this.#underWay.add(host);
    void journal
      .submit(request)
      .catch((error: unknown) => notRecorded(log, error, host))
      .finally(() => this.#underWay.delete(host));
  }
}

/** A lost lease or store is the agent's cue to say it again; anything else is a fault of ours, and says so. */
export function notRecorded(log: Log, error: unknown, host: string): void {
  if (error instanceof NotHolder || error instanceof StoreUnavailable) {
    log.warn({ host, code: error.code }, 'what an agent said is not recorded, it will say it again');
  } else log.error({ host, err: error }, 'what an agent said cannot be recorded');
}
