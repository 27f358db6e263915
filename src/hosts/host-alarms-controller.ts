// Maintains the alarms about hosts that no single commit can: shared tunnel addresses, removed hosts that still report or have stopped,
// and credentials used by two machines. Runs at the lease holder and reconciles from current state; it keeps nothing across restarts.
import { ALARMS_BY_CODE } from '../alarms/index.ts';
import type { Change, FleetReader } from '../fleet/index.ts';
import { accept, NotHolder, StoreUnavailable, type Clock, type Journal } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import { planAddressAlarms } from './address-alarms.ts';
import { findHost } from './find-host.ts';
import { planSharedCredentialAlarms } from './shared-credential-alarms.ts';
import { endRemovedReports, REMOVED_HOST_REPORTS, removedReportAlarm, reportersOf } from './removed-reports.ts';

export interface HostAlarmsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** When the agent of a removed host last presented its revoked credential to this server. */
  readonly lastReportMs: (host: string) => number | undefined;
  /** The hosts whose credential two machines present to this server, and when that was last seen. */
  readonly sharedCredentials: () => Iterable<readonly [host: string, sharedMs: number]>;
  readonly intervalMs?: number;
}

const LOOK_MS = 5000;
/** A refused agent tries again within 10 s; one that is silent for this long has stopped or wiped its host. */
const SILENT_AFTER_MS = 10 * 60_000;

export class HostAlarmsController {
  readonly #options: HostAlarmsOptions;
  #epoch: number | undefined;
  #listeningSinceMs = 0;

  constructor(options: HostAlarmsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = LOOK_MS } = this.#options;
    while (!signal.aborted) {
      await this.reconcile();
      await clock.sleep(intervalMs, signal);
    }
  }

  async reconcile(): Promise<void> {
    const { journal, clock, log } = this.#options;
    const nowMs = clock.nowMs();
    if (journal.fence === undefined) return;
    if (journal.fence.epoch !== this.#epoch) [this.#epoch, this.#listeningSinceMs] = [journal.fence.epoch, nowMs];
    const plan = (fleet: FleetReader): Change[] => [
      ...planAddressAlarms(fleet, nowMs),
      ...this.#planRemovedReports(fleet, nowMs),
      ...planSharedCredentialAlarms(fleet, {
        shared: this.#options.sharedCredentials(),
        listeningSinceMs: this.#listeningSinceMs,
        quietAfterMs: SILENT_AFTER_MS,
        nowMs,
      }),
    ];
    if (plan(journal.fleet).length === 0) return;
    try {
      await journal.submit({ by: 'host-alarms', decide: (fleet) => accept(plan(fleet), undefined) });
    } catch (error) {
      // The next pass, here or at the next holder, finds the same.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      log.warn({ code: error.code }, 'alarms about hosts not recorded');
    }
  }

  #planRemovedReports(fleet: FleetReader, nowMs: number): Change[] {
    return [...fleet.find(ALARMS_BY_CODE, REMOVED_HOST_REPORTS)].flatMap(({ doc }) => {
      const host = String(doc.reason['host']);
      const removed = findHost(fleet, host);
      if (removed === undefined) return endRemovedReports(fleet, host);
      // It joins again, and its agent has not come in: until then the reports come from the removed one.
      if (removed.doc.state !== 'removed') return [];
      const heardMs = Math.max(this.#options.lastReportMs(host) ?? 0, this.#listeningSinceMs, doc.sinceMs);
      const itself = reportersOf(fleet, host).itself && nowMs - heardMs < SILENT_AFTER_MS;
      return removedReportAlarm(fleet, { removed, itself, nowMs });
    });
  }
}
