// Raises alarms about the store as soon as this server holds the lease: also what it noticed as a follower or during its
// start.
import { accept, NotHolder, StoreUnavailable, type Clock, type Decision, type Journal } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
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
  #pending: ReportedFinding[] = [];

  constructor(options: IntegrityOptions) {
    this.#options = options;
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

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = INTERVAL_MS } = this.#options;
    while (!signal.aborted) {
      await this.reconcile();
      await clock.sleep(intervalMs, signal);
    }
  }

  async reconcile(): Promise<void> {
    const { journal, clock, onRecorded } = this.#options;
    if (this.#pending.length === 0) return;
    const nowMs = clock.nowMs();
    // Another server may have noticed the same, and decides.
    const isRaised = (one: ReportedFinding): boolean => raiseFinding(journal.fleet, one, nowMs).length === 0;
    this.#pending = this.#pending.filter((one) => !isRaised(one));
    try {
      for (const finding of journal.fence === undefined ? [] : [...this.#pending]) await this.#record(finding, nowMs);
    } catch (error) {
      // Retried at the next check.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
    }
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
