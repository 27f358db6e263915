// A node that is not there: an instance runtime on a simulated hypervisor, delays and faults. For the demo, the simulation and tests;
// `muster agent --simulate` runs it as well.
import { readDataplaneView } from '../../dataplane/index.ts';
import type { Task, TaskFence, TaskResult } from '../../operations/index.ts';
import { SimulatedHypervisor, type SimulatedHypervisorOptions } from '../node/instances/simulated-hypervisor.ts';
import { SimulatedRuntime } from '../node/instances/simulated-runtime.ts';
import { NodeDriver, type NodeDriverOptions } from '../node/node-driver.ts';
import type { ApplyResult } from '../node/ports.ts';
import type { UnreadyService, View } from '../protocol/messages.ts';

/** Its hypervisor is made with what is said here, unless one is handed in. */
export interface SimulatedNodeOptions
  extends Omit<NodeDriverOptions, 'runtime' | 'beforeApply'>, SimulatedHypervisorOptions {
  /** What runs there, when it is to outlive this driver. */
  readonly hypervisor?: SimulatedHypervisor | undefined;
  /** How long everything takes, beside what a task takes by itself. */
  readonly delayMs?: number;
  /** Why a view cannot be applied now; nothing by default. */
  readonly obstacles?: () => readonly string[];
  /** Why a service cannot be prepared here now; every service can by default. Other services are not held up by it. */
  readonly prepareFailureOf?: (service: string) => string | undefined;
}

export class SimulatedNodeDriver extends NodeDriver<SimulatedRuntime> {
  /** What runs there. Arm it with failures. */
  readonly hypervisor: SimulatedHypervisor;
  readonly #options: SimulatedNodeOptions;

  constructor(options: SimulatedNodeOptions) {
    const { clock, hypervisor = new SimulatedHypervisor(options) } = options;
    super({
      facts: { driver: 'simulated' },
      ...options,
      runtime: new SimulatedRuntime({ hypervisor, clock }),
      beforeApply: (signal) => this.#findObstacles(signal),
    });
    this.hypervisor = hypervisor;
    this.#options = options;
  }

  override async apply(view: View, signal: AbortSignal): Promise<ApplyResult> {
    const applied = await super.apply(view, signal);
    if (applied.kind === 'failed') return applied;
    const unready = [...(applied.unready ?? []), ...this.#unpreparedServices(view)];
    return { kind: applied.kind, ...(unready.length > 0 && { unready }) };
  }

  override async perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    await this.#simulateDelay(fence.signal);
    return super.perform(task, fence);
  }

  #unpreparedServices({ host, parts }: View): UnreadyService[] {
    const { prepareFailureOf } = this.#options;
    if (prepareFailureOf === undefined) return [];
    const services = readDataplaneView(host, parts)?.services ?? [];
    return services.flatMap(({ id, role }) => {
      const because = role === 'preparing' ? prepareFailureOf(id) : undefined;
      return because === undefined ? [] : [{ service: id, because }];
    });
  }

  async #findObstacles(signal: AbortSignal): Promise<readonly string[]> {
    await this.#simulateDelay(signal);
    return this.#options.obstacles?.() ?? [];
  }

  async #simulateDelay(signal: AbortSignal): Promise<void> {
    const { clock, delayMs = 0 } = this.#options;
    if (delayMs > 0) await clock.sleep(delayMs, signal);
  }
}
