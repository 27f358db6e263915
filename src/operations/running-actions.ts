// The actions that drivers have under way, each with the signal that orders its driver to stop: at the deadline, when this server has lost the lease, and when
// the operation is cancelled. Nothing waits for a driver that ignores the signal longer than a while.
import { mark, type AppliedChange, type FleetReader } from '../fleet/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { ActionFence, ActionOutcome } from './kind.ts';
import { OPERATION, type OperationId } from './model.ts';

export type AbortCause = 'deadline-passed' | 'lease-lost' | 'operation-cancelled';

/** What the signal of an action is aborted with. A driver may throw it on: it is no fault of the program. */
export class ActionAborted extends Error {
  readonly code: AbortCause;

  constructor(code: AbortCause) {
    super(`the action is to stop (${code})`);
    this.name = 'ActionAborted';
    this.code = code;
  }
}

/** Three times the longest limit that a driver has on a call of its own: one that has not come back by then ignores the signal. */
const ABORT_GRACE_MS = 90_000;

const SILENT: ActionOutcome = { kind: 'failed', reason: { code: 'driver-silent' } };

interface RunningAction {
  readonly operation: OperationId;
  readonly leaseEpoch: number;
  readonly abort: (cause: AbortCause) => void;
}

export interface ActionLimits {
  readonly operation: OperationId;
  readonly leaseEpoch: number;
  readonly deadlineAtMs: number;
}

export interface RunningActionsOptions {
  readonly journal: Pick<Journal, 'fleet' | 'fence' | 'onCommit' | 'onRebuilt' | 'onStepDown'>;
  readonly clock: Clock;
}

export class RunningActions {
  readonly #options: RunningActionsOptions;
  readonly #running = new Set<RunningAction>();
  #unsubscribe: (() => void) | undefined;

  constructor(options: RunningActionsOptions) {
    this.#options = options;
  }

  /** The driver's answer; `aborted` when there is none, or none that is waited for. What a driver throws without being aborted is thrown on. */
  async run(
    limits: ActionLimits,
    carryOut: (fence: ActionFence) => Promise<ActionOutcome>,
  ): Promise<ActionOutcome | { readonly kind: 'aborted' }> {
    const own = new AbortController();
    const aborted = Promise.withResolvers<undefined>();
    const abort = (cause: AbortCause): void => {
      if (own.signal.aborted) return;
      mark(`action-aborted-${cause}`);
      own.abort(new ActionAborted(cause));
      aborted.resolve(undefined);
    };
    const action = { operation: limits.operation, leaseEpoch: limits.leaseEpoch, abort };
    const answered = new AbortController();
    this.#add(action);
    try {
      return await Promise.race([
        answerOrAborted(carryOut({ ...limits, signal: own.signal }), own.signal),
        this.#waitUntilDeadline(limits.deadlineAtMs, { abort, answered: answered.signal }),
        this.#waitUntilGraceEnds(aborted.promise, answered.signal),
      ]);
    } finally {
      answered.abort('answered');
      this.#remove(action);
    }
  }

  async #waitUntilDeadline(
    deadlineAtMs: number,
    { abort, answered }: Pick<RunningAction, 'abort'> & { readonly answered: AbortSignal },
  ): Promise<ActionOutcome> {
    const { clock } = this.#options;
    await clock.sleep(Math.max(0, deadlineAtMs - clock.nowMs()) + 1, answered);
    if (!answered.aborted) abort('deadline-passed');
    return SILENT;
  }

  async #waitUntilGraceEnds(aborted: Promise<undefined>, answered: AbortSignal): Promise<{ readonly kind: 'aborted' }> {
    await aborted;
    await this.#options.clock.sleep(ABORT_GRACE_MS, answered);
    return { kind: 'aborted' };
  }

  #add(action: RunningAction): void {
    this.#running.add(action);
    this.#unsubscribe ??= this.#subscribe();
  }

  #remove(action: RunningAction): void {
    this.#running.delete(action);
    if (this.#running.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #subscribe(): () => void {
    const { journal } = this.#options;
    const ends = [
      journal.onCommit(({ applied }) => this.#abortChanged(applied)),
      journal.onRebuilt(() => this.#abortCancelled(journal.fleet)),
      journal.onStepDown(() => this.#abortUnleased()),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  #abortChanged(applied: readonly AppliedChange[]): void {
    if (applied.some(({ kind }) => kind === OPERATION.name)) this.#abortCancelled(this.#options.journal.fleet);
  }

  #abortCancelled(fleet: FleetReader): void {
    for (const { operation, abort } of this.#running)
      if (fleet.get(OPERATION, operation)?.doc.state !== 'running') abort('operation-cancelled');
  }

  #abortUnleased(): void {
    const epoch = this.#options.journal.fence?.epoch;
    for (const { leaseEpoch, abort } of this.#running) if (leaseEpoch !== epoch) abort('lease-lost');
  }
}

async function answerOrAborted(
  answer: Promise<ActionOutcome>,
  signal: AbortSignal,
): Promise<ActionOutcome | { readonly kind: 'aborted' }> {
  try {
    return await answer;
  } catch (error) {
    if (signal.aborted && isAbort(error)) return { kind: 'aborted' };
    throw error;
  }
}

/** What is called with the signal throws the reason, an error of its own about it, or one that has it as its cause. */
function isAbort(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof ActionAborted || at.name === 'AbortError') return true;
  return false;
}
