// Instances that ended by themselves are started again, where a view that is confirmed says that they run, and less and less often.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { EndedInstances } from './ended-instances.ts';
import { callFor } from './runtime-bench-fixture.ts';
import type { ExpectedInstance, RuntimeView } from './instance-runtime.ts';
import { AMOUNTS } from './instance-tasks-fixture.ts';
import { InstanceTasks } from './instance-tasks.ts';
import { SimulatedHypervisor } from './simulated-hypervisor.ts';
import { SimulatedRuntime } from './simulated-runtime.ts';

const HOW = { host: 'h1', signal: new AbortController().signal };

class Bench {
  readonly clock = new VirtualClock();
  readonly hypervisor = new SimulatedHypervisor();
  readonly runtime = new SimulatedRuntime({ hypervisor: this.hypervisor, clock: this.clock });
  readonly #ended = new EndedInstances({
    runtime: this.runtime,
    tasks: new InstanceTasks({ runtime: this.runtime, clock: this.clock }),
    clock: this.clock,
  });

  async build(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.runtime.build({ id, ...AMOUNTS, nics: [] }, callFor(`build-${id}`));
  }

  async end(id: string): Promise<void> {
    await this.hypervisor.end(id, this.clock.nowMs());
  }

  startAgain(view: RuntimeView = viewOf('i1')): Promise<number | undefined> {
    return this.#ended.startAgain(view, HOW);
  }

  get states(): string[] {
    return this.runtime.instances.map(({ id, state }) => `${id} ${state}`);
  }
}

const expected = (id: string, facts: Partial<ExpectedInstance> = {}): ExpectedInstance => ({
  ...{ id, role: 'home', state: 'active', ports: [] },
  ...facts,
});

function viewOf(...ids: readonly string[]): RuntimeView {
  return { instances: ids.map((id) => expected(id)), underTask: new Set(), migrating: new Set(), subnets: [] };
}

test('one-that-ended-is-started-again-at-once, as-the-task-made-it', async () => {
  const bench = new Bench();
  await bench.build('i1');
  expect(await bench.startAgain()).toBeUndefined();
  await bench.end('i1');
  expect(bench.states).toEqual(['i1 ended']);
  expect(await bench.startAgain()).toBeUndefined();
  expect(bench.states).toEqual(['i1 running']);
  expect(bench.runtime.instance('i1')?.by).toBe('build-i1');
});

test.each<[string, RuntimeView, boolean]>([
  ['no-view-says-anything-of-instances', { ...viewOf(), instances: undefined }, false],
  ['it-is-in-no-view', viewOf('i2'), false],
  ['it-is-only-expected-here', { ...viewOf(), instances: [expected('i1', { role: 'incoming' })] }, false],
  ['it-is-being-shelved', { ...viewOf(), instances: [expected('i1', { state: 'shelving' })] }, false],
  ['a-task-is-about-it', { ...viewOf('i1'), underTask: new Set(['i1']) }, false],
  ['it-is-to-be-migrated', { ...viewOf('i1'), underTask: new Set(['i1']), migrating: new Set(['i1']) }, true],
  ['it-moves', { ...viewOf(), instances: [expected('i1', { state: 'moving' })] }, true],
])('when-%s', async (_name, view, isStarted) => {
  const bench = new Bench();
  await bench.build('i1');
  await bench.end('i1');
  expect(await bench.startAgain(view)).toBeUndefined();
  expect(bench.states).toEqual([isStarted ? 'i1 running' : 'i1 ended']);
});

test('one-that-was-stopped-or-sent-is-left-alone', async () => {
  const bench = new Bench();
  await bench.build('i1', 'i2');
  await bench.runtime.stop('i1', callFor('t1'));
  await bench.runtime.migrate({ id: 'i2', target: 'h2', move: 'live' }, callFor('t2'));
  await bench.startAgain(viewOf('i1', 'i2'));
  expect(bench.states).toEqual(['i1 stopped', 'i2 sent']);
});

test('one-that-ends-again-and-again-is-started-less-and-less-often, up-to-five-minutes', async () => {
  const bench = new Bench();
  await bench.build('i1');
  const waits: (number | undefined)[] = [];
  for (let nth = 0; nth < 12; nth += 1) {
    await bench.end('i1');
    const ms = await bench.startAgain();
    waits.push(ms);
    if (ms === undefined) continue;
    expect(bench.states).toEqual(['i1 ended']);
    await bench.clock.pass(ms - 1);
    expect(await bench.startAgain()).toBe(1);
    await bench.clock.pass(1);
    expect(await bench.startAgain()).toBeUndefined();
    expect(bench.states).toEqual(['i1 running']);
  }
  expect(waits).toEqual([
    undefined,
    1000,
    2000,
    4000,
    8000,
    16_000,
    32_000,
    64_000,
    128_000,
    256_000,
    300_000,
    300_000,
  ]);
  // It ran well for long enough.
  await bench.clock.pass(600_000);
  await bench.end('i1');
  expect(await bench.startAgain()).toBeUndefined();
  await bench.end('i1');
  expect(await bench.startAgain()).toBe(1000);
});

test('one-that-cannot-be-started-is-tried-again', async () => {
  const bench = new Bench();
  await bench.build('i1', 'i2');
  await bench.end('i1');
  await bench.end('i2');
  bench.hypervisor.arm({ task: 'start', instance: 'i1', fault: 'busy', problem: 'busy', times: 1 });
  expect(await bench.startAgain(viewOf('i1', 'i2'))).toBe(1000);
  expect(bench.states).toEqual(['i1 ended', 'i2 running']);
  await bench.clock.pass(1000);
  expect(await bench.startAgain(viewOf('i1', 'i2'))).toBeUndefined();
  expect(bench.states).toEqual(['i1 running', 'i2 running']);
});
