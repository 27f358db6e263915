// The machines of a test's hosts, with a note of everything they were asked to do.
import { SimulatedDriver, type Fence, type LocalDriver, type SimulatedMachine } from '../../agent/runtime.ts';
import type { Task } from '../../operations/index.ts';

export interface Asked {
  readonly host: string;
  readonly task: string;
  readonly instance: string;
  readonly args: Task['args'];
}

export interface Watch {
  readonly note: (asked: Asked) => void;
  /** Whether the host has credentials of its own for networks. */
  readonly speaks: () => boolean;
}

export class WatchedDriver extends SimulatedDriver {
  readonly #watch: Watch;
  readonly #mute: SimulatedDriver;

  constructor({ network, ...machine }: SimulatedMachine, watch: Watch) {
    super({ ...machine, ...(network !== undefined && { network }) });
    this.#watch = watch;
    this.#mute = new SimulatedDriver({ ...machine, hypervisor: this.hypervisor });
  }

  override perform(task: Task, fence: Fence): ReturnType<LocalDriver['perform']> {
    const { instance } = task.args;
    if (typeof instance === 'string')
      this.#watch.note({ host: fence.host, task: task.kind, instance, args: task.args });
    return this.#watch.speaks() ? super.perform(task, fence) : this.#mute.perform(task, fence);
  }
}
