// Keeps the machine in line with the view. It calls the driver only when the view says something else than what is
// applied, or when the last try failed; after a start it cannot know, and asks the driver once.
import { Bell } from './bell.ts';
import type { View } from './messages.ts';
import { Pace } from './pace.ts';
import type { AgentPorts, Applied } from './ports.ts';
import type { Seeder } from './seeder.ts';

export interface ApplierParts {
  /** Undefined while there is none, and when the host was told to leave: then nothing is brought about any more. */
  readonly view: () => View | undefined;
  /** Called when the machine is in line with another view. */
  readonly applied: () => void;
  /** What else a view asks for before it counts; absent where the agent does not know of it. */
  readonly seeder?: Seeder | undefined;
}

export class Applier {
  readonly #ports: AgentPorts;
  readonly #parts: ApplierParts;
  readonly #bell = new Bell();
  #applied: string | undefined;
  #suspect = false;
  #problems: readonly string[] = [];

  constructor(ports: AgentPorts, parts: ApplierParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The digest of the view that the machine is in line with. */
  get applied(): string | undefined {
    return this.#applied;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  /** The view may be another. */
  look(): void {
    this.#bell.ring();
  }

  /** Something on the machine became different: it is looked at, and it counts as in line until that shows otherwise. */
  check(): void {
    this.#suspect = true;
    this.#bell.ring();
  }

  /** The machine may not be in line with the view any more, whatever was applied. */
  redo(): void {
    this.#applied = undefined;
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const pace = new Pace(this.#ports);
    while (!signal.aborted) {
      const view = this.#parts.view();
      if (view === undefined) this.#applied = undefined;
      if (view === undefined || this.#isInLine(view)) await this.#bell.wait(signal);
      else if (await this.#bring(view, signal)) pace.reset();
      else await this.#bell.wait(signal, { clock, ms: pace.nextMs() });
    }
  }

  #isInLine(view: View): boolean {
    return view.digest === this.#applied && !this.#suspect && this.#parts.seeder?.isDue(view) !== true;
  }

  async #bring(view: View, signal: AbortSignal): Promise<boolean> {
    this.#suspect = false;
    // Half of a new view may be there from here on: the machine is in line with neither.
    const checked = view.digest === this.#applied;
    if (!checked) this.#applied = undefined;
    const outcome = await this.#tryApply(view, signal);
    this.#problems = outcome.kind === 'failed' ? outcome.problems : [];
    if (outcome.kind === 'failed') {
      this.#applied = undefined;
      return false;
    }
    this.#applied = view.digest;
    if (!checked) this.#parts.applied();
    return true;
  }

  async #tryApply(view: View, signal: AbortSignal): Promise<Applied> {
    try {
      const applied = await this.#ports.driver.apply(view, signal);
      if (applied.kind === 'failed') return applied;
      const problems = (await this.#parts.seeder?.follow(view, signal)) ?? [];
      return problems.length === 0 ? applied : { kind: 'failed', problems };
    } catch (error) {
      // A driver answers with failures; what it throws is a bug. It must not silence the host as well.
      this.#ports.log.error({ err: error }, 'the local driver failed by a fault of the program');
      return { kind: 'failed', problems: [error instanceof Error ? error.message : String(error)] };
    }
  }
}
