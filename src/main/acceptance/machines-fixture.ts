// The machines of a test's hosts, with a note of everything they were asked to do.
import { SimulatedDriver, type Fence, type LocalDriver, type SimulatedMachine } from '../../agent/runtime.ts';
import type { Task } from '../../operations/index.ts';

export interface Asked {
  readonly host: string;
  readonly task: string;
  readonly instance: string;
  readonly args: Task['args'];
}

export class WatchedDriver extends SimulatedDriver {
  readonly #note: (asked: Asked) => void;

  constructor(machine: SimulatedMachine, note: (asked: Asked) => void) {
    super(machine);
    this.#note = note;
  }

  override perform(task: Task, fence: Fence): ReturnType<LocalDriver['perform']> {
    const { instance } = task.args;
    if (typeof instance === 'string') this.#note({ host: fence.host, task: task.kind, instance, args: task.args });
    return super.perform(task, fence);
  }
}
