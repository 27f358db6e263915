// Keeps the machine converged on the view. It calls the driver when the view says something else than what is applied, or when the
// last try failed; after a start it cannot know, and queries the driver once. Others change the machine too: now and then,
// and when the driver noticed something, it is compared with the view and put right if it differs.
import { mark } from '../../fleet/index.ts';
import { abortWith, WakeSignal, Backoff } from '../../link/index.ts';
import type { UnreadyService, View } from '../protocol/messages.ts';
import type { AgentPorts, ApplyResult } from './ports.ts';
import type { ConntrackSync } from './switch/conntrack-sync.ts';

export interface ReconcileLoopParts {
  /** Undefined while there is none, and when the host was ordered to leave: then nothing is brought about any more. */
  readonly view: () => View | undefined;
  /** Called when the machine has converged on another view, when it has not any more, and when other services are ready. */
  readonly onChanged: () => void;
  /** How often the machine is compared with the view. */
  readonly resyncMs: number;
  /** What else a view requests before it counts; absent where the agent does not know of it. */
  readonly conntrackSync?: ConntrackSync | undefined;
}

/** A tenth either way: machines that converged together are not all read at once for ever. */
const JITTER = 0.1;
/** A driver may notice changes all the time, its own among them: the machine is not read all the time for that. */
const CHECK_INTERVAL_MIN_MS = 200;

export class ReconcileLoop {
  readonly #ports: AgentPorts;
  readonly #parts: ReconcileLoopParts;
  readonly #wakeSignal = new WakeSignal();
  #applied: string | undefined;
  /** Of the view that is applied. */
  #unready: readonly UnreadyService[] = [];
  /** Ends the wait for connections of other hosts: another view is not held up by it. */
  #syncAbort: AbortController | undefined;
  #problems: readonly string[] = [];
  /** Since when no view could be brought about. */
  #failedSinceMs: number | undefined;
  /** When the machine was last found converged, or converged. */
  #checkedAtMs = 0;
  #checkAtMs = 0;

  constructor(ports: AgentPorts, parts: ReconcileLoopParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The digest of the view that the machine has converged on. */
  get applied(): string | undefined {
    return this.#applied;
  }

  /** The services of that view that cannot be provided here yet. */
  get unready(): readonly UnreadyService[] {
    return this.#unready;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Since when the machine cannot be brought to its view, and why; undefined while it can. */
  get failure(): { readonly sinceMs: number; readonly problem: string } | undefined {
    const sinceMs = this.#failedSinceMs;
    return sinceMs === undefined ? undefined : { sinceMs, problem: this.#problems[0] ?? 'the view cannot be applied' };
  }

  /** The view may be another. */
  wake(): void {
    this.#syncAbort?.abort();
    this.#wakeSignal.notify();
  }

  /** The machine does not match the view any more, whatever was applied. */
  invalidate(): void {
    this.#applied = undefined;
    this.#syncAbort?.abort();
    this.#wakeSignal.notify();
  }

  /** The machine may not match the view any more: it counts as converged until something is found. */
  #scheduleCheck(): void {
    this.#checkAtMs = Math.min(this.#checkAtMs, this.#checkedAtMs + CHECK_INTERVAL_MIN_MS);
    this.#wakeSignal.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, driver } = this.#ports;
    const backoff = new Backoff(this.#ports);
    const stopListening = driver.onChanged?.(() => this.#scheduleCheck());
    while (!signal.aborted) {
      const view = this.#parts.view();
      if (view === undefined) this.#applied = this.#failedSinceMs = undefined;
      if (view === undefined) await this.#wakeSignal.wait(signal);
      else if (this.#isUpToDate(view)) await this.#watchForDrift(view, signal);
      else if (await this.#reconcile(view, signal)) backoff.reset();
      else await this.#wakeSignal.wait(signal, { clock, ms: backoff.nextDelayMs() });
    }
    stopListening?.();
  }

  #isUpToDate(view: View): boolean {
    return (
      view.digest === this.#applied && this.#unready.length === 0 && this.#parts.conntrackSync?.isDue(view) !== true
    );
  }

  /** Whether everything that the view requests is there. What only some services lack is tried again while the others are served. */
  async #reconcile(view: View, signal: AbortSignal): Promise<boolean> {
    // Half of the new view may be there from here on: the machine has converged on neither.
    if (view.digest !== this.#applied) this.#applied = undefined;
    this.#scheduleResync();
    const outcome = await this.#tryApply(view, signal);
    // What fails because the agent is stopped is no news.
    const unready = outcome.kind === 'failed' ? [] : (outcome.unready ?? []);
    if (!signal.aborted) this.#reportProblems(outcome.kind === 'failed' ? outcome.problems : unready.map(sentenceOf));
    if (outcome.kind === 'failed') {
      this.#applied = undefined;
      this.#failedSinceMs ??= this.#ports.clock.nowMs();
      return false;
    }
    this.#failedSinceMs = undefined;
    this.#markConverged(view, unready);
    return unready.length === 0;
  }

  #markConverged({ digest }: View, unready: readonly UnreadyService[]): void {
    const isSame = this.#applied === digest && isSameList(this.#unready, unready);
    this.#applied = digest;
    this.#unready = unready;
    if (!isSame) this.#parts.onChanged();
  }

  /** It is tried again and again: the log has each trouble once, and that it is over. */
  #reportProblems(problems: readonly string[]): void {
    const { log } = this.#ports;
    const isNews = problems.join('\n') !== this.#problems.join('\n');
    this.#problems = problems;
    if (!isNews) return;
    if (problems.length > 0) log.warn({ problems }, 'the machine has not converged with its view; it is tried again');
    else log.info({}, 'the machine has converged with its view again');
  }

  /** From here on, what the driver notices is news. */
  #scheduleResync(): void {
    const { clock, random } = this.#ports;
    this.#checkedAtMs = clock.nowMs();
    this.#checkAtMs = this.#checkedAtMs + Math.round(this.#parts.resyncMs * (1 - JITTER + 2 * JITTER * random()));
  }

  /** Waits until something happens or it is time to look at the machine; then it does that. */
  async #watchForDrift(view: View, signal: AbortSignal): Promise<void> {
    const { clock, driver, log } = this.#ports;
    if (driver.hasConverged === undefined) return this.#wakeSignal.wait(signal);
    const ms = this.#checkAtMs - clock.nowMs();
    if (ms > 0) return this.#wakeSignal.wait(signal, { clock, ms });
    this.#scheduleResync();
    if ((await this.#hasMachineConverged(view, signal)) || signal.aborted || this.#applied !== view.digest) return;
    mark('agent-detects-drift');
    log.warn({ digest: view.digest }, 'the machine is not as the view has it any more, it is put right');
    this.#applied = undefined;
    this.#parts.onChanged();
  }

  async #hasMachineConverged(view: View, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#ports.driver.hasConverged?.(view, signal)) ?? true;
    } catch (error) {
      this.#ports.log.error(
        { err: error },
        'the machine could not be compared with the view by a fault of the program',
      );
      return false;
    }
  }

  async #tryApply(view: View, signal: AbortSignal): Promise<ApplyResult> {
    try {
      const applied = await this.#ports.driver.apply(view, signal);
      const { conntrackSync } = this.#parts;
      if (applied.kind === 'failed' || conntrackSync === undefined) return applied;
      const { unready = [] } = applied;
      const copying = conntrackSync
        .dueServices(view)
        .map((service) => ({ service, because: 'its connections are being copied' }));
      // Before connections are waited for: the other services of this host are ready.
      if (copying.length > 0 && this.#applied !== view.digest) this.#markConverged(view, [...unready, ...copying]);
      const uncopied = await this.#syncConntrack(conntrackSync, view, signal);
      return { ...applied, unready: [...unready, ...uncopied] };
    } catch (error) {
      // A driver answers with failures; what it throws is a bug. It must not silence the host as well.
      this.#ports.log.error({ err: error }, 'the local driver failed by a fault of the program');
      return { kind: 'failed', problems: [error instanceof Error ? error.message : String(error)] };
    }
  }

  async #syncConntrack(
    conntrackSync: ConntrackSync,
    view: View,
    signal: AbortSignal,
  ): Promise<readonly UnreadyService[]> {
    const copying = new AbortController();
    const unlink = abortWith(copying, signal);
    this.#syncAbort = copying;
    try {
      return await conntrackSync.sync(view, copying.signal);
    } finally {
      unlink();
      this.#syncAbort = undefined;
    }
  }
}

function sentenceOf({ service, because }: UnreadyService): string {
  return `${service}: ${because}`;
}

function isSameList(one: readonly UnreadyService[], other: readonly UnreadyService[]): boolean {
  return one.length === other.length && one.map(sentenceOf).join() === other.map(sentenceOf).join();
}
