// What runs on a machine that is not there, and which of its tasks are to fail. It outlives the agent, as a machine does,
// and the process too when it is given a disk. It changes only by tasks: being absent from a view destroys nothing.
import type { InstanceTask, OrderNic } from './instance-order.ts';
import type { Disk } from './ports.ts';
import type { PortFact } from './host-ports.ts';
import type { TaskDurations } from './task-durations.ts';

export interface MachineInstance {
  readonly id: string;
  /** `prepared`: there is room and it is expected, it does not run. */
  readonly state: 'prepared' | 'running';
  /** It is prepared for, and nothing was sent yet. Only said where machines know of one another. */
  readonly awaited?: true;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
  readonly nics: readonly OrderNic[];
  /** The task that made it so. The same task again finds its work done. */
  readonly by: string;
  /** What that task said of ports. */
  readonly ports?: readonly PortFact[];
}

/** What goes wrong with one task. Without a fault it only takes longer. */
export interface TaskTrouble {
  /** Kebab-case: what the server decides by. */
  readonly fault?: string;
  /** What a person reads. */
  readonly problem?: string;
  /** It was done, and then the task failed. */
  readonly after?: boolean;
  readonly delayMs?: number;
}

export interface TaskFailure extends TaskTrouble {
  readonly task: InstanceTask;
  /** Only of this instance; else of any. */
  readonly instance?: string;
  readonly times: number;
  readonly problem: string;
  readonly fault: string;
}

export interface TaskAt {
  readonly task: InstanceTask;
  readonly instance: string;
  readonly host: string;
}

export type MachineCapacity = Pick<MachineInstance, 'vcpus' | 'memoryMiB' | 'diskGiB'>;

export interface HypervisorOptions {
  /** More than this is not built; without it everything fits. */
  readonly capacity?: MachineCapacity;
  readonly failures?: readonly TaskFailure[];
  /** Trouble that is armed elsewhere, asked for when nothing that is armed here strikes. */
  readonly trouble?: (at: TaskAt) => TaskTrouble | undefined;
  /** The machine of another host, to send instances to. Without it, what is prepared counts as received. */
  readonly peer?: (host: string) => SimulatedHypervisor | undefined;
  /** How long tasks take; nothing by default. */
  readonly durations?: TaskDurations;
  /** Makes true what is written down here, for instances that are more than that. Repeating it is a no-op. */
  readonly realise?: (instances: readonly MachineInstance[]) => Promise<void>;
  /** Where it remembers what runs, for machines that outlive their process. */
  readonly disk?: Pick<Disk, 'read' | 'write'>;
}

/** Of instances that left, the last ones are remembered: a migration may be asked for again after a crash. */
const SENT_MAX = 1000;

export class SimulatedHypervisor {
  readonly durations: TaskDurations;
  readonly #capacity: MachineCapacity | undefined;
  readonly #disk: HypervisorOptions['disk'];
  readonly #realise: HypervisorOptions['realise'];
  readonly #trouble: HypervisorOptions['trouble'];
  readonly #peer: HypervisorOptions['peer'];
  readonly #instances = new Map<string, MachineInstance>();
  /** Where instances were sent, by instance, oldest first. */
  readonly #sent = new Map<string, string>();
  #failures: TaskFailure[];
  #opened: Promise<void> | undefined;
  #kept: Promise<void> = Promise.resolve();

  constructor({ capacity, failures = [], trouble, peer, durations = {}, disk, realise }: HypervisorOptions = {}) {
    this.durations = durations;
    this.#trouble = trouble;
    this.#peer = peer;
    this.#capacity = capacity;
    this.#failures = [...failures];
    this.#disk = disk;
    this.#realise = realise;
  }

  /** In the order of their ids. */
  get instances(): readonly MachineInstance[] {
    return [...this.#instances.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  instance(id: string): MachineInstance | undefined {
    return this.#instances.get(id);
  }

  count(state: MachineInstance['state']): number {
    let count = 0;
    for (const instance of this.#instances.values()) if (instance.state === state) count += 1;
    return count;
  }

  /** From now on the next tasks that match fail. */
  arm(failure: TaskFailure): void {
    this.#failures.push(failure);
  }

  /** Nothing fails any more. */
  disarm(): void {
    this.#failures = [];
  }

  /** The trouble that strikes this task now. It is used up once. */
  troubleOf(at: TaskAt): TaskTrouble | undefined {
    const { task, instance } = at;
    const nth = this.#failures.findIndex(
      (one) => one.task === task && one.times > 0 && (one.instance === undefined || one.instance === instance),
    );
    const failure = this.#failures[nth];
    if (failure === undefined) return this.#trouble?.(at);
    const left = this.#failures.with(nth, { ...failure, times: failure.times - 1 });
    this.#failures = left.filter(({ times }) => times > 0);
    return failure;
  }

  /** What is short when this instance is added, or takes the place of what it was before. */
  shortOf(id: string, wanted: MachineCapacity): readonly string[] {
    const capacity = this.#capacity;
    if (capacity === undefined) return [];
    const others = [...this.#instances.values()].filter((one) => one.id !== id);
    return (['vcpus', 'memoryMiB', 'diskGiB'] as const).flatMap((what) => {
      const free = others.reduce((left, one) => left - one[what], capacity[what]);
      return wanted[what] <= free ? [] : [`${what}: ${wanted[what]} wanted, ${free} free`];
    });
  }

  put(instance: MachineInstance): void {
    this.#instances.set(instance.id, instance);
    this.#sent.delete(instance.id);
  }

  /** There is room for it here. */
  expect(instance: Omit<MachineInstance, 'state' | 'awaited'>): void {
    this.put({ ...instance, state: 'prepared', ...(this.#peer !== undefined && { awaited: true }) });
  }

  /** What was expected is here now, and can be activated. False where it is not expected: then nothing is taken. */
  async receive(id: string): Promise<boolean> {
    const expected = this.#instances.get(id);
    if (expected?.awaited !== true) return expected !== undefined;
    const { awaited: _, ...found } = expected;
    this.put(found);
    await this.keep();
    return true;
  }

  /** Sends it to another machine, which has it before this one forgets it. False when that one does not take it: it stays. */
  async handOver(id: string, target: string): Promise<boolean> {
    const taken = (await this.#peer?.(target)?.receive(id)) ?? true;
    if (taken) this.send(id, target);
    return taken;
  }

  remove(id: string): void {
    this.#instances.delete(id);
    this.#sent.delete(id);
  }

  /** It is on its way to another machine, and here no more. */
  send(id: string, target: string): void {
    this.remove(id);
    this.#sent.set(id, target);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= SENT_MAX) break;
      this.#sent.delete(oldest);
    }
  }

  sentTo(id: string): string | undefined {
    return this.#sent.get(id);
  }

  /** Remembers what ran when the process before this one ended. */
  async open(): Promise<void> {
    this.#opened ??= this.#load();
    try {
      await this.#opened;
    } catch (error) {
      this.#opened = undefined; // the disk may be mended
      throw error;
    }
  }

  async #load(): Promise<void> {
    const text = await this.#disk?.read('machine');
    const { instances, sent } = remembered(text);
    for (const instance of instances) this.#instances.set(instance.id, instance);
    for (const [id, target] of sent) this.#sent.set(id, target);
    await this.#realise?.(this.instances);
  }

  /** Resolves when what is there now is on disk. Writes follow one another: the last one says what is. */
  keep(): Promise<void> {
    const disk = this.#disk;
    if (disk === undefined && this.#realise === undefined) return Promise.resolve();
    const write = async (): Promise<void> => {
      const now: Remembered = { instances: this.instances, sent: [...this.#sent] };
      await this.#realise?.(now.instances);
      await disk?.write('machine', JSON.stringify(now));
    };
    const before = this.#kept;
    const written = before.then(write, write);
    this.#kept = written;
    return written;
  }
}

/** A file that cannot be read back is a machine that forgot. */
function remembered(text: string | undefined): Remembered {
  const nothing: Remembered = { instances: [], sent: [] };
  if (text === undefined) return nothing;
  try {
    return { ...nothing, ...(JSON.parse(text) as Partial<Remembered>) };
  } catch (error) {
    if (error instanceof SyntaxError) return nothing;
    throw error;
  }
}

interface Remembered {
  readonly instances: readonly MachineInstance[];
  readonly sent: readonly (readonly [string, string])[];
}
