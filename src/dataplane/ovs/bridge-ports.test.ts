import { expect, test } from 'vitest';
import { setOf, type OvsdbRow, type Uuid } from './ovsdb/value.ts';
import { BridgePorts } from './bridge-ports.ts';

const uuidOf = (uuid: string): Uuid => ({ uuid });
const PLAN = { bridge: 'br-int', external: 'eth1', datapath: 'netdev' } as const;

function tablesWith(ports: Readonly<Record<string, number>>): {
  reads: number;
  table(name: string): ReadonlyMap<string, OvsdbRow>;
} {
  const rows = Object.entries(ports);
  const tables: Readonly<Record<string, ReadonlyMap<string, OvsdbRow>>> = {
    Bridge: new Map([['b', { name: 'br-int', ports: setOf(rows.map(([name]) => uuidOf(`p-${name}`))) }]]),
    Port: new Map(rows.map(([name]) => [`p-${name}`, { name, interfaces: uuidOf(`i-${name}`) }])),
    Interface: new Map(rows.map(([name, ofport]) => [`i-${name}`, { name, ofport }])),
  };
  return {
    reads: 0,
    table(name) {
      if (name === 'Interface') this.reads += 1;
      return tables[name] ?? new Map();
    },
  };
}

test('ports-have-the-names-that-flows-have-for-them', () => {
  const ports = new BridgePorts(PLAN);
  expect([ports.number('mp1'), ports.name(1), ports.names()]).toEqual([undefined, undefined, []]);
  ports.update(tablesWith({ 'br-int': 65534, mp1: 1, eth1: 2 }));
  expect([ports.number('mp1'), ports.number('muster-ext'), ports.number('eth1')]).toEqual([1, 2, undefined]);
  expect([ports.name(1), ports.name(2), ports.name(9)]).toEqual(['mp1', 'muster-ext', undefined]);
  expect(ports.names()).toEqual(['mp1', 'muster-ext']);
});

test('they-are-looked-up-once-for-each-change', () => {
  const ports = new BridgePorts(PLAN);
  const before = tablesWith({ mp1: 1, mp2: 2 });
  ports.update(before);
  for (let time = 0; time < 100; time += 1) ports.name(1);
  expect(before.reads).toBe(2);
  const after = tablesWith({ mp1: 7 });
  ports.update(after);
  expect([ports.number('mp1'), ports.number('mp2'), ports.name(1)]).toEqual([7, undefined, undefined]);
});
