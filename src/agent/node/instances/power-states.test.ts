// Tasks about instances in the states between running and gone: what has arrived, what was handed over, what ended by itself.
import { describe, expect, test } from 'vitest';
import { activate, build, destroy, InstanceTasksHarness, migrate } from './instance-tasks-fixture.ts';

const DONE = { outcome: 'done' };
const fault = (code: string, runs: boolean): object => ({ outcome: 'failed', facts: { fault: code, runs } });
const power = { instance: 'i1' };

/** Two machines that can send instances to each other; `i1` runs on the first, and the second has prepared for it. */
async function pair(): Promise<{ readonly source: InstanceTasksHarness; readonly target: InstanceTasksHarness }> {
  const machines = new Map<string, InstanceTasksHarness>();
  const peer = (host: string) => machines.get(host)?.driver.hypervisor;
  const source = new InstanceTasksHarness({ peer, durations: { migrate: 60_000 } });
  const target = new InstanceTasksHarness({ peer });
  machines.set('h1', source).set('h2', target);
  await source.perform('build', build('i1'), { id: 'built' });
  await target.perform('prepare', build('i1'), { id: 'prepared' });
  return { source, target };
}

const states = ({ driver }: InstanceTasksHarness): string[] =>
  driver.runtime.instances.map(({ id, state, target }) => [id, state, target].filter(Boolean).join(' '));

describe('an instance that moves', () => {
  test('is-received-before-it-is-activated, and-known-as-sent-where-it-was', async () => {
    const { source, target } = await pair();
    expect([states(source), states(target)]).toEqual([['i1 running'], ['i1 prepared']]);
    await source.perform('migrate', migrate('i1'));
    expect([states(source), states(target)]).toEqual([['i1 sent h2'], ['i1 received']]);
    await target.perform('activate', activate('i1'));
    await source.perform('destroy', destroy('i1'));
    expect([states(source), states(target)]).toEqual([[], ['i1 running']]);
  });

  test('is-not-activated-before-it-has-arrived, whoever-says-so', async () => {
    const { target } = await pair();
    for (const ifReceived of [true, false])
      expect(await target.perform('activate', activate('i1', { ifReceived }))).toMatchObject(
        fault('nothing-received', false),
      );
    expect(states(target)).toEqual(['i1 prepared']);
  });

  test('is-not-prepared-for-again-when-it-has-arrived: that may be the only copy', async () => {
    const { source, target } = await pair();
    expect(await target.perform('prepare', build('i1'), { id: 'prepared' })).toMatchObject(DONE);
    await source.perform('migrate', migrate('i1'));
    expect(await target.perform('prepare', build('i1'), { id: 'prepared' })).toMatchObject(DONE);
    expect(await target.perform('prepare', build('i1'), { id: 'another' })).toMatchObject({
      ...fault('instance-exists', false),
      problems: ['instance i1 has arrived on this host'],
    });
    expect(states(target)).toEqual(['i1 received']);
  });

  test('was-handed-over-once: to-the-same-host-that-is-done, to-another-it-is-gone', async () => {
    const { source } = await pair();
    await source.perform('migrate', migrate('i1'));
    expect(await source.perform('migrate', migrate('i1'))).toMatchObject(DONE);
    expect(await source.perform('migrate', migrate('i1', { target: 'h3' }))).toMatchObject({
      ...fault('instance-gone', false),
      problems: ['instance i1 is not on this host: it was sent to h2'],
    });
    for (const kind of ['start', 'stop'])
      expect(await source.perform(kind, power)).toMatchObject(fault('instance-gone', false));
    expect(states(source)).toEqual(['i1 sent h2']);
  });

  test('runs-on-when-it-is-destroyed-meanwhile-until-that-has-its-turn: nothing-is-copied-to-its-end', async () => {
    const { source, target } = await pair();
    const migrating = source.begin('migrate', migrate('i1'));
    await source.clock.pass(1000);
    const destroying = source.begin('destroy', destroy('i1'));
    await source.clock.pass(1000);
    expect(await migrating).toMatchObject({
      ...fault('migration-failed', true),
      problems: ['the migration of instance i1 was cancelled'],
    });
    expect(await destroying).toMatchObject(DONE);
    expect([states(source), states(target)]).toEqual([[], ['i1 prepared']]);
  });

  test('is-migrated-to-the-end-when-another-is-destroyed', async () => {
    const { source, target } = await pair();
    await source.perform('build', build('i2'));
    const migrating = source.begin('migrate', migrate('i1'));
    await source.clock.pass(1000);
    expect(await source.perform('destroy', destroy('i2'))).toMatchObject(DONE);
    await source.clock.pass(60_000);
    expect(await migrating).toMatchObject(DONE);
    expect(states(target)).toEqual(['i1 received']);
  });
});

describe('an instance that ended by itself', () => {
  async function ended(): Promise<InstanceTasksHarness> {
    const { source } = await pair();
    await source.driver.hypervisor.end('i1', 7);
    expect(states(source)).toEqual(['i1 ended']);
    return source;
  }

  test('is-not-built-anew-when-its-build-is-repeated: that-was-done', async () => {
    const bench = await ended();
    expect(await bench.perform('build', build('i1'), { id: 'built' })).toMatchObject(DONE);
    expect(states(bench)).toEqual(['i1 ended']);
    expect(await bench.perform('build', build('i1'), { id: 'another' })).toMatchObject(DONE);
    expect(states(bench)).toEqual(['i1 running']);
  });

  test('is-reported-as-a-copy-by-a-build-that-fails: it-has-to-be-destroyed', async () => {
    const bench = await ended();
    bench.driver.hypervisor.arm({ task: 'build', fault: 'spawn-failed', problem: 'no', times: 1 });
    expect(await bench.perform('build', build('i1'), { id: 'another' })).toMatchObject(fault('spawn-failed', true));
    expect(states(bench)).toEqual(['i1 ended']);
  });

  test('is-started-or-stopped-by-a-task', async () => {
    for (const [kind, state] of [
      ['start', 'i1 running'],
      ['stop', 'i1 stopped'],
    ] as const) {
      const bench = await ended();
      expect(await bench.perform(kind, power)).toMatchObject(DONE);
      expect(states(bench)).toEqual([state]);
    }
  });

  test('is-not-migrated, and-that-it-does-not-run-is-said', async () => {
    expect(await (await ended()).perform('migrate', migrate('i1'))).toMatchObject(fault('not-running', false));
  });

  test('is-inspected-with-when-that-was', async () => {
    const bench = await ended();
    expect((await bench.driver.inspect()).instances).toEqual([{ id: 'i1', state: 'ended', endedAtMs: 7 }]);
    await bench.perform('start', power);
    expect((await bench.driver.inspect()).instances).toEqual([{ id: 'i1', state: 'running', endedAtMs: 7 }]);
  });
});
