import { expect, test } from 'vitest';
import { Fleet, put, Registry, type Change, type FleetReader } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import { CLAIM, PORT, type CreateOrder, type Port, type StoredPort } from '../../network/index.ts';
import { network, port, subnet } from '../../network/network-fixture.ts';
import { composeBuildArgs } from './host-tasks.ts';
import { createInstances } from './create.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { composeCreateOrder } from '../back-end-orders.ts';
import { createCommand, fixtureF, MODELS } from '../reference-fixture.ts';

function world(...more: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry(MODELS));
  fleet.apply(1, [...fixtureF(), ...more]);
  return fleet;
}

function portsOf(fleet: FleetReader, networks: readonly { network: string; fixedIp?: string }[]): StoredPort[] {
  const decision = createInstances(fleet, createCommand('op', 1, { networks: [...networks] }));
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  return decision.changes
    .filter(({ kind }) => kind === PORT.name)
    .map(({ id, doc }) => ({ id: id as never, revision: 1, doc: doc as Port }));
}

const ONE = { pools: [{ first: '10.7.0.10', last: '10.7.0.10' }] };
const TWO = { pools: [{ first: '10.7.0.10', last: '10.7.0.11' }] };

test.each([
  ['a plain network', 'p', '10.7.0.10'],
  ['a routed one', 'n', '10.0.0.2'],
])('an address requested for one NIC is not picked for the one before it: %s', (_name, on, fixedIp) => {
  const fleet = world(network('p'), subnet('ps', 'p', '10.7.0.0/24', TWO));
  const [first, second] = portsOf(fleet, [{ network: on }, { network: on, fixedIp }]);
  expect(second?.doc.addresses.map(({ ip }) => ip)).toEqual([fixedIp]);
  expect(first?.doc.addresses).toHaveLength(1);
  expect(first?.doc.addresses[0]?.ip).not.toBe(fixedIp);
});

test.each([1, 2, 3])(
  'an address requested for one NIC is not claimed for another: path of version %i',
  (serviceVersion) => {
    const fleet = world(network('p', { backEnd: 'host-local' }), subnet('ps', 'p', '10.7.0.0/24', ONE));
    for (const { id, doc } of [...fleet.all(HOST)])
      fleet.apply(fleet.revision + 1, [put(HOST, id, { ...doc, serviceVersion })]);
    const networks = [{ network: 'p' }, { network: 'p', fixedIp: '10.7.0.10' }];
    const decision = createInstances(fleet, createCommand('op', 1, { networks }));
    const claims = decision.kind === 'accept' ? decision.changes.filter(({ kind }) => kind === CLAIM.name) : [];
    expect(claims).toEqual([]);
  },
);

test('a back end creates ports with addresses of their own first, and orders have an age', () => {
  const fleet = world(network('p', { backEnd: 'simulated' }), subnet('ps', 'p', '10.7.0.0/24', TWO));
  const ports = portsOf(fleet, [{ network: 'p' }, { network: 'p', fixedIp: '10.7.0.10' }]);
  const order = composeCreateOrder(fleet, 'web', ports) as CreateOrder;
  expect(order.ports.map(({ nic, pick, serial }) => ({ nic, pick, serial }))).toEqual([
    { nic: 1, pick: false, serial: 0 },
    { nic: 0, pick: true, serial: 0 },
  ]);
});

test.each([
  ['an address that was picked for a host of another segment', 'bind', 'sub0', []],
  ['one of this segment', 'bind', 'sub2', ['10.2.0.9']],
  ['a requested one', 'user', 'sub0', ['10.0.0.9']],
] as const)('the task of a host that binds by itself with %s', (_name, chosenBy, of, addresses) => {
  const ip = of === 'sub0' ? '10.0.0.9' : '10.2.0.9';
  const fleet = world(port('p0', 'n', { instance: 'web', nic: 0, addresses: [{ ip, subnet: of, chosenBy }] }));
  const attempt = { nth: 1, host: 'h3', site: 'central', pools: ['segment:seg2'], atMs: 1 };
  const doc = { ...newInstanceOf(fleet), nics: [{ port: 'p0', network: 'n' }], attempts: [attempt] };
  const { nics } = composeBuildArgs(fleet, { id: 'web' as never, revision: 1, doc }, 'driver');
  expect(nics).toMatchObject([{ port: 'p0', addresses, pool: 'segment:seg2' }]);
});

test.each([
  ['the binding at a dead host is not sent to the next one', 'h1', { serial: 2, segment: 'seg2' }],
  ['the host itself is', 'h3', { serial: 1, segment: 'seg0', type: 'ovs' }],
])('a binding at %s', (_name, host, expected) => {
  const binding = { host, serial: 1, type: 'ovs', segment: 'seg0' };
  const fleet = world(port('p0', 'n', { instance: 'web', nic: 0, serial: 2, binding }));
  const attempt = { nth: 1, host: 'h3', site: 'central', pools: ['segment:seg2'], atMs: 1 };
  const doc = { ...newInstanceOf(fleet), host: 'h3', nics: [{ port: 'p0', network: 'n' }], attempts: [attempt] };
  const { nics } = composeBuildArgs(fleet, { id: 'web' as never, revision: 1, doc }, 'bind') as {
    nics: readonly object[];
  };
  const [{ serial, segment, type }] = nics as [{ serial: number; segment: string; type?: string }];
  expect({ serial, segment, ...(type !== undefined && { type }) }).toEqual(expected);
});

function newInstanceOf(fleet: FleetReader): Instance {
  const decision = createInstances(fleet, createCommand('op', 1));
  const change = decision.kind === 'accept' ? decision.changes.find(({ kind }) => kind === INSTANCE.name) : undefined;
  return change?.doc as Instance;
}
