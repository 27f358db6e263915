import { describe, expect, test } from 'vitest';
import { activate, AMOUNTS, InstanceTasksHarness, build, destroy, migrate, nic } from './instance-tasks-fixture.ts';
import { StateMemoryDisk } from '../state/memory-disk.ts';
import { DiskFailed } from '../../../link/index.ts';
import { InstanceRecords } from './instance-records.ts';
import type { ArmedTaskFault } from './simulated-hypervisor.ts';
import { spawnFaults } from '../../simulation/spawn-faults.ts';
import { DEMO_TASK_DURATIONS, durationMs } from './task-durations.ts';

const DONE = { outcome: 'done' };
const fault = (code: string, runs: boolean): object => ({ outcome: 'failed', facts: { fault: code, runs } });

describe('instances on a simulated machine', () => {
  test('are-built-and-destroyed-each-twice-without-harm', async () => {
    const bench = new InstanceTasksHarness();
    for (const id of ['t1', 't1', 't2']) {
      expect(await bench.perform('build', build('i1'), { id })).toMatchObject(DONE);
      expect(bench.running).toEqual(['i1 running']);
    }
    for (const id of ['t3', 't3', 't4']) {
      expect(await bench.perform('destroy', destroy('i1'), { id })).toMatchObject(DONE);
      expect(bench.running).toEqual([]);
    }
  });

  test('move-by-prepare-migrate-activate-and-run-in-one-place-at-most', async () => {
    for (const kind of ['live', 'cold']) {
      const [source, target] = [new InstanceTasksHarness(), new InstanceTasksHarness()];
      await source.perform('build', build('i1'));
      const runs = (): number => source.running.length + target.running.filter((one) => one === 'i1 running').length;
      for (const id of ['p', 'p']) {
        expect(await target.perform('prepare', build('i1', { kind }), { id })).toMatchObject(DONE);
        expect([source.running, target.running]).toEqual([['i1 running'], ['i1 prepared']]);
      }
      for (const id of ['m', 'm', 'm2']) {
        expect(await source.perform('migrate', migrate('i1', { kind }), { id })).toMatchObject(DONE);
        expect([source.running, target.running]).toEqual([[], ['i1 prepared']]);
      }
      for (const id of ['a', 'a', 'a2']) {
        expect(await target.perform('activate', activate('i1', { nics: [nic('p1')] }), { id })).toMatchObject(DONE);
        expect([source.running, target.running]).toEqual([[], ['i1 running']]);
      }
      expect(runs()).toBe(1);
      expect(target.driver.hypervisor.instance('i1')).toMatchObject({ ...AMOUNTS, nics: [{ port: 'p1' }] });
    }
  });

  test('are-activated-without-their-source-only-where-they-were-received', async () => {
    const machines = new Map<string, InstanceTasksHarness>();
    const peer = (host: string) => machines.get(host)?.driver.hypervisor;
    const disk = new StateMemoryDisk();
    const [source, target] = [new InstanceTasksHarness({ peer }), new InstanceTasksHarness({ peer, disk })];
    machines.set('h1', source).set('h2', target);
    const ifReceived = activate('i1', { ifReceived: true });
    await source.perform('build', build('i1'));
    await target.perform('prepare', build('i1'));
    expect(await target.perform('activate', ifReceived)).toMatchObject(fault('nothing-received', false));
    expect([source.running, target.running]).toEqual([['i1 running'], ['i1 prepared']]);
    await source.perform('migrate', migrate('i1'));
    const later = new InstanceTasksHarness({ peer, disk });
    expect(await later.perform('activate', ifReceived)).toMatchObject(DONE);
    expect([source.running, later.running]).toEqual([[], ['i1 running']]);
  });

  test('can-come-back-to-where-they-were', async () => {
    const bench = new InstanceTasksHarness();
    await bench.perform('build', build('i1'));
    await bench.perform('migrate', migrate('i1'));
    expect(await bench.perform('prepare', build('i1'))).toMatchObject(DONE);
    expect(await bench.perform('activate', activate('i1'))).toMatchObject(DONE);
    expect(await bench.perform('migrate', migrate('i1', { target: 'h3' }))).toMatchObject(DONE);
    expect(await bench.perform('migrate', migrate('i1', { target: 'h2' }))).toMatchObject(
      fault('instance-gone', false),
    );
  });

  test.each([
    ['migrate-what-was-never-there', 'migrate', migrate('i9'), fault('instance-gone', false)],
    ['migrate-what-is-only-prepared', 'migrate', migrate('i2'), fault('not-running', false)],
    ['activate-what-was-not-prepared', 'activate', activate('i9'), fault('not-prepared', false)],
    ['prepare-over-one-that-runs', 'prepare', build('i1'), fault('instance-exists', true)],
    ['build-with-less-than-it-takes', 'build', { instance: 'i9' }, { facts: { fault: 'unsupported' } }],
    ['build-with-a-network-mode-of-the-future', 'build', build('i9', { network: 'magic' }), { outcome: 'failed' }],
    ['a-task-of-the-future', 'hibernate', { instance: 'i1' }, { problems: ['this agent cannot do "hibernate"'] }],
  ])('refuses-to-%s-and-changes-nothing', async (_name, kind, args, answer) => {
    const bench = new InstanceTasksHarness();
    await bench.perform('build', build('i1'));
    await bench.perform('prepare', build('i2'));
    expect(await bench.perform(kind, args)).toMatchObject({ outcome: 'failed', ...answer });
    expect(bench.running).toEqual(['i1 running', 'i2 prepared']);
  });

  test('what-cannot-be-read-is-named', async () => {
    const { problems } = await new InstanceTasksHarness().perform(
      'build',
      build('i1', { vcpus: 'two', nics: [{ port: 'p' }] }),
    );
    expect(problems?.join()).toMatch(/cannot read the task "build": \/vcpus/);
  });

  test('an-aborted-move-is-undone-by-destroying-what-was-prepared', async () => {
    const bench = new InstanceTasksHarness();
    await bench.perform('prepare', build('i1'));
    expect(await bench.perform('destroy', destroy('i1'))).toMatchObject(DONE);
    expect(bench.running).toEqual([]);
  });

  test('tasks-of-one-instance-follow-one-another-and-those-of-others-do-not-wait', async () => {
    const bench = new InstanceTasksHarness({ durations: { build: 1000, destroy: 10 } });
    const ended: string[] = [];
    void bench.begin('build', build('i1')).then(() => ended.push('built'));
    void bench.begin('destroy', destroy('i1')).then(() => ended.push('destroyed'));
    void bench.begin('destroy', destroy('i2')).then(() => ended.push('other'));
    await bench.clock.until('all ended', () => ended.length === 3);
    expect(ended).toEqual(['other', 'built', 'destroyed']);
    expect(bench.running).toEqual([]);
  });

  test('a-stop-before-the-effect-leaves-no-effect', async () => {
    const bench = new InstanceTasksHarness({ durations: { build: 1000 } });
    const stopping = new AbortController();
    const running = bench.begin('build', build('i1'), { signal: stopping.signal });
    await bench.clock.settle();
    stopping.abort();
    expect((await running).outcome).toBe('failed');
    expect(bench.running).toEqual([]);
  });
});

describe('room on a simulated machine', () => {
  const capacity = { vcpus: 4, memoryMiB: 8192, diskGiB: 100 };

  test('is-never-given-twice-and-a-prepared-one-counts', async () => {
    const bench = new InstanceTasksHarness({ capacity });
    await bench.perform('build', build('i1'));
    await bench.perform('prepare', build('i2'));
    const answer = await bench.perform('build', build('i3'));
    expect(answer).toMatchObject({ ...fault('resources-gone', false), problems: [expect.stringContaining('vcpus')] });
    await bench.perform('destroy', destroy('i2'));
    expect(await bench.perform('build', build('i3'))).toMatchObject(DONE);
  });

  test('is-looked-for-again-when-a-build-took-its-time', async () => {
    const bench = new InstanceTasksHarness({
      capacity,
      durations: { build: ({ instance }) => (instance === 'slow' ? 1000 : 1) },
    });
    const slow = bench.begin('build', build('slow'));
    await bench.perform('build', build('i1'));
    await bench.perform('build', build('i2'));
    await bench.clock.pass(2000);
    expect(await slow).toMatchObject(fault('resources-gone', false));
  });

  test('is-its-own-when-it-is-built-anew', async () => {
    const bench = new InstanceTasksHarness({ capacity: AMOUNTS });
    await bench.perform('build', build('i1'));
    expect(await bench.perform('build', build('i1'))).toMatchObject(DONE);
  });
});

describe('armed failures', () => {
  const failure: ArmedTaskFault = { task: 'build', times: 1, problem: 'no kvm', fault: 'spawn-failed' };

  test('strike-before-the-effect-as-often-as-armed', async () => {
    const bench = new InstanceTasksHarness({ failures: [{ ...failure, times: 2 }] });
    for (const id of ['t1', 't2']) {
      const answer = await bench.perform('build', build('i1'), { id });
      expect(answer).toMatchObject({ ...fault('spawn-failed', false), problems: ['no kvm'] });
      expect(bench.running).toEqual([]);
    }
    expect(await bench.perform('build', build('i1'))).toMatchObject(DONE);
  });

  test('strike-one-instance-or-any-and-can-be-disarmed', async () => {
    const bench = new InstanceTasksHarness();
    bench.driver.hypervisor.arm({ ...failure, instance: 'i2' });
    expect(await bench.perform('build', build('i1'))).toMatchObject(DONE);
    expect(await bench.perform('build', build('i2'))).toMatchObject(fault('spawn-failed', false));
    bench.driver.hypervisor.arm(failure);
    bench.driver.hypervisor.disarm();
    expect(await bench.perform('build', build('i2'))).toMatchObject(DONE);
  });

  test.each(['build', 'prepare', 'migrate', 'activate', 'destroy'] as const)(
    'after-the-effect-%s-is-done-though-it-says-failed-and-done-when-asked-again',
    async (task) => {
      const bench = new InstanceTasksHarness();
      if (task === 'activate') await bench.perform('prepare', build('i1'));
      else if (task !== 'prepare') await bench.perform('build', build('i1'));
      const args = { build: build('i1'), prepare: build('i1'), migrate: migrate('i1'), activate: activate('i1') };
      const wanted = { ...args, destroy: destroy('i1') }[task];
      bench.driver.hypervisor.arm({ task, times: 1, problem: 'lost', fault: 'odd', after: true });
      const runs = task === 'build' || task === 'activate';
      expect(await bench.perform(task, wanted)).toMatchObject(fault('odd', runs));
      const left = {
        build: ['i1 running'],
        prepare: ['i1 prepared'],
        activate: ['i1 running'],
        migrate: [],
        destroy: [],
      };
      expect(bench.running).toEqual(left[task]);
      expect(await bench.perform(task, wanted)).toMatchObject(DONE);
      expect(bench.running).toEqual(left[task]);
    },
  );

  test('come-from-the-simulated-network-too', async () => {
    const armed = [
      { outcome: 'ok', delayMs: 700 },
      { outcome: 'bad-image', delayMs: 0 },
      { outcome: 'hang', delayMs: 0 },
    ];
    const kinds: string[] = [];
    const spawnFault = (host: string): (typeof armed)[number] | undefined => {
      kinds.push(host);
      return armed.shift();
    };
    const bench = new InstanceTasksHarness({ faultFor: spawnFaults({ spawnFault }) });
    expect(await bench.perform('build', build('i1'))).toMatchObject({ ...DONE, tookMs: 700 });
    expect(await bench.perform('build', build('i2'))).toMatchObject(fault('bad-image', false));
    await bench.perform('destroy', destroy('i1'));
    expect(kinds).toEqual(['h1', 'h1']);
    let ended = false;
    const stopping = new AbortController();
    void bench.begin('build', build('i3'), { signal: stopping.signal }).then(() => (ended = true));
    await bench.clock.pass(3_600_000);
    expect(ended).toBe(false);
    stopping.abort();
    await bench.clock.settle();
    expect({ ended, running: bench.running }).toEqual({ ended: true, running: [] });
  });
});

describe('durations', () => {
  test('are-those-of-the-task-and-known-by-kind-and-size', async () => {
    const seen: unknown[] = [];
    const bench = new InstanceTasksHarness({
      durations: {
        build: 40,
        migrate: (of) => {
          seen.push(of);
          return of.memoryMiB / 4;
        },
      },
    });
    expect(await bench.perform('build', build('i1'))).toMatchObject({ tookMs: 40 });
    expect(await bench.perform('migrate', migrate('i1', { kind: 'cold' }))).toMatchObject({ tookMs: 512 });
    expect(seen).toEqual([{ task: 'migrate', instance: 'i1', kind: 'cold', memoryMiB: 2048, diskGiB: 20 }]);
  });

  test('what-is-done-already-takes-no-time-again', async () => {
    const bench = new InstanceTasksHarness({ durations: { build: 40, destroy: 40, migrate: 40 } });
    await bench.perform('build', build('i1'), { id: 't1' });
    expect(await bench.perform('build', build('i1'), { id: 't1' })).toMatchObject({ tookMs: 0 });
    await bench.perform('migrate', migrate('i1'));
    expect(await bench.perform('migrate', migrate('i1'))).toMatchObject({ tookMs: 0 });
    expect(await bench.perform('destroy', destroy('i1'))).toMatchObject({ tookMs: 0 });
  });

  test('of-demonstrations-are-the-same-for-the-same-instance-and-within-bounds', () => {
    const of = (task: 'build' | 'migrate', instance: string, more: object = {}): number =>
      durationMs(DEMO_TASK_DURATIONS, { task, instance, memoryMiB: 2048, diskGiB: 20, ...more });
    const builds = Array.from({ length: 200 }, (_, nth) => of('build', `inst-${nth}`));
    expect(Math.min(...builds)).toBeGreaterThanOrEqual(1000);
    expect(Math.max(...builds)).toBeLessThan(2000);
    expect(new Set(builds).size).toBeGreaterThan(100);
    expect(of('build', 'inst-7')).toBe(builds[7]);
    const moves = [16, 2048, 65_536, 10 ** 6].map((memoryMiB) => of('migrate', 'inst-7', { kind: 'live', memoryMiB }));
    expect(moves).toEqual([...moves].sort((one, other) => one - other));
    expect(moves[0]).toBeGreaterThanOrEqual(2000);
    expect(moves[3]).toBeLessThanOrEqual(3000);
    expect(durationMs(DEMO_TASK_DURATIONS, { task: 'destroy', instance: 'i', memoryMiB: 1, diskGiB: 1 })).toBe(500);
  });
});

describe('a machine with a disk', () => {
  test('runs-what-it-ran-after-the-process-ended', async () => {
    const disk = new StateMemoryDisk();
    const before = new InstanceTasksHarness({ disk });
    await before.perform('build', build('i1'), { id: 't1' });
    await before.perform('prepare', build('i2'));
    await before.perform('build', build('i3'));
    await before.perform('migrate', migrate('i3'));
    const after = new InstanceTasksHarness({ disk });
    expect((await after.driver.inspect()).instances).toEqual([
      { id: 'i1', state: 'running' },
      { id: 'i2', state: 'prepared' },
      { id: 'i3', state: 'sent' },
    ]);
    expect(after.running).toEqual(['i1 running', 'i2 prepared']);
    expect(await after.perform('migrate', migrate('i3'))).toMatchObject(DONE);
    expect(await after.perform('activate', activate('i2'))).toMatchObject(DONE);
  });

  test('that-cannot-be-written-says-so-and-is-asked-again', async () => {
    const disk = new StateMemoryDisk();
    let full = true;
    const write: StateMemoryDisk['write'] = (...args) =>
      full ? Promise.reject(new DiskFailed('the disk is full')) : disk.write(...args);
    const bench = new InstanceTasksHarness({ disk: { read: (name) => disk.read(name), write } });
    expect(await bench.perform('build', build('i1'))).toMatchObject(fault('disk-failed', true));
    full = false;
    expect(await bench.perform('build', build('i1'))).toMatchObject(DONE);
    expect(await disk.read('machine')).toContain('"i1"');
  });

  test('that-cannot-be-read-for-a-while-is-opened-later', async () => {
    const disk = new StateMemoryDisk();
    await new InstanceTasksHarness({ disk }).perform('build', build('i1'));
    let broken = true;
    const read: StateMemoryDisk['read'] = (name) =>
      broken ? Promise.reject(new DiskFailed('broken')) : disk.read(name);
    const bench = new InstanceTasksHarness({ disk: { read, write: (...args) => disk.write(...args) } });
    expect(await bench.driver.inspect()).not.toHaveProperty('instances');
    const { facts } = await bench.perform('build', build('i2'));
    expect(facts).toEqual({ fault: 'disk-failed' }); // whether it runs is not known
    broken = false;
    expect((await bench.driver.inspect()).instances).toEqual([{ id: 'i1', state: 'running' }]);
  });

  test('remembers-the-last-thousand-that-left-and-not-all', () => {
    const records = new InstanceRecords();
    for (let nth = 0; nth < 1200; nth += 1) records.markSent(`i${nth}`, 'h2');
    expect([records.get('i0'), records.get('i1199')]).toMatchObject([undefined, { state: 'sent', target: 'h2' }]);
  });
});

describe('strays', () => {
  const view = (
    ids: readonly string[],
    tasks: readonly string[] = [],
  ): Parameters<InstanceTasksHarness['driver']['apply']>[0] => ({
    host: 'h1',
    stamp: { journalId: 'j1', leaseEpoch: 1, revision: 1 },
    digest: ids.join(),
    parts: { instances: ids.map((id) => ({ id })) },
    tasks: tasks.map((instance) => ({ id: `t-${instance}`, kind: 'destroy', args: { instance } })),
  });
  const { signal } = new AbortController();

  test('are-what-no-view-and-no-task-knows-of-and-are-never-destroyed', async () => {
    const bench = new InstanceTasksHarness();
    for (const id of ['i1', 'i2', 'i3']) await bench.perform('build', build(id));
    await bench.perform('prepare', build('i4'));
    expect((await bench.driver.inspect()).strays).toEqual([]);
    await bench.driver.apply(view(['i1'], ['i2']), signal);
    expect(await bench.driver.inspect()).toEqual({
      facts: { driver: 'simulated' },
      instances: ['i1', 'i2', 'i3', 'i4'].map((id) => ({ id, state: id === 'i4' ? 'prepared' : 'running' })),
      problems: [],
      strays: ['instance/i3', 'instance/i4'],
    });
    await bench.driver.apply(view([]), signal);
    await bench.driver.apply({ ...view([]), parts: {} }, signal);
    expect((await bench.driver.inspect()).strays).toEqual([]);
    expect(bench.running).toEqual(['i1 running', 'i2 running', 'i3 running', 'i4 prepared']);
  });

  test('are-reported-up-to-a-bound', async () => {
    const bench = new InstanceTasksHarness();
    for (let nth = 0; nth < 130; nth += 1) await bench.perform('build', build(`i${nth}`));
    await bench.driver.apply(view([]), signal);
    const { facts, instances, strays } = await bench.driver.inspect();
    expect([instances?.length, facts['strays'], strays.length]).toEqual([130, 130, 100]);
  });
});
