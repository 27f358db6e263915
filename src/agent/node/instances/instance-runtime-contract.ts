// What every instance runtime has to hold: the suite that the simulated one, the one of namespaces and later QEMU pass. A machine is
// whatever the runtime drives; it outlives the process, as the disk does.
import { describe, expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { MemoryDisk } from '../state/memory-disk.ts';
import type { Task, TaskResult } from '../../../operations/index.ts';
import { DiskFailed, StateDamaged } from '../ports.ts';
import { activate, build, destroy } from './instance-tasks-fixture.ts';
import { InstanceTasks } from './instance-tasks.ts';
import type { InstanceRuntime, InstanceSpec, RuntimeCall } from './instance-runtime.ts';

export interface RuntimeMachine {
  /** A process of its own on this machine, with this disk. */
  start(disk: MemoryDisk): InstanceRuntime;
  /** What really runs there, by ids; undefined where only the runtime knows. */
  running(): Promise<readonly string[]> | undefined;
  close?(): Promise<void>;
}

export function callFor(task: string, more: Partial<RuntimeCall> = {}): RuntimeCall {
  return { task, host: 'h1', ports: [], signal: new AbortController().signal, ...more };
}

/** Reads or writes fail while `broken` says so. */
class BrokenDisk extends MemoryDisk {
  broken: 'read' | 'write' | undefined;

  override read(...args: Parameters<MemoryDisk['read']>): ReturnType<MemoryDisk['read']> {
    return this.broken === 'read' ? Promise.reject(new DiskFailed('the disk is broken')) : super.read(...args);
  }

  override write(...args: Parameters<MemoryDisk['write']>): Promise<void> {
    return this.broken === 'write' ? Promise.reject(new DiskFailed('the disk is full')) : super.write(...args);
  }
}

const spec = (id: string): InstanceSpec => ({ id, vcpus: 1, memoryMiB: 64, diskGiB: 1, nics: [] });

class Bench {
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
    if (found !== undefined) expect([...found].sort()).toEqual(running);
    return running;
  }
}

export function instanceRuntimeContract(name: string, make: () => RuntimeMachine): void {
  describe(`the instance runtime: ${name}`, () => {
    lifeContract(make);
    moveContract(make);
    restartContract(make);
    taskContract(make);
    damageContract(make);
  });
}

function lifeContract(make: () => RuntimeMachine): void {
  test('builds-and-destroys-and-each-again-without-harm', async () => {
    const bench = new Bench(make);
    const { runtime } = bench;
    await runtime.open();
    for (const task of ['t1', 't1', 't2']) {
      expect(await runtime.build(spec('i2'), callFor(task))).toEqual({ kind: 'done' });
      expect(await bench.running()).toEqual(['i2']);
    }
    await runtime.build(spec('i1'), callFor('t3'));
    expect(await bench.running()).toEqual(['i1', 'i2']);
    expect(runtime.instance('i2')).toEqual({ ...spec('i2'), state: 'running', by: 't2' });
    for (const task of ['t4', 't4']) {
      expect(await runtime.destroy('i2', callFor(task))).toEqual({ kind: 'done' });
      expect(await bench.running()).toEqual(['i1']);
      expect(runtime.instance('i2')).toBeUndefined();
    }
  });

  test('keeps-what-a-task-said-of-ports', async () => {
    const { runtime } = new Bench(make);
    await runtime.open();
    const ports = [{ port: 'p1', mac: 'fa:16:3e:00:00:01', type: 'ovs', serial: 1, addresses: [] }];
    await runtime.build(spec('i1'), callFor('t1', { ports }));
    expect(runtime.instance('i1')).toMatchObject({ by: 't1', ports });
  });

  test('stops-and-starts', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    expect(await bench.runtime.stop('i1', callFor('t2'))).toEqual({ kind: 'done' });
    expect([bench.states(), await bench.running()]).toEqual([['i1 stopped'], []]);
    await bench.restart();
    expect([bench.states(), await bench.running()]).toEqual([['i1 stopped'], []]);
    expect(await bench.runtime.start('i1', callFor('t3'))).toEqual({ kind: 'done' });
    expect([bench.states(), await bench.running()]).toEqual([['i1 running'], ['i1']]);
  });

  test.each(['start', 'stop'] as const)('fails-to-%s-what-is-not-here', async (power) => {
    const { runtime } = new Bench(make);
    await runtime.open();
    expect(await runtime[power]('i9', callFor('t1'))).toMatchObject({ kind: 'failed', fault: 'instance-gone' });
  });

  test('leaves-no-effect-when-the-agent-was-stopped-before', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    const signal = AbortSignal.abort();
    expect(await bench.runtime.build(spec('i1'), callFor('t1', { signal }))).toMatchObject({ fault: 'cut-short' });
    expect(await bench.running()).toEqual([]);
    await bench.runtime.build(spec('i1'), callFor('t1'));
    expect(await bench.runtime.destroy('i1', callFor('t2', { signal }))).toMatchObject({ fault: 'cut-short' });
    expect(await bench.running()).toEqual(['i1']);
  });
}

function moveContract(make: () => RuntimeMachine): void {
  test('runs-what-was-prepared-only-when-it-is-activated', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    expect((await bench.runtime.prepare(spec('i1'), callFor('t1'))).kind).toBe('done');
    expect([bench.states(), await bench.running()]).toEqual([['i1 prepared'], []]);
    await bench.restart();
    expect([bench.states(), await bench.running()]).toEqual([['i1 prepared'], []]);
    for (const task of ['t2', 't2']) {
      expect((await bench.runtime.activate({ id: 'i1', nics: [] }, callFor(task))).kind).toBe('done');
      expect([bench.states(), await bench.running()]).toEqual([['i1 running'], ['i1']]);
    }
  });

  test('answers-what-migrate-gets-and-keeps-it', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    const result = await bench.runtime.prepare(spec('i1'), callFor('t1'));
    const { facts } = bench.runtime.instance('i1') ?? {};
    expect(result).toEqual({ kind: 'done', ...(facts !== undefined && { facts }) });
    expect((await bench.restart()).instance('i1')?.facts).toEqual(facts);
  });

  test('has-what-it-sent-away-no-more-and-says-where-it-went', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    const order = { id: 'i1', target: 'h2', move: 'cold' as const };
    expect(await bench.runtime.migrate(order, callFor('t2'))).toEqual({ kind: 'done' });
    expect([await bench.running(), bench.runtime.sentTo('i1')]).toEqual([[], 'h2']);
    await bench.restart();
    expect([await bench.running(), bench.runtime.sentTo('i1')]).toEqual([[], 'h2']);
    await bench.runtime.build(spec('i1'), callFor('t3'));
    expect(bench.runtime.sentTo('i1')).toBeUndefined();
  });
}

function restartContract(make: () => RuntimeMachine): void {
  test('adopts-what-ran-when-the-process-before-ended', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    await bench.runtime.prepare(spec('i2'), callFor('t2'));
    const before = bench.runtime.instances;
    await bench.restart();
    expect(bench.runtime.instances).toEqual(before);
    expect(await bench.running()).toEqual(['i1']);
    expect(await bench.runtime.findStrays()).toEqual([]);
  });

  test('whose-disk-cannot-be-read-removes-nothing-and-opens-when-it-can', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    const ran = await bench.machine.running();
    bench.disk.broken = 'read';
    await expect(bench.restart()).rejects.toThrow(DiskFailed);
    expect(await bench.machine.running()).toEqual(ran);
    bench.disk.broken = undefined;
    await bench.runtime.open();
    expect(await bench.running()).toEqual(['i1']);
  });

  test('builds-once-when-a-crash-came-between-the-effect-and-its-record', async () => {
    const bench = new Bench(make);
    await bench.runtime.open();
    bench.disk.broken = 'write';
    await expect(bench.runtime.build(spec('i1'), callFor('t1'))).rejects.toThrow(DiskFailed);
    bench.disk.broken = undefined;
    await bench.restart();
    expect(await bench.runtime.build(spec('i1'), callFor('t1'))).toEqual({ kind: 'done' });
    expect(await bench.running()).toEqual(['i1']);
  });
}

function taskContract(make: () => RuntimeMachine): void {
  test('finds-the-work-of-a-task-done-also-after-a-restart', async () => {
    const bench = new Bench(make);
    const perform = async (id: string, kind: string, args: Task['args']): Promise<string> => {
      const { outcome, facts } = await performTask(bench.runtime, kind, args, id);
      return outcome === 'done' ? outcome : String(facts?.['fault']);
    };
    const reported: string[] = [];
    for (let nth = 0; nth < 2; nth += 1) {
      reported.push(await perform('t1', 'build', build('i1')), await perform('t2', 'prepare', build('i2')));
      await bench.restart();
    }
    for (let nth = 0; nth < 2; nth += 1) reported.push(await perform('t3', 'activate', activate('i2')));
    expect(new Set(reported)).toEqual(new Set(['done']));
    expect(await bench.running()).toEqual(['i1', 'i2']);
    expect(await perform('t4', 'prepare', build('i1'))).toBe('instance-exists');
    expect(await perform('t5', 'activate', activate('i9'))).toBe('not-prepared');
    for (const id of ['i1', 'i2']) expect(await perform(`d-${id}`, 'destroy', destroy(id))).toBe('done');
    expect(await bench.running()).toEqual([]);
  });
}

/** What may become of a file, and of the one before it. */
const DAMAGES: readonly (readonly [string, (disk: MemoryDisk, text: string) => Promise<void>])[] = [
  ['cut-off', (disk, text) => disk.write('machine', text.slice(0, text.length / 2))],
  ['empty', (disk) => disk.write('machine', '')],
  ['changed-and-still-readable', (disk, text) => disk.write('machine', text.replace('"i1"', '"i7"'))],
  ['whole-but-for-its-checksum', (disk, text) => disk.write('machine', text.replace('"sha256"', '"sha257"'))],
  ['something-else', (disk) => disk.write('machine', '{"instances":[{"id":1}],"sent":[]}')],
  ['of-another-kind', (disk) => disk.write('machine', '[]')],
  ['gone', async (disk) => disk.remove('machine')],
  [
    'gone-with-the-version-before-it',
    async (disk) => {
      disk.remove('machine');
      disk.remove('machine-previous');
    },
  ],
];

function damageContract(make: () => RuntimeMachine): void {
  test.each(DAMAGES)('removes-nothing-and-says-so-when-its-file-is-%s', async (_name, damage) => {
    const bench = await withTwo(make);
    const text = (await bench.disk.read('machine')) ?? '';
    const ran = await bench.machine.running();
    await damage(bench.disk, text);
    await expect(bench.restart()).rejects.toThrow(StateDamaged);
    expect(await bench.runtime.conditions()).toEqual([]);
    for (const kind of ['build', 'destroy', 'prepare']) {
      const performed = await performTask(bench.runtime, kind, kind === 'destroy' ? destroy('i1') : build('i1'));
      // Whether it runs is not known.
      expect(performed.facts).toEqual({ fault: 'state-damaged' });
    }
    expect(await bench.machine.running()).toEqual(ran);
    // The file is brought back by whoever has a copy.
    await bench.disk.write('machine', text);
    await bench.runtime.open();
    expect(await bench.running()).toEqual(['i1', 'i2']);
  });

  test('reads-a-file-of-before-checksums', async () => {
    const bench = await withTwo(make);
    const { sha256: _, ...older } = JSON.parse((await bench.disk.read('machine')) ?? '') as { sha256: string };
    const disk = new BrokenDisk();
    await disk.write('machine', JSON.stringify(older));
    const upgraded = bench.machine.start(disk);
    await upgraded.open();
    expect(upgraded.instances).toEqual(bench.runtime.instances);
    await upgraded.destroy('i1', callFor('t9'));
    expect(await disk.read('machine')).toContain('"sha256"');
  });

  test('takes-the-version-before-for-what-is-really-there-when-it-is-told-to-recover', async () => {
    const bench = await withTwo(make);
    // The version before does not know of this one.
    await bench.runtime.build(spec('i3'), callFor('t3'));
    const ran = await bench.machine.running();
    await bench.disk.write('machine', '{');
    bench.runtime = bench.machine.start(bench.disk);
    await bench.runtime.recover();
    expect(bench.states()).toEqual(['i1 running', 'i2 running']);
    expect(await bench.machine.running()).toEqual(ran);
    expect(await bench.runtime.findStrays()).toEqual(ran === undefined ? [] : ['i3']);
    await bench.restart();
    expect(bench.states()).toEqual(['i1 running', 'i2 running']);
  });

  test('changes-nothing-by-recovering-when-nothing-is-wrong', async () => {
    const bench = await withTwo(make);
    const before = [await bench.disk.read('machine'), bench.states()];
    bench.runtime = bench.machine.start(bench.disk);
    await bench.runtime.recover();
    expect([await bench.disk.read('machine'), bench.states()]).toEqual(before);
  });
}

async function withTwo(make: () => RuntimeMachine): Promise<Bench> {
  const bench = new Bench(make);
  await bench.runtime.open();
  for (const id of ['i1', 'i2']) await bench.runtime.build(spec(id), callFor(`t-${id}`));
  return bench;
}

function performTask(
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
