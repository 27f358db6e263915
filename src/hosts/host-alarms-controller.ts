// Maintains the alarms about hosts that no single commit can: shared tunnel addresses, removed hosts that still report or have stopped,
// and credentials used by two machines. Runs at the lease holder and reconciles from current state; it keeps nothing across restarts.
import { ALARMS_BY_CODE } from '../alarms/index.ts';
import type { Change, FleetReader } from '../fleet/index.ts';
import { accept, LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../journal/index.ts';
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

const INTERVAL_MS = 5000;
/** An agent that is refused tries again within 10 s; one that was silent for so long has stopped or wiped its host. */
const SILENT_AFTER_MS = 10 * 60_000;

export class HostAlarmsController {
  readonly #options: HostAlarmsOptions;
  readonly #loop: LeaseHolderLoop;
  #epoch: number | undefined;
  #listeningSinceMs = 0;

  constructor(options: HostAlarmsOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'host-alarms',
      reconcile: (pass) => this.#recordAlarms(pass),
      intervalMs: options.intervalMs ?? INTERVAL_MS,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #recordAlarms({ nowMs, fence }: LeasePass): Promise<void> {
    const { journal } = this.#options;
    // By the epoch: a pass that is cut short does not start the clock anew.
    if (fence !== undefined && fence.epoch !== this.#epoch)
      [this.#epoch, this.#listeningSinceMs] = [fence.epoch, nowMs];
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
    await journal.submit({ by: 'host-alarms', decide: (fleet) => accept(plan(fleet), undefined) });
  }

  #planRemovedReports(fleet: FleetReader, nowMs: number): Change[] {
    return [...fleet.find(ALARMS_BY_CODE, REMOVED_HOST_REPORTS)].flatMap(({ doc }) => {
      const host = String(doc.reason['host']);
      const removed = findHost(fleet, host);
      if (removed === undefined) return endRemovedReports(fleet, host);
      // It joins again, and its agent has not come in: until then the reports come from the removed one.
      if (removed.doc.state !== 'removed') return [];
      const lastReportMs = Math.max(this.#options.lastReportMs(host) ?? 0, this.#listeningSinceMs, doc.sinceMs);
      const itself = reportersOf(fleet, host).itself && nowMs - lastReportMs < SILENT_AFTER_MS;
      return removedReportAlarm(fleet, { removed, itself, nowMs });
    });
  }
}
