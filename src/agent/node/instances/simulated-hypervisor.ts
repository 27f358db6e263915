// What runs on a machine that is not there, and which of its tasks are to fail. It outlives the agent, as a machine does,
// and the process too when it is given a disk. It changes only by tasks: being absent from a view destroys nothing.
import type { InstanceTask } from './instance-task-args.ts';
import type { Disk } from '../ports.ts';
import { InstanceRecords } from './instance-records.ts';
import type { RuntimeCapacity, RuntimeFacts, RuntimeInstance } from './instance-runtime.ts';
import type { TaskDurations } from './task-durations.ts';

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

export interface SimulatedHypervisorOptions {
  /** More than this is not built; without it everything fits. */
  readonly capacity?: RuntimeCapacity;
  readonly failures?: readonly ArmedTaskFault[];
  /** Faults that are armed elsewhere: looked up when none that is armed here matches. */
  readonly faultFor?: (at: TaskOnHost) => InjectedTaskFault | undefined;
  /** The machine of another host, to send instances to. Without it, what is prepared counts as received. */
  readonly peer?: (host: string) => SimulatedHypervisor | undefined;
  /** What a source of migrations gets from `prepare` and has to show; nothing by default. */
  readonly handoverFor?: (instance: string) => RuntimeFacts;
  /** How long tasks take; nothing by default. */
  readonly durations?: TaskDurations;
  /** Where it remembers what runs, for machines that outlive their process. */
  readonly disk?: Pick<Disk, 'read' | 'write'>;
}

export class SimulatedHypervisor {
  readonly durations: TaskDurations;
  readonly records: InstanceRecords;
  readonly #capacity: RuntimeCapacity | undefined;
  readonly #faultFor: SimulatedHypervisorOptions['faultFor'];
  readonly #peer: SimulatedHypervisorOptions['peer'];
  readonly #handoverFor: SimulatedHypervisorOptions['handoverFor'];
  readonly #endListeners = new Set<(id: string) => void>();
  #failures: ArmedTaskFault[];

  constructor(options: SimulatedHypervisorOptions = {}) {
    const { capacity, failures = [], faultFor, peer, handoverFor, durations = {}, disk } = options;
    this.durations = durations;
    this.records = new InstanceRecords(disk);
    this.#faultFor = faultFor;
    this.#peer = peer;
    this.#handoverFor = handoverFor;
    this.#capacity = capacity;
    this.#failures = [...failures];
  }

  /** What is on this machine, in the order of their ids. */
  get instances(): readonly RuntimeInstance[] {
    return this.records.held;
  }

  instance(id: string): RuntimeInstance | undefined {
    return this.records.get(id);
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
    const others = this.instances.filter((one) => one.id !== id);
    return (['vcpus', 'memoryMiB', 'diskGiB'] as const).flatMap((what) => {
      const free = others.reduce((left, one) => left - one[what], capacity[what]);
      return wanted[what] <= free ? [] : [`${what}: ${wanted[what]} wanted, ${free} free`];
    });
  }

  put(instance: RuntimeInstance): void {
    this.records.put(instance);
  }

  /** A running instance ends by itself, as when its guest panics. */
  async end(id: string, atMs: number): Promise<void> {
    const found = this.instance(id);
    if (found?.state !== 'running') return;
    this.put({ ...found, state: 'ended', endedAtMs: atMs });
    await this.records.save();
    for (const listener of this.#endListeners) listener(id);
  }

  onEnded(listener: (id: string) => void): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  remove(id: string): void {
    this.records.remove(id);
  }

  /** Whether an instance that is prepared for has to arrive before it can run. */
  get awaitsArrivals(): boolean {
    return this.#peer !== undefined;
  }

  /** There is room for it here. */
  prepare(instance: Omit<RuntimeInstance, 'state'>): void {
    const facts = this.#handoverFor?.(instance.id);
    this.put({ ...instance, state: 'prepared', ...(facts !== undefined && { facts }) });
  }

  /** What was expected is here now, and can be activated. False where it is not expected: then nothing is taken. */
  async receive(id: string, handover: RuntimeFacts | undefined): Promise<boolean> {
    const expected = this.instance(id);
    if (expected === undefined || expected.state === 'sent' || !isSameHandover(expected.facts, handover)) return false;
    if (expected.state !== 'prepared') return true;
    this.put({ ...expected, state: 'received' });
    await this.records.save();
    return true;
  }

  /** Sends it to another machine, which has it before this one forgets it. False when that one does not take it: it stays. */
  async transferTo(id: string, target: string, handover: RuntimeFacts | undefined): Promise<boolean> {
    const taken = (await this.#peer?.(target)?.receive(id, handover)) ?? true;
    if (taken) this.markSent(id, target);
    return taken;
  }

  /** It is on its way to another machine, and here no more. */
  markSent(id: string, target: string): void {
    this.remove(id);
    this.records.markSent(id, target);
  }
}

function isSameHandover(expected: RuntimeFacts | undefined, actual: RuntimeFacts | undefined): boolean {
  return expected === undefined || JSON.stringify(expected) === JSON.stringify(actual);
}
