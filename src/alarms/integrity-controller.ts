// Raises alarms about the store as soon as this server decides: what it noticed while another one did, or before its start was
// over, is not forgotten.
import {
  accept,
  LeaseHolderLoop,
  type Clock,
  type Decision,
  type Journal,
  type LeasePass,
  type Log,
} from '../journal/index.ts';
import { raiseFinding, type IntegrityFinding } from './integrity.ts';

export interface IntegrityOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly intervalMs?: number;
  /** Called when everything that was reported is on record. */
  readonly onRecorded?: () => void;
  /** Counts what was reported. */
  readonly onReported?: (code: string) => void;
}

/** By whom the commits are, where it is not the controller itself. */
export interface ReportedFinding extends IntegrityFinding {
  readonly by?: string;
}

const INTERVAL_MS = 1000;

export class IntegrityController {
  readonly #options: IntegrityOptions;
  readonly #loop: LeaseHolderLoop;
  #pending: ReportedFinding[] = [];

  constructor(options: IntegrityOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'integrity',
      reconcile: (pass) => this.#recordPending(pass),
      intervalMs: options.intervalMs ?? INTERVAL_MS,
      // What another server has put on record is not pending here any more.
      runsAsFollower: true,
      isSilent: true,
    });
  }

  /** Says it loudly at once, and by an alarm as soon as this server decides. */
  report(finding: ReportedFinding): void {
    this.#options.log.error({ ...finding.facts, alarm: finding.code }, `integrity: ${finding.code}`);
    if (this.#pending.every(({ code, place }) => code !== finding.code || place !== finding.place)) {
      this.#pending.push(finding);
      this.#options.onReported?.(finding.code);
    }
  }

  /** Whether something of this kind is not on record yet. */
  hasPending(code: IntegrityFinding['code']): boolean {
    return this.#pending.some((one) => one.code === code);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #recordPending({ nowMs, fence }: LeasePass): Promise<void> {
    const { journal, onRecorded } = this.#options;
    if (this.#pending.length === 0) return;
    // Another server may have noticed the same, and decides.
    const isRaised = (one: ReportedFinding): boolean => raiseFinding(journal.fleet, one, nowMs).length === 0;
    this.#pending = this.#pending.filter((one) => !isRaised(one));
    for (const finding of fence === undefined ? [] : [...this.#pending]) await this.#record(finding, nowMs);
    if (this.#pending.length === 0) onRecorded?.();
  }

  async #record(finding: ReportedFinding, nowMs: number): Promise<void> {
    await this.#options.journal.submit({
      by: finding.by ?? 'integrity',
      why: `${finding.code} ${finding.place}`,
      decide: (fleet): Decision<unknown> => accept(raiseFinding(fleet, finding, nowMs), undefined),
    });
    this.#pending = this.#pending.filter((one) => one !== finding);
  }
}
