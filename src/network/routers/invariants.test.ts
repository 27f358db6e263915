import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, put, remove, type Change, type Fleet } from '../../fleet/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import { releasePort } from '../ports/bind.ts';
import {
  associateFloatingAddress,
  createFloatingAddress,
  deleteFloatingAddress,
  disassociateFloatingAddress,
} from './decide-floating-address.ts';
import { editNetwork } from '../networks/decide.ts';
import { createRouter, deleteRouter, editRouter } from './decide.ts';
import { deleteSubnet, editSubnet } from '../networks/decide-subnet.ts';
import { PORT, SUBNET, type Port } from '../model.ts';
import { commitAccepted, violationsOf, commit, network, portDoc, subnet, WHO } from '../network-fixture.ts';
import { deletePort } from '../ports/delete.ts';
import { REQUESTER, floatingDoc, insidePort, makeRouter, externalWorld, routerDoc } from './router-fixture.ts';
import { ROUTER_INVARIANTS } from './invariants.ts';
import { FLOATING_ADDRESS, ROUTER, type FloatingAddress, type Router } from './model.ts';

/** `edge` with the port `nat`, and `f` with the port `f-port`, which leads to `web`. */
function world(): Fleet {
  const fleet = externalWorld();
  makeRouter(fleet, { name: 'edge', subnets: ['lan-v4'], externalNetwork: 'ext', portId: 'nat' });
  makeRouter(fleet, { name: 'next', subnets: ['dmz-v4'] });
  commitAccepted(
    fleet,
    createFloatingAddress(fleet, { ...REQUESTER, id: 'f', portId: 'f-port', network: 'ext', port: 'web' }),
  );
  return fleet;
}

const router = (fleet: Fleet, id: string, facts: Partial<Router>): Change =>
  put(ROUTER, idOf(ROUTER, id), { ...routerDoc(fleet, id), ...facts });

const floating = (fleet: Fleet, facts: Partial<FloatingAddress>): Change =>
  put(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'f'), { ...floatingDoc(fleet, 'f'), ...facts });

const putChanged = (fleet: Fleet, id: string, facts: Partial<Port>): Change =>
  put(PORT, idOf(PORT, id), { ...portDoc(fleet, id), ...facts });

const removePort = (id: string): Change => remove(PORT, idOf(PORT, id));

/** Each of them can be broken, and reports it. */
describe('never', () => {
  test.each<[string, number, (fleet: Fleet) => Change[]]>([
    ['two-routers-with-one-subnet', 0, (fleet) => [router(fleet, 'next', { subnets: ['lan-v4'] })]],
    ['a-router-with-a-subnet-that-is-gone', 0, () => [remove(SUBNET, idOf(SUBNET, 'dmz-v4'))]],
    [
      'a-router-with-a-subnet-that-lost-its-gateway',
      0,
      () => [subnet('dmz-v4', 'dmz', '10.5.0.0/24', { gateway: undefined } as never)],
    ],
    ['subnets-behind-a-router-that-overlap', 1, (fleet) => [router(fleet, 'next', { subnets: ['lan-2', 'dmz-same'] })]],
    ['a-router-without-its-port', 2, () => [removePort('nat')]],
    [
      'a-router-with-an-address-that-its-port-has-not',
      2,
      (fleet) => [router(fleet, 'edge', { nat: { port: 'nat', ip: '203.0.113.5' } })],
    ],
    ['a-router-with-a-way-out-and-no-address', 2, (fleet) => [router(fleet, 'next', { externalNetwork: 'ext' })]],
    ['a-router-to-a-network-that-is-not-external', 2, () => [network('ext', { shared: true })]],
    ['a-floating-address-without-its-port', 2, () => [removePort('f-port')]],
    ['a-port-whose-user-is-gone', 3, () => [remove(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'f'))]],
    ['a-used-port-that-is-attached', 3, (fleet) => [putChanged(fleet, 'nat', { instance: 'vm', nic: 0 })]],
    [
      'a-used-port-that-is-bound',
      3,
      (fleet) => [putChanged(fleet, 'f-port', { binding: { host: 'h1', serial: 1, type: 'ovs' }, serial: 1 })],
    ],
    ['a-floating-address-to-a-port-that-is-gone', 4, () => [removePort('web')]],
    [
      'a-floating-address-to-an-address-that-the-port-lost',
      4,
      (fleet) => [putChanged(fleet, 'web', { addresses: [] })],
    ],
    [
      'a-floating-address-through-a-router-that-is-gone',
      4,
      () => [remove(ROUTER, idOf(ROUTER, 'edge')), removePort('nat')],
    ],
    [
      'a-floating-address-through-a-router-that-lost-the-subnet',
      4,
      (fleet) => [router(fleet, 'edge', { subnets: [] })],
    ],
    [
      'a-floating-address-through-a-router-that-leads-elsewhere',
      4,
      (fleet) => [floating(fleet, { inside: { port: 'web', ip: '10.0.0.9', router: 'next' } })],
    ],
  ])('%s', (_name, at, changes) => {
    const fleet = world();
    expect(violationsOf(fleet, changes(fleet), ROUTER_INVARIANTS)).toContain(ROUTER_INVARIANTS[at]?.name);
  });

  test('and a valid fleet breaks none of them', () => {
    const fleet = world();
    expect(violationsOf(fleet, [router(fleet, 'edge', {}), floating(fleet, {})], ROUTER_INVARIANTS)).toEqual([]);
  });
});

/** Random commands; a refused one changes nothing, and every commit is checked. */
const any = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const act = fc.record({
  what: any(
    'router',
    'edit',
    'no-router',
    'floating',
    'lead',
    'part',
    'no-floating',
    'no-port',
    'no-subnet',
    'gateway',
    'inside',
    'end',
  ),
  router: any('edge', 'next', 'third'),
  floating: any('f', 'g', 'h'),
  port: any('web', 'dual', 'nic', 'nat-0', 'nat-1', 'out-2', 'out-3'),
  subnets: fc.uniqueArray(any('lan-v4', 'lan-2', 'lan-v6', 'dmz-v4', 'dmz-same', 'no-gateway'), { maxLength: 2 }),
  outside: any(undefined, null, 'ext', 'lan'),
});
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

function decideAct(fleet: Fleet, { what, ...of }: Act, at: number): Decision<unknown> {
  const requester = { ...REQUESTER, portId: `nat-${at}` };
  const [id, end] = [of.floating, { operation: 'op-1' as never, ...WHO }];
  const externalNetwork = of.outside ?? undefined;
  switch (what) {
    case 'router':
      return createRouter(fleet, {
        ...requester,
        name: of.router,
        subnets: of.subnets,
        ...(externalNetwork !== undefined && { externalNetwork }),
      });
    case 'edit': {
      const [add, ...rest] = of.subnets;
      const edit = { addSubnets: add === undefined ? [] : [add], removeSubnets: rest };
      const way = of.outside === undefined ? {} : { externalNetwork: of.outside };
      return editRouter(fleet, { ...requester, id: of.router, edit: { ...edit, ...way } });
    }
    case 'no-router':
      return deleteRouter(fleet, { id: of.router });
    case 'floating':
      return createFloatingAddress(fleet, { ...REQUESTER, id, portId: `out-${at}`, network: 'ext', port: of.port });
    case 'lead':
      return associateFloatingAddress(fleet, { id, port: of.port, ...WHO });
    case 'part':
      return disassociateFloatingAddress(fleet, { id, ...WHO });
    case 'no-floating':
      return deleteFloatingAddress(fleet, { id });
    case 'no-port':
      return deletePort(fleet, { id: of.port, ...end });
    case 'no-subnet':
      return deleteSubnet(fleet, { id: of.subnets[0] ?? 'lan-v4' });
    case 'gateway':
      return editSubnet(fleet, { id: of.subnets[0] ?? 'lan-v4', edit: { gateway: null }, ...WHO });
    case 'inside':
      return editNetwork(fleet, { id: 'ext', edit: { external: false }, admin: true, ...WHO });
    case 'end': {
      const nic = fleet.get(PORT, idOf(PORT, 'nic'));
      return accept(nic === undefined ? [] : releasePort(fleet, nic, { wasActive: true, ...WHO }), undefined);
    }
  }
}

test('random commands in random order break none of it, and no address has two owners', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
      const fleet = externalWorld();
      commit(fleet, [insidePort('nic', [['10.0.0.44', 'lan-v4']], { createdBy: 'muster', instance: 'vm', nic: 0 })]);
      for (const [at, one] of acts.entries()) {
        const decision = decideAct(fleet, one, at);
        if (decision.kind === 'accept' && decision.changes.length > 0) commit(fleet, decision.changes);
      }
      // Nothing is left of what was deleted.
      const used = [...fleet.all(PORT)].filter(({ doc }) => doc.usedBy !== undefined).length;
      const users =
        [...fleet.all(ROUTER)].filter(({ doc }) => doc.nat !== undefined).length + fleet.count(FLOATING_ADDRESS);
      expect(used).toBe(users);
    }),
  );
});
