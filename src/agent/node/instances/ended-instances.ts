// Instances that ended by themselves are started again where the view says that they run. Only on a view that a holder has confirmed: by an older
// one it may run elsewhere by now. One that ends again and again is started less and less often.
import { backoffMs, type Clock } from '../../../journal/index.ts';
import type { InstanceRuntime, RuntimeInstance, RuntimeView } from './instance-runtime.ts';
import type { InstanceTasks } from './instance-tasks.ts';

const RESTART_BACKOFF = { firstMs: 1000, longestMs: 300_000 };
/** One that ran for so long is started at once when it ends. */
const RAN_WELL_MS = 600_000;

interface Restarts {
  /** In a row. */
  readonly count: number;
  readonly lastMs: number;
}

export interface EndedInstancesParts {
  readonly runtime: Pick<InstanceRuntime, 'instances'>;
  readonly tasks: Pick<InstanceTasks, 'startAgain'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export class EndedInstances {
  readonly #parts: EndedInstancesParts;
  readonly #restarts = new Map<string, Restarts>();

  constructor(parts: EndedInstancesParts) {
    this.#parts = parts;
  }

  /** Answers after how long it is to be called again; undefined when none is left that should run. */
  async startAgain(
    view: RuntimeView,
    how: { readonly host: string; readonly signal: AbortSignal },
  ): Promise<number | undefined> {
    const { runtime, tasks, clock } = this.#parts;
    const ended = findRestartable(runtime.instances, view);
    const nowMs = clock.nowMs();
    this.#forgetOthers(runtime.instances);
    const due = ended.filter(({ id }) => this.#waitMs(id, nowMs) === 0);
    for (const { id } of due) this.#restarts.set(id, { count: this.#countInRow(id, nowMs) + 1, lastMs: nowMs });
    const started = await Promise.all(due.map(async ({ id }) => ((await tasks.startAgain(id, how)) ? [] : [id])));
    const left = [...ended.filter((one) => !due.includes(one)).map(({ id }) => id), ...started.flat()];
    return left.length === 0 ? undefined : Math.min(...left.map((id) => Math.max(1, this.#waitMs(id, clock.nowMs()))));
  }

  #waitMs(id: string, nowMs: number): number {
    const last = this.#restarts.get(id);
    if (last === undefined) return 0;
    return Math.max(0, last.lastMs + backoffMs(RESTART_BACKOFF, last.count) - nowMs);
  }

  #countInRow(id: string, nowMs: number): number {
    const last = this.#restarts.get(id);
    return last === undefined || nowMs - last.lastMs >= RAN_WELL_MS ? 0 : last.count;
  }

  #forgetOthers(instances: readonly RuntimeInstance[]): void {
    const here = new Set(instances.map(({ id }) => id));
    for (const id of this.#restarts.keys()) if (!here.has(id)) this.#restarts.delete(id);
  }
}

/** States of an instance in which its host has it running, or hands it on as it runs. */
const RUNNING_STATES: readonly string[] = ['active', 'moving'];

function findRestartable(instances: readonly RuntimeInstance[], view: RuntimeView): readonly RuntimeInstance[] {
  const expected = new Set(
    (view.instances ?? [])
      .filter(({ role, state }) => role === 'home' && RUNNING_STATES.includes(state))
      .map(({ id }) => id),
  );
  const isFree = (id: string): boolean => !view.underTask.has(id) || view.migrating.has(id);
  return instances.filter(({ id, state }) => state === 'ended' && expected.has(id) && isFree(id));
}
