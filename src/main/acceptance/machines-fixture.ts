// The machines and switches of a test's hosts, with a note of everything that they were asked to do.
import { SimulatedDriver, type Fence, type LocalDriver, type SimulatedMachine } from '../../agent/runtime.ts';
import type { SwitchChange } from '../../dataplane/index.ts';
import { SimulatedSwitch } from '../../dataplane/runtime.ts';
import type { Clock } from '../../journal/index.ts';
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

  constructor(machine: SimulatedMachine, watch: Watch) {
    super(machine);
    this.#watch = watch;
    const { network: _, switch: __, ...mute } = machine;
    this.#mute = new SimulatedDriver({ ...mute, hypervisor: this.hypervisor });
  }

  override perform(task: Task, fence: Fence): ReturnType<LocalDriver['perform']> {
    const { instance } = task.args;
    if (typeof instance !== 'string') return super.perform(task, fence);
    this.#watch.note({ host: fence.host, task: task.kind, instance, args: task.args });
    return this.#watch.speaks() ? super.perform(task, fence) : this.#mute.perform(task, fence);
  }
}

interface Switching {
  readonly clock: Clock;
  readonly hears: (peer: string) => boolean;
  /** Told of every change, once it is in force. */
  readonly changed: (changes: readonly SwitchChange[]) => void;
}

export class WatchedSwitch extends SimulatedSwitch {
  readonly #changed: Switching['changed'];

  constructor(host: string, { clock, hears: isBfdUp, changed }: Switching) {
    super({ host, clock, isBfdUp });
    this.#changed = changed;
  }

  override async apply(changes: readonly SwitchChange[]): Promise<void> {
    await super.apply(changes);
    this.#changed(changes);
  }
}
