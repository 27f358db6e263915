// The engine of long work, at the lease holder: plan, carry out, record. It takes no input, keeps nothing that it
// needs after a crash, and never waits inside: what cannot continue is parked with a reason. Commits only wake it
// sooner; a periodic scan finds everything they missed.
import { idOf, mark, type FleetReader } from '../fleet/index.ts';
import { isJournalAway, LeaseHolderLoop, type Clock, type Decision, type Journal, type Log } from '../journal/index.ts';
import { DriverConcurrency } from './concurrency.ts';
import { decideSteps, extendDeadlines, finishOperation, recordStep, stopOperation } from './decide.ts';
import type {
  DecideStep,
  Driver,
  PlannedStep,
  OperationKind,
  RecordStep,
  StoredItem,
  StoredOperation,
} from './kind.ts';
import { ITEM, OPERATION, UNFINISHED_OPERATIONS } from './model.ts';
import { planOperation, type DueOperation, type Finish } from './plan.ts';
import { RunningActions } from './running-actions.ts';
import { shortenText } from './short-text.ts';
import { WokenItems } from './woken-items.ts';

export interface OperationsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly kinds: ReadonlyMap<string, OperationKind>;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly log: Log;
  readonly scanMs?: number;
}

/** The longest delay of a step whose wake-up event was missed. */
const SCAN_MS = 5000;

/** Less is what time servers correct: a deadline may pass so much sooner. */
const AHEAD_MIN_MS = 5000;

const AHEAD_RETRY_MS = 1000;

type ActStep = PlannedStep & { readonly kind: 'act' };

export class OperationsController {
  readonly #options: OperationsOptions;
  readonly #scanMs: number;
  readonly #loop: LeaseHolderLoop;
  readonly #woken: WokenItems;
  readonly #concurrency = new DriverConcurrency();
  readonly #running: RunningActions;
  /** Items whose driver has seen a newer epoch: this server learns of it soon, and a call at once would only repeat the answer. */
  readonly #stale = new Set<string>();
  /** Items whose waits were ended early. */
  #early: ReadonlySet<string> = new Set();
  #scanAtMs = 0;
  /** How much of what the clock jumped the deadlines have been given. */
  #followedMs = 0;
  /** The lease epoch for which the deadlines were made to fit this server's clock. */
  #fittedEpoch: number | undefined;

  constructor(options: OperationsOptions) {
    this.#options = options;
    this.#scanMs = options.scanMs ?? SCAN_MS;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'operations',
      reconcile: () => this.#advanceDue(),
      intervalMs: () => this.#untilScanMs(),
      // What is woken meanwhile is not kept for a term that may never come: the scan finds it.
      runsAsFollower: true,
      subscribe: () => options.journal.onCommit(({ applied }) => this.#woken.wakeFor(options.journal.fleet, applied)),
    });
    this.#running = new RunningActions(options);
    this.#woken = new WokenItems(options.kinds.values(), () => this.#loop.wake());
  }

  /** Works until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  /**
   * Plans these items as if what they wait for were due: a caller has seen that it may have come. Lost in a
   * crash, and with the lease: their time comes by itself.
   */
  lookEarly(items: Iterable<StoredItem>): void {
    const early = new Set(this.#early);
    for (const { id, doc } of items) {
      early.add(id);
      this.#woken.wake(idOf(OPERATION, doc.operation), id);
    }
    this.#early = early;
  }

  #untilScanMs(): number {
    if (this.#aheadToFollowMs() > 0) return AHEAD_RETRY_MS;
    return Math.max(0, this.#scanAtMs - this.#options.clock.nowMs());
  }

  /** Plans everything that is due once, and records what can be recorded. */
  async pass(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #advanceDue(): Promise<void> {
    const { journal, clock } = this.#options;
    await this.#compensateClock();
    const nowMs = clock.nowMs();
    const due = this.#takeDue(journal.fleet, nowMs);
    const early = this.#takeEarly();
    if (journal.fence === undefined) return;
    await Promise.all(due.flatMap((one) => this.#advance({ ...one, early }, nowMs) ?? []));
  }

  /** Those with an action under way stay: its answer may be of before. */
  #takeEarly(): ReadonlySet<string> {
    const early = this.#early;
    if (early.size > 0) this.#early = new Set([...early].filter((item) => this.#concurrency.busy.has(item)));
    return early;
  }

  /**
   * Neither a clock that is set ahead makes a deadline pass, nor one that is ahead of that of the server which decided before: before anything is
   * assessed by it, everything unfinished gets the difference.
   */
  async #compensateClock(): Promise<void> {
    const { journal, clock, log } = this.#options;
    const { fence } = journal;
    if (fence === undefined) return;
    const [byMs, jumpedMs] = [this.#aheadToFollowMs(), clock.jumpedMs?.() ?? 0];
    if (byMs > 0) {
      await journal.submit({ by: 'operations', decide: (fleet) => extendDeadlines(fleet, byMs) });
      log.warn(
        { byMs },
        'the clock is ahead of the one before: the deadlines of what is unfinished were moved by as much',
      );
    } else if (this.#fittedEpoch === fence.epoch) return;
    this.#fittedEpoch = fence.epoch;
    this.#followedMs = jumpedMs;
  }

  /**
   * How much too early deadlines would pass; 0 for less than is worth it, and without the lease. At the beginning of a term they are those of another
   * server: by how much this one's clock is ahead of that is known better than by how much it was set.
   */
  #aheadToFollowMs(): number {
    const { journal, clock } = this.#options;
    if (journal.fence === undefined) return 0;
    const setMs = (clock.jumpedMs?.() ?? 0) - this.#followedMs;
    const byMs = this.#fittedEpoch === journal.fence.epoch ? setMs : (journal.clockAheadMs() ?? setMs);
    return byMs < AHEAD_MIN_MS ? 0 : byMs;
  }

  #takeDue(fleet: FleetReader, nowMs: number): DueOperation[] {
    if (nowMs < this.#scanAtMs) return this.#woken.take(fleet);
    this.#woken.clear();
    this.#scanAtMs = nowMs + this.#scanMs;
    this.#stale.clear();
    return [...fleet.find(UNFINISHED_OPERATIONS, 'unfinished')].map((operation) => ({ operation, items: 'all' }));
  }

  /** Undefined when there is nothing to do, as for most items: a promise for each would be most of the work. */
  #advance(due: DueOperation, nowMs: number): Promise<void> | undefined {
    const { journal, kinds, log } = this.#options;
    const kind = kinds.get(due.operation.doc.kind);
    if (kind === undefined) {
      log.warn(
        { operation: due.operation.id, kind: due.operation.doc.kind },
        'operation of a kind this server does not know',
      );
      return undefined;
    }
    let steps: readonly (PlannedStep | Finish)[];
    try {
      const { busy, queued } = this.#concurrency;
      steps = planOperation(journal.fleet, kind, { ...due, busy, queued }, nowMs);
    } catch (error) {
      // A bug in the kind's plan: the operation stops where it is and says so.
      return this.#stop(due.operation, error);
    }
    return steps.length === 0 ? undefined : this.#takeAll(due.operation, kind, steps);
  }

  async #takeAll(
    operation: StoredOperation,
    kind: OperationKind,
    steps: readonly (PlannedStep | Finish)[],
  ): Promise<void> {
    try {
      await Promise.all(steps.map((step) => this.#take(operation, kind, step)));
    } catch (error) {
      // A step that the journal does not take as a document is a bug of its kind as well.
      await this.#stop(operation, error);
    }
  }

  async #take(operation: StoredOperation, kind: OperationKind, step: PlannedStep | Finish): Promise<void> {
    if (step.kind === 'finish') await this.#commit(operation, (fleet) => finishOperation(fleet, step));
    else if (step.kind === 'act') this.#start(operation, kind, step);
    else if (!this.#concurrency.busy.has(step.item)) {
      await (step.kind === 'decide' ? this.#decide(operation, step) : this.#record(operation, step));
    }
  }

  async #decide(operation: StoredOperation, step: DecideStep): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    const decide: DecideStep['decide'] = (fleet, atMs) => {
      const steps = step.decide(fleet, atMs);
      for (const { progress } of steps) this.#scheduleScan(progress.retryAtMs, nowMs);
      return steps;
    };
    await this.#commit(operation, (fleet) => decideSteps(fleet, { ...step, decide }, nowMs));
  }

  #scheduleScan(retryAtMs: number | undefined, nowMs: number): void {
    if (retryAtMs !== undefined) this.#scanAtMs = Math.min(this.#scanAtMs, Math.max(retryAtMs, nowMs + 1));
  }

  async #record(operation: StoredOperation, step: RecordStep): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    this.#scheduleScan(step.progress.retryAtMs, nowMs);
    await this.#commit(operation, (fleet) => recordStep(fleet, step, nowMs));
  }

  #start(operation: StoredOperation, kind: OperationKind, step: ActStep): void {
    if (this.#concurrency.busy.has(step.item) || this.#stale.has(step.item)) return;
    const { driver } = step.action;
    if (!this.#concurrency.tryAcquire(step.item, { driver, operation: operation.id, ...this.#limitOf(driver) })) {
      mark('engine-driver-at-limit');
      return;
    }
    void this.#carryOutAndRelease(operation, kind, step);
  }

  #limitOf(driver: string): { readonly max?: number } {
    const max = this.#options.drivers.get(driver)?.maxConcurrent;
    return max === undefined ? {} : { max };
  }

  async #carryOutAndRelease(operation: StoredOperation, kind: OperationKind, step: ActStep): Promise<void> {
    const again = await this.#carryOut(operation, kind, step);
    const next = this.#concurrency.release(step.item, this.#limitOf(step.action.driver).max);
    if (again) this.#woken.wake(operation.id, step.item);
    for (const [item, of] of next) this.#woken.wake(of, item);
  }

  /** Answers whether the item is to be planned again at once; else the next scan does so. */
  async #carryOut(operation: StoredOperation, kind: OperationKind, step: ActStep): Promise<boolean> {
    const { journal, drivers } = this.#options;
    const leaseEpoch = journal.fence?.epoch;
    const driver = drivers.get(step.action.driver);
    if (leaseEpoch === undefined) return false;
    try {
      if (driver === undefined) throw new Error(`no driver "${step.action.driver}"`);
      const { deadlineAtMs } = operation.doc;
      const limits = { leaseEpoch, operation: operation.id, deadlineAtMs };
      const outcome = await this.#running.run(limits, (fence) => driver.carryOut(step.action, fence));
      // Cancelled, or decided by another server: planned again, where this server still plans.
      if (outcome.kind === 'aborted') return true;
      if (outcome.kind === 'stale') {
        this.#stale.add(step.item);
        return false;
      }
      if (kind.observe === undefined) throw new Error(`operation kind "${kind.name}" acts but does not observe`);
      // Read inside the commit. If the item moved on meanwhile (cancelled, failed by its deadline), the answer is not for it
      // any more.
      await this.#decide(operation, {
        kind: 'decide',
        item: step.item,
        expected: step.expected,
        decide: (fleet, nowMs) => {
          const item = fleet.get(ITEM, step.item);
          return item === undefined || kind.observe === undefined
            ? []
            : [kind.observe(item, outcome, { fleet, nowMs })];
        },
      });
      return true;
    } catch (error) {
      // Drivers answer with failures; what they throw is a bug, and so is a fault in the kind's reading of the answer.
      await this.#stop(operation, error);
      return false;
    }
  }

  async #stop(operation: StoredOperation, error: unknown): Promise<void> {
    this.#options.log.error({ operation: operation.id, err: error }, 'operation stopped by a fault of the program');
    const detail = error instanceof Error ? error.message : String(error);
    try {
      await this.#commit(operation, (fleet) => {
        const current = fleet.get(OPERATION, operation.id) ?? operation;
        return stopOperation(fleet, current, shortenText(detail, 500));
      });
    } catch (failure) {
      // Not even that could be written down. The scan comes to the same point again.
      this.#options.log.error({ operation: operation.id, err: failure }, 'operation not stopped');
    }
  }

  async #commit(operation: StoredOperation, decide: (fleet: FleetReader) => Decision<unknown>): Promise<void> {
    try {
      await this.#options.journal.submit({ by: `operation:${operation.doc.kind}`, operation: operation.id, decide });
    } catch (error) {
      // Another server leads now, or the store is away: whoever leads next finds the work as it is.
      if (!isJournalAway(error)) throw error;
      this.#options.log.warn({ operation: operation.id, code: error.code }, 'step not recorded, to be planned again');
      this.#woken.wakeAll(operation.id);
    }
  }
}
