// A machine that is not there. It remembers what it was told, takes its time, and fails when it is asked to. What it
// holds outlives the agent, as a machine does.
import type { Clock } from '../journal/index.ts';
import type { Task } from '../operations/index.ts';
import { digestOf } from './digest.ts';
import type { View } from './messages.ts';
import type { Applied, Fence, LocalDriver, Performed } from './ports.ts';

export interface SimulatedMachine {
  readonly clock: Clock;
  /** How long everything takes. */
  readonly delayMs?: number;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** What preflight finds wrong; nothing by default. Asked each time: a machine can be mended. */
  readonly preflight?: () => readonly string[];
  /** Why a view cannot be applied now; nothing by default. */
  readonly obstacles?: () => readonly string[];
  /** Tasks of other kinds, by kind. */
  readonly tasks?: Readonly<Record<string, (task: Task) => Performed>>;
}

export class SimulatedDriver implements LocalDriver {
  readonly #machine: SimulatedMachine;
  #parts: string | undefined;
  #changes = 0;

  constructor(machine: SimulatedMachine) {
    this.#machine = machine;
  }

  /** How often the machine was really changed. */
  get changes(): number {
    return this.#changes;
  }

  async apply(view: View, signal: AbortSignal): Promise<Applied> {
    const wanted = digestOf(view.parts);
    if (wanted === this.#parts) return { kind: 'already' };
    await this.#takeTime(signal);
    const problems = this.#machine.obstacles?.() ?? [];
    if (problems.length > 0) return { kind: 'failed', problems };
    this.#parts = wanted;
    this.#changes += 1;
    return { kind: 'applied' };
  }

  async perform(task: Task, { signal }: Fence): Promise<Performed> {
    await this.#takeTime(signal);
    const known = this.#machine.tasks?.[task.kind];
    if (known !== undefined) return known(task);
    if (task.kind !== 'preflight') return { outcome: 'failed', problems: [`this agent cannot do "${task.kind}"`] };
    const problems = this.#machine.preflight?.() ?? [];
    return problems.length === 0 ? { outcome: 'done' } : { outcome: 'failed', problems };
  }

  inspect(): Promise<{ readonly facts: Readonly<Record<string, unknown>>; readonly strays: readonly string[] }> {
    return Promise.resolve({ facts: this.#machine.facts ?? { driver: 'simulated' }, strays: [] });
  }

  async #takeTime(signal: AbortSignal): Promise<void> {
    const { clock, delayMs = 0 } = this.#machine;
    if (delayMs > 0) await clock.sleep(delayMs, signal);
  }
}
