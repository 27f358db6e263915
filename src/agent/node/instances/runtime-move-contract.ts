// What every instance runtime has to hold of instances that come and go: nothing runs twice, and nothing that was handed over runs again.
import { expect, test } from 'vitest';
import { callFor, RuntimeBench, spec, type RuntimeMachine } from './runtime-bench-fixture.ts';

export function moveContract(make: () => RuntimeMachine): void {
  test('runs-what-was-prepared-only-when-it-is-activated', async () => {
    const bench = new RuntimeBench(make);
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
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    const result = await bench.runtime.prepare(spec('i1'), callFor('t1'));
    const { facts } = bench.runtime.instance('i1') ?? {};
    expect(result).toEqual({ kind: 'done', ...(facts !== undefined && { facts }) });
    expect((await bench.restart()).instance('i1')?.facts).toEqual(facts);
  });

  test('has-what-it-sent-away-no-more-and-says-where-it-went', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    const order = { id: 'i1', target: 'h2', move: 'cold' as const };
    expect(await bench.runtime.migrate(order, callFor('t2'))).toEqual({ kind: 'done' });
    const sent = { id: 'i1', state: 'sent', target: 'h2' };
    expect([await bench.running(), bench.runtime.instances]).toMatchObject([[], [sent]]);
    await bench.restart();
    expect([await bench.running(), bench.runtime.instance('i1')]).toMatchObject([[], sent]);
    await bench.runtime.build(spec('i1'), callFor('t3'));
    expect(bench.states()).toEqual(['i1 running']);
  });
}

export function handoverContract(make: () => RuntimeMachine): void {
  test('a-sent-one-is-never-started', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    await bench.runtime.migrate({ id: 'i1', target: 'h2', move: 'live' }, callFor('t2'));
    for (let nth = 0; nth < 2; nth += 1) {
      const { runtime } = bench;
      expect(await runtime.start('i1', callFor('t3'))).toMatchObject({ kind: 'failed', fault: 'instance-gone' });
      expect(await runtime.activate({ id: 'i1', nics: [] }, callFor('t4'))).toMatchObject({ fault: 'not-prepared' });
      expect(await runtime.stop('i1', callFor('t5'))).toMatchObject({ fault: 'instance-gone' });
      const again = { id: 'i1', target: 'h3', move: 'live' as const };
      expect(await runtime.migrate(again, callFor('t6'))).toMatchObject({ fault: 'instance-gone' });
      expect([bench.states(), await bench.running()]).toEqual([['i1 sent'], []]);
      await bench.restart();
    }
    expect((await bench.runtime.destroy('i1', callFor('t7'))).kind).toBe('done');
    expect(bench.runtime.instances).toEqual([]);
  });

  test('runs-on-when-its-migration-is-cancelled-before-it-is-handed-over', async () => {
    const bench = new RuntimeBench(make);
    await bench.runtime.open();
    await bench.runtime.build(spec('i1'), callFor('t1'));
    // Whatever has its turn before it.
    const before = bench.runtime.build(spec('i2'), callFor('t2'));
    const migrating = bench.runtime.migrate({ id: 'i1', target: 'h2', move: 'live' }, callFor('t3'));
    bench.runtime.cancelMigration('i1');
    const [, result] = await Promise.all([before, migrating]);
    expect(result).toMatchObject({ kind: 'failed', fault: 'migration-failed' });
    expect([bench.states(), await bench.running()]).toEqual([
      ['i1 running', 'i2 running'],
      ['i1', 'i2'],
    ]);
    // Nothing is left of it: the next one is handed over.
    const next = await bench.runtime.migrate({ id: 'i1', target: 'h2', move: 'live' }, callFor('t4'));
    expect([next, bench.runtime.instance('i1')?.state]).toEqual([{ kind: 'done' }, 'sent']);
    bench.runtime.cancelMigration('i1');
    expect(bench.runtime.instance('i1')?.state).toBe('sent');
  });
}
