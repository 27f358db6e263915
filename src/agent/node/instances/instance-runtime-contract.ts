// What every instance runtime has to hold: the suite that the simulated one, the one of namespaces and later QEMU pass. A machine is
// whatever the runtime drives; it outlives the process, as the disk does.
import { describe, expect, test } from 'vitest';
import type { Task } from '../../../operations/index.ts';
import { DiskFailed } from '../../../link/index.ts';
import { activate, build, destroy } from './instance-tasks-fixture.ts';
import { callFor, performTask, RuntimeBench, spec, type RuntimeMachine } from './runtime-bench-fixture.ts';
import { damageContract } from './runtime-damage-contract.ts';
import { handoverContract, moveContract } from './runtime-move-contract.ts';

export function instanceRuntimeContract(name: string, make: () => RuntimeMachine): void {
  describe(`the instance runtime: ${name}`, () => {
    lifeContract(make);
    moveContract(make);
    handoverContract(make);
    endContract(make);
    restartContract(make);
    taskContract(make);
    damageContract(make);
  });
}

function lifeContract(make: () => RuntimeMachine): void {
  test('builds-and-destroys-and-each-again-without-harm', async () => {
    const bench = new RuntimeBench(make);
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
    const { runtime } = new RuntimeBench(make);
    await runtime.open();
    const ports = [{ port: 'p1', mac: 'fa:16:3e:00:00:01', type: 'ovs', serial: 1, addresses: [] }];
    await runtime.build(spec('i1'), callFor('t1', { ports }));
    expect(runtime.instance('i1')).toMatchObject({ by: 't1', ports });
  });

  test('stops-and-starts', async () => {
    const bench = new RuntimeBench(make);
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
    const { runtime } = new RuntimeBench(make);
    await runtime.open();
    expect(await runtime[power]('i9', callFor('t1'))).toMatchObject({ kind: 'failed', fault: 'instance-gone' });
  });

  test('leaves-no-effect-when-the-agent-was-stopped-before', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    const signal = AbortSignal.abort();
    expect(await bench.runtime.build(spec('i1'), callFor('t1', { signal }))).toMatchObject({ fault: 'cut-short' });
    expect(await bench.running()).toEqual([]);
    await bench.runtime.build(spec('i1'), callFor('t1'));
    expect(await bench.runtime.destroy('i1', callFor('t2', { signal }))).toMatchObject({ fault: 'cut-short' });
    expect(await bench.running()).toEqual(['i1']);
  });
}

function endContract(make: () => RuntimeMachine): void {
  test('reports-one-that-ended-by-itself', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    for (const id of ['i1', 'i2']) await bench.runtime.build(spec(id), callFor(`t-${id}`));
    const ended: string[] = [];
    const stop = bench.runtime.onEnded((id) => ended.push(id));
    expect(bench.runtime.instance('i1')).not.toHaveProperty('endedAtMs');
    await bench.machine.end('i1');
    await bench.runtime.refresh?.();
    await bench.runtime.refresh?.();
    expect([ended, bench.states(), await bench.running()]).toEqual([['i1'], ['i1 ended', 'i2 running'], ['i2']]);
    const { endedAtMs, by } = bench.runtime.instance('i1') ?? {};
    expect([typeof endedAtMs, by]).toEqual(['number', 't-i1']);
    stop();
    await bench.machine.end('i2');
    await bench.runtime.refresh?.();
    expect(ended).toEqual(['i1']);
  });

  test('starts-one-that-ended-when-it-is-told-to, and-does-not-forget-when-it-ended', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    await bench.machine.end('i1');
    await bench.runtime.refresh?.();
    const { endedAtMs } = bench.runtime.instance('i1') ?? {};
    expect(await bench.runtime.start('i1', callFor('t2'))).toEqual({ kind: 'done' });
    expect([bench.states(), await bench.running()]).toEqual([['i1 running'], ['i1']]);
    expect(bench.runtime.instance('i1')?.endedAtMs).toBe(endedAtMs);
    await bench.runtime.build(spec('i1'), callFor('t3'));
    expect(bench.runtime.instance('i1')).not.toHaveProperty('endedAtMs');
  });

  test('a-task-that-takes-one-away-is-no-end-of-it', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    const ended: string[] = [];
    bench.runtime.onEnded((id) => ended.push(id));
    for (const id of ['i1', 'i2', 'i3']) await bench.runtime.build(spec(id), callFor(`t-${id}`));
    await bench.runtime.stop('i1', callFor('t4'));
    await bench.runtime.destroy('i2', callFor('t5'));
    await bench.runtime.migrate({ id: 'i3', target: 'h2', move: 'cold' }, callFor('t6'));
    await bench.runtime.refresh?.();
    expect([ended, bench.states()]).toEqual([[], ['i1 stopped', 'i3 sent']]);
  });
}

function restartContract(make: () => RuntimeMachine): void {
  test('adopts-what-ran-when-the-process-before-ended', async () => {
    const bench = new RuntimeBench(make);
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
    const bench = new RuntimeBench(make);
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
    const bench = new RuntimeBench(make);
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
    const bench = new RuntimeBench(make);
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
