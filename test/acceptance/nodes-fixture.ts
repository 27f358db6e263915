// The machines and switches of a test's hosts, with a note of every task that they received.
import { SimulatedNodeDriver, type LocalDriver, type SimulatedNodeOptions } from '../../src/agent/runtime.ts';
import type { SwitchChange } from '../../src/dataplane/index.ts';
import { SimulatedSwitch } from '../../src/dataplane/runtime.ts';
import type { Clock } from '../../src/journal/index.ts';
import type { Task, TaskFence } from '../../src/operations/index.ts';

export interface PerformedTask {
  readonly host: string;
  readonly task: string;
  readonly instance: string;
  readonly args: Task['args'];
}

export interface Watch {
  readonly note: (task: PerformedTask) => void;
  /** Whether the host has credentials of its own for networks. */
  readonly hasCredentials: () => boolean;
}

export class WatchedDriver extends SimulatedNodeDriver {
  readonly #watch: Watch;
  readonly #withoutNetwork: SimulatedNodeDriver;

  constructor(machine: SimulatedNodeOptions, watch: Watch) {
    super(machine);
    this.#watch = watch;
    const { network: _, switch: __, ...mute } = machine;
    this.#withoutNetwork = new SimulatedNodeDriver({ ...mute, hypervisor: this.hypervisor });
  }

  override perform(task: Task, fence: TaskFence): ReturnType<LocalDriver['perform']> {
    const { instance } = task.args;
    if (typeof instance !== 'string') return super.perform(task, fence);
    this.#watch.note({ host: fence.host, task: task.kind, instance, args: task.args });
    return this.#watch.hasCredentials() ? super.perform(task, fence) : this.#withoutNetwork.perform(task, fence);
  }
}

interface WatchedSwitchOptions {
  readonly clock: Clock;
  readonly isBfdUp: (peer: string) => boolean;
  /** Called for every change, once it is active. */
  readonly onChanged: (changes: readonly SwitchChange[]) => void;
}

export class WatchedSwitch extends SimulatedSwitch {
  readonly #changed: WatchedSwitchOptions['onChanged'];

  constructor(host: string, { clock, isBfdUp, onChanged }: WatchedSwitchOptions) {
    super({ host, clock, isBfdUp });
    this.#changed = onChanged;
  }

  override async apply(changes: readonly SwitchChange[]): Promise<void> {
    await super.apply(changes);
    this.#changed(changes);
  }
}
