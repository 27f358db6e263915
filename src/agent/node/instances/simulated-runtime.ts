// What runs on a machine that is not there, and which of its tasks are to fail. It outlives the agent, as a machine does,
// and the process too when it is given a disk. It changes only by tasks: being absent from a view destroys nothing.
import type { InstanceTask, TaskNic } from './instance-task-args.ts';
import type { Disk } from '../ports.ts';
import type { PortFact } from './host-ports.ts';
import type { TaskDurations } from './task-durations.ts';

export interface RuntimeInstance {
  readonly id: string;
  /** `prepared`: there is room and it is expected, it does not run. */
  readonly state: 'prepared' | 'running';
  /** It is prepared for, and nothing was sent yet. Only said where machines know of one another. */
  readonly awaited?: true;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
  readonly nics: readonly TaskNic[];
  /** The task that made it so. The same task again finds its work done. */
  readonly by: string;
  /** What that task said of ports. */
  readonly ports?: readonly PortFact[];
}

/** What goes wrong with one task. Without a fault it only takes longer. */
export interface InjectedTaskFault {
  /** Kebab-case: what the server decides by. */
  readonly fault?: string;
  /** What a person reads. */
  readonly problem?: string;
  /** It was done, and then the task failed. */
  readonly after?: boolean;
  readonly delayMs?: number;
}

export interface ArmedTaskFault extends InjectedTaskFault {
  readonly task: InstanceTask;
  /** Only of this instance; else of any. */
  readonly instance?: string;
  readonly times: number;
  readonly problem: string;
  readonly fault: string;
}

export interface TaskOnHost {
  readonly task: InstanceTask;
  readonly instance: string;
  readonly host: string;
}

export type RuntimeCapacity = Pick<RuntimeInstance, 'vcpus' | 'memoryMiB' | 'diskGiB'>;

export interface SimulatedRuntimeOptions {
  /** More than this is not built; without it everything fits. */
  readonly capacity?: RuntimeCapacity;
  readonly failures?: readonly ArmedTaskFault[];
  /** Trouble that is armed elsewhere, asked for when nothing that is armed here strikes. */
  readonly faultFor?: (at: TaskOnHost) => InjectedTaskFault | undefined;
  /** The machine of another host, to send instances to. Without it, what is prepared counts as received. */
  readonly peer?: (host: string) => SimulatedRuntime | undefined;
  /** How long tasks take; nothing by default. */
  readonly durations?: TaskDurations;
  /** Makes true what is written down here, for instances that are more than that. Repeating it is a no-op. */
  readonly materialize?: (instances: readonly RuntimeInstance[]) => Promise<void>;
  /** Where it remembers what runs, for machines that outlive their process. */
  readonly disk?: Pick<Disk, 'read' | 'write'>;
}

/** Of instances that left, the last ones are remembered: a migration may be asked for again after a crash. */
const SENT_MAX = 1000;

export class SimulatedRuntime {
  readonly durations: TaskDurations;
  readonly #capacity: RuntimeCapacity | undefined;
  readonly #disk: SimulatedRuntimeOptions['disk'];
  readonly #materialize: SimulatedRuntimeOptions['materialize'];
  readonly #faultFor: SimulatedRuntimeOptions['faultFor'];
  readonly #peer: SimulatedRuntimeOptions['peer'];
  readonly #instances = new Map<string, RuntimeInstance>();
  /** Where instances were sent, by instance, oldest first. */
  readonly #sent = new Map<string, string>();
  #failures: ArmedTaskFault[];
  #loading: Promise<void> | undefined;
  #lastSave: Promise<void> = Promise.resolve();

  constructor({
    capacity,
    failures = [],
    faultFor,
    peer,
    durations = {},
    disk,
    materialize,
  }: SimulatedRuntimeOptions = {}) {
    this.durations = durations;
    this.#faultFor = faultFor;
    this.#peer = peer;
    this.#capacity = capacity;
    this.#failures = [...failures];
    this.#disk = disk;
    this.#materialize = materialize;
  }

  /** In the order of their ids. */
  get instances(): readonly RuntimeInstance[] {
    return [...this.#instances.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  instance(id: string): RuntimeInstance | undefined {
    return this.#instances.get(id);
  }

  count(state: RuntimeInstance['state']): number {
    let count = 0;
    for (const instance of this.#instances.values()) if (instance.state === state) count += 1;
    return count;
  }

  /** From now on the next tasks that match fail. */
  arm(failure: ArmedTaskFault): void {
    this.#failures.push(failure);
  }

  /** Nothing fails any more. */
  disarm(): void {
    this.#failures = [];
  }

  /** The trouble that strikes this task now. It is used up once. */
  takeFault(at: TaskOnHost): InjectedTaskFault | undefined {
    const { task, instance } = at;
    const nth = this.#failures.findIndex(
      (one) => one.task === task && one.times > 0 && (one.instance === undefined || one.instance === instance),
    );
    const failure = this.#failures[nth];
    if (failure === undefined) return this.#faultFor?.(at);
    const left = this.#failures.with(nth, { ...failure, times: failure.times - 1 });
    this.#failures = left.filter(({ times }) => times > 0);
    return failure;
  }

  /** What is short when this instance is added, or takes the place of what it was before. */
  findShortage(id: string, wanted: RuntimeCapacity): readonly string[] {
    const capacity = this.#capacity;
    if (capacity === undefined) return [];
    const others = [...this.#instances.values()].filter((one) => one.id !== id);
    return (['vcpus', 'memoryMiB', 'diskGiB'] as const).flatMap((what) => {
      const free = others.reduce((left, one) => left - one[what], capacity[what]);
      return wanted[what] <= free ? [] : [`${what}: ${wanted[what]} wanted, ${free} free`];
    });
  }

  put(instance: RuntimeInstance): void {
    this.#instances.set(instance.id, instance);
    this.#sent.delete(instance.id);
  }

  /** There is room for it here. */
  prepare(instance: Omit<RuntimeInstance, 'state' | 'awaited'>): void {
    this.put({ ...instance, state: 'prepared', ...(this.#peer !== undefined && { awaited: true }) });
  }

  /** What was expected is here now, and can be activated. False where it is not expected: then nothing is taken. */
  async receive(id: string): Promise<boolean> {
    const expected = this.#instances.get(id);
    if (expected?.awaited !== true) return expected !== undefined;
    const { awaited: _, ...found } = expected;
    this.put(found);
    await this.save();
    return true;
  }

  /** Sends it to another machine, which has it before this one forgets it. False when that one does not take it: it stays. */
  async transferTo(id: string, target: string): Promise<boolean> {
    const taken = (await this.#peer?.(target)?.receive(id)) ?? true;
    if (taken) this.markSent(id, target);
    return taken;
  }

  remove(id: string): void {
    this.#instances.delete(id);
    this.#sent.delete(id);
  }

  /** It is on its way to another machine, and here no more. */
  markSent(id: string, target: string): void {
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
  async load(): Promise<void> {
    this.#loading ??= this.#readState();
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined; // the disk may be mended
      throw error;
    }
  }

  async #readState(): Promise<void> {
    const text = await this.#disk?.read('machine');
    const { instances, sent } = parseState(text);
    for (const instance of instances) this.#instances.set(instance.id, instance);
    for (const [id, target] of sent) this.#sent.set(id, target);
    await this.#materialize?.(this.instances);
  }

  /** Resolves when what is there now is on disk. Writes follow one another: the last one says what is. */
  save(): Promise<void> {
    const disk = this.#disk;
    if (disk === undefined && this.#materialize === undefined) return Promise.resolve();
    const write = async (): Promise<void> => {
      const now: RuntimeState = { instances: this.instances, sent: [...this.#sent] };
      await this.#materialize?.(now.instances);
      await disk?.write('machine', JSON.stringify(now));
    };
    const before = this.#lastSave;
    const written = before.then(write, write);
    this.#lastSave = written;
    return written;
  }
}

/** A file that cannot be read back is a machine that forgot. */
function parseState(text: string | undefined): RuntimeState {
  const nothing: RuntimeState = { instances: [], sent: [] };
  if (text === undefined) return nothing;
  try {
    return { ...nothing, ...(JSON.parse(text) as Partial<RuntimeState>) };
  } catch (error) {
    if (error instanceof SyntaxError) return nothing;
    throw error;
  }
}

interface RuntimeState {
  readonly instances: readonly RuntimeInstance[];
  readonly sent: readonly (readonly [string, string])[];
}
