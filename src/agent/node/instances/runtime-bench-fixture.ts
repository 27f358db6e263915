// What the suite of instance runtimes works with: a machine, processes on it one after the other, and a disk that breaks.
import { onTestFinished } from 'vitest';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { StateMemoryDisk } from '../state/memory-disk.ts';
import type { Task, TaskResult } from '../../../operations/index.ts';
import { DiskFailed } from '../../../link/index.ts';
import { InstanceTasks } from './instance-tasks.ts';
import type { InstanceRuntime, InstanceSpec, RuntimeCall } from './instance-runtime.ts';

export interface RuntimeMachine {
  /** A process of its own on this machine, with this disk. */
  start(disk: StateMemoryDisk): InstanceRuntime;
  /** What really runs there, by ids; undefined where only the runtime knows. */
  running(): Promise<readonly string[]> | undefined;
  /** Makes an instance end by itself. */
  end(id: string): Promise<void>;
  close?(): Promise<void>;
}

export function callFor(task: string, more: Partial<RuntimeCall> = {}): RuntimeCall {
  return { task, host: 'h1', ports: [], signal: new AbortController().signal, ...more };
}

/** Reads or writes fail while `broken` says so. */
export class BrokenDisk extends StateMemoryDisk {
  broken: 'read' | 'write' | undefined;

  override read(...args: Parameters<StateMemoryDisk['read']>): ReturnType<StateMemoryDisk['read']> {
    return this.broken === 'read' ? Promise.reject(new DiskFailed('the disk is broken')) : super.read(...args);
  }

  override write(...args: Parameters<StateMemoryDisk['write']>): Promise<void> {
    return this.broken === 'write' ? Promise.reject(new DiskFailed('the disk is full')) : super.write(...args);
  }
}

export const spec = (id: string): InstanceSpec => ({ id, vcpus: 1, memoryMiB: 64, diskGiB: 1, nics: [] });

export class RuntimeBench {
  readonly disk = new BrokenDisk();
  readonly machine: RuntimeMachine;
  runtime: InstanceRuntime;

  constructor(make: () => RuntimeMachine) {
    this.machine = make();
    this.runtime = this.machine.start(this.disk);
    onTestFinished(async () => this.machine.close?.());
  }

  /** The process ends, and another begins. */
  async restart(): Promise<InstanceRuntime> {
    this.runtime = this.machine.start(this.disk);
    await this.runtime.open();
    return this.runtime;
  }

  states(): string[] {
    return this.runtime.instances.map(({ id, state }) => `${id} ${state}`);
  }

  /** What the runtime says runs, and what really does: the same, unless something was done behind its back. */
  async running(): Promise<readonly string[]> {
    const running = this.runtime.instances.flatMap(({ id, state }) => (state === 'running' ? [id] : []));
    const found = await this.machine.running();
    if (found !== undefined && [...found].sort().join() !== running.join())
      throw new Error(`${running.join(', ')} is said to run, and ${found.join(', ')} does`);
    return running;
  }
}

export async function withTwo(make: () => RuntimeMachine): Promise<RuntimeBench> {
  const bench = new RuntimeBench(make);
  await bench.runtime.open();
  for (const id of ['i1', 'i2']) await bench.runtime.build(spec(id), callFor(`t-${id}`));
  return bench;
}

export function performTask(
  runtime: InstanceRuntime,
  kind: string,
  args: Task['args'],
  id = `t-${kind}`,
): Promise<TaskResult> {
  const tasks = new InstanceTasks({ runtime, clock: new VirtualClock() });
  const stamp = { journalId: 'j1', leaseEpoch: 1, revision: 1 };
  const fence = { stamp, host: 'h1', serviceVersion: 6, signal: new AbortController().signal };
  return tasks.perform({ id, kind, args }, fence);
}
