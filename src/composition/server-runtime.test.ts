import { describe, expect, test } from 'vitest';
import { compose } from './compose.ts';
import type { Module } from './module.ts';
import {
  DRIVER_WRAPPER,
  provide,
  provideController,
  Runtime,
  serviceKey,
  type Controller,
  type Environment,
  type Provider,
} from './server-runtime.ts';

const CLOCK = serviceKey<string>('clock-name');
const WATCH = serviceKey<string>('watch');
const KEEPER = serviceKey<Controller>('keeper');

function runtimeOf(modules: readonly Module[], ...providers: readonly Provider[]): Runtime {
  return new Runtime(compose(modules), {} as Environment, providers);
}

function idle(name: string): Controller & { readonly name: string } {
  return { name, run: () => Promise.resolve() };
}

describe('services', () => {
  test('are-made-once-and-when-they-are-asked-for', () => {
    let made = 0;
    const runtime = runtimeOf([{ name: 'a', services: [provide(CLOCK, () => `clock ${(made += 1)}`)] }]);
    expect(made).toBe(0);
    expect([runtime.get(CLOCK), runtime.get(CLOCK)]).toEqual(['clock 1', 'clock 1']);
  });

  test('of-a-server-replace-those-of-its-modules', () => {
    const a: Module = { name: 'a', services: [provide(CLOCK, () => 'of a module')] };
    expect(
      runtimeOf(
        [a],
        provide(CLOCK, () => 'of the server'),
      ).get(CLOCK),
    ).toBe('of the server');
  });

  test('that-no-module-provides-are-named-with-what-needs-them', () => {
    const runtime = runtimeOf([{ name: 'a', services: [provide(WATCH, (all) => all.get(CLOCK))] }]);
    expect(() => runtime.get(WATCH)).toThrow('nothing provides clock-name, which watch needs');
    expect(runtime.find(CLOCK)).toBeUndefined();
  });

  test('that-a-module-requires-and-nothing-provides-keep-the-server-from-starting', () => {
    const a: Module = { name: 'a', requires: [CLOCK, WATCH], services: [provide(WATCH, () => 'of its own')] };
    const b: Module = { name: 'b', requires: [CLOCK, KEEPER] };
    expect(() => runtimeOf([a, b])).toThrow(
      'nothing provides clock-name, which module a needs; nothing provides clock-name, which module b needs; nothing provides keeper, which module b needs.',
    );
    const others: Module = { name: 'c', services: [provideController(KEEPER, () => idle('keeper'))] };
    const runtime = runtimeOf(
      [a, b, others],
      provide(CLOCK, () => 'of the server'),
    );
    expect(runtime.get(CLOCK)).toBe('of the server');
  });

  test('that-need-each-other-are-refused', () => {
    const a: Module = {
      name: 'a',
      services: [provide(WATCH, (all) => all.get(CLOCK)), provide(CLOCK, (all) => all.get(WATCH))],
    };
    expect(() => runtimeOf([a]).get(WATCH)).toThrow('watch -> clock-name -> watch');
  });
});

describe('what runs', () => {
  test('are-the-controllers-with-a-key-and-those-without, once-each', () => {
    const keeper = idle('keeper');
    const runtime = runtimeOf([
      { name: 'a', services: [provideController(KEEPER, () => keeper), provide(CLOCK, () => 'only answers')] },
      { name: 'b', controllers: (all) => [idle(`beside ${(all.get(KEEPER) as typeof keeper).name}`)] },
    ]);
    expect(runtime.controllers()).toMatchObject([{ name: 'keeper' }, { name: 'beside keeper' }]);
    expect(runtime.controllers()[0]).toBe(keeper);
  });

  test('drivers-of-all-modules-by-name, with-what-a-test-puts-around-them', async () => {
    const driver = { carryOut: () => Promise.resolve({ kind: 'applied' as const }) };
    const seen: string[] = [];
    const watching = provide(DRIVER_WRAPPER, () => (name, inner) => ({
      carryOut: (action, fence) => {
        seen.push(name);
        return inner.carryOut(action, fence);
      },
    }));
    const drivers = runtimeOf([{ name: 'a', drivers: () => ({ network: driver }) }], watching).drivers();
    await drivers.get('network')?.carryOut({} as never, {} as never);
    expect([[...drivers.keys()], seen]).toEqual([['network'], ['network']]);
  });
});
