import { describe, expect, test } from 'vitest';
import { idOf, put, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createFloatingAddress } from './decide-floating-address.ts';
import { deleteNetwork, editNetwork } from '../networks/decide.ts';
import { createRouter, deleteRouter, editRouter, type CreateRouter, type EditRouter } from './decide.ts';
import { createSubnet, deleteSubnet, editSubnet } from '../networks/decide-subnet.ts';
import { PORT } from '../model.ts';
import { commitAccepted, commit, network, portDoc, subnet, WHO } from '../network-fixture.ts';
import { deletePort } from '../ports/delete.ts';
import { QUOTA } from '../quotas/quota.ts';
import { REQUESTER, makeRouter, externalWorld, routerDoc, faultyExternalWorld } from './router-fixture.ts';
import { stockOf } from '../addresses/stock.ts';

const make = (fleet: Fleet, facts: Partial<CreateRouter>): Decision<unknown> =>
  createRouter(fleet, { name: 'edge', ...REQUESTER, ...facts });

const edit = (fleet: Fleet, facts: EditRouter['edit'], more: Partial<EditRouter> = {}): Decision<unknown> =>
  editRouter(fleet, { id: 'edge', ...REQUESTER, portId: 'out-2', edit: facts, ...more });

/** The code and the sentence of a refusal. */
function describeDecision(decision: Decision<unknown>): unknown {
  if (decision.kind !== 'refuse') return 'accepted';
  const { kind, code, field = '', message } = decision.refusal;
  return `${kind} ${code} ${field}: ${message}`;
}

const free = (fleet: Fleet): bigint => stockOf(fleet).free('network:ext', 4);

describe('creating routers', () => {
  test('one without subnets or external network', () => {
    const fleet = externalWorld();
    expect(makeRouter(fleet, { name: 'edge' })).toEqual({
      name: 'edge',
      project: 'default',
      subnets: [],
      changedBy: 'ann',
      changedAtMs: 7,
    });
    expect(free(fleet)).toBe(4n);
  });

  test('one with subnets and an external network: its address is a port of its own, in the same commit', () => {
    const fleet = externalWorld();
    const subnets = ['lan-v4', 'lan-v6', 'dmz-v4'];
    const router = makeRouter(fleet, { name: 'edge', subnets, externalNetwork: 'ext', portId: 'nat' });
    expect(router).toMatchObject({
      subnets,
      externalNetwork: 'ext',
      nat: { port: 'nat', ip: '203.0.113.2' },
    });
    expect(portDoc(fleet, 'nat')).toMatchObject({
      network: 'ext',
      createdBy: 'muster',
      state: 'made',
      usedBy: { kind: 'router', id: 'edge' },
      addresses: [{ ip: '203.0.113.2', subnet: 'ext-v4', chosenBy: 'create' }],
    });
    expect(free(fleet)).toBe(3n);
  });

  test('one with the requested address, in any spelling', () => {
    const fleet = faultyExternalWorld();
    const router = makeRouter(fleet, { name: 'edge', externalNetwork: 'six', natAddress: '2001:DB8:0::5' });
    expect(router.nat?.ip).toBe('2001:db8::5');
  });

  test.each([
    ['IPv6 where there is nothing else', 'six', '2001:db8::2'],
    ['IPv4 where there is both', 'both', '192.0.2.2'],
    ['the first segment that has one', 'racks', '192.0.2.2'],
  ])('the address is %s', (_name, externalNetwork, ip) => {
    expect(makeRouter(faultyExternalWorld(), { name: 'edge', externalNetwork }).nat?.ip).toBe(ip);
  });

  test('the next segment gives one when the first has none left', () => {
    const fleet = faultyExternalWorld();
    makeRouter(fleet, { name: 'first', externalNetwork: 'racks' });
    expect(makeRouter(fleet, { name: 'second', externalNetwork: 'racks' }).nat?.ip).toBe('192.0.2.10');
  });

  test('an administrator uses other projects’ resources', () => {
    const fleet = faultyExternalWorld();
    expect(makeRouter(fleet, { name: 'edge', externalNetwork: 'theirs', admin: true }).nat?.ip).toBe('198.51.100.2');
  });

  test.each<[string, Partial<CreateRouter>, string]>([
    [
      'a-name-that-is-taken',
      { name: 'old' },
      'conflict router-exists /name: There is a router "old" already. Choose another name.',
    ],
    [
      'a-subnet-that-is-not-there',
      { subnets: ['lan-v4', 'mars'] },
      'invalid unknown-subnet /subnets/1: There is no subnet "mars". List them with "muster subnets list".',
    ],
    [
      'a-network-outside-that-is-not-there',
      { externalNetwork: 'mars' },
      'invalid unknown-network /externalNetwork: There is no network "mars". List them with "muster networks list".',
    ],
    [
      'a-network-that-leads-nowhere',
      { externalNetwork: 'lan' },
      'invalid network-not-external /externalNetwork: Network "lan" is not external. Name an external network; "muster networks list --external true" lists them.',
    ],
    [
      'an-address-without-a-network',
      { natAddress: '203.0.113.4' },
      'invalid nat-address-without-network /natAddress: A router without an external network has no external address. Name the network as well.',
    ],
    [
      'an-address-that-is-not-of-the-network',
      { externalNetwork: 'ext', natAddress: '10.0.0.4' },
      'invalid address-outside-subnet /natAddress: 10.0.0.4 does not lie in any subnet of network "ext". Request an address of one of its subnets.',
    ],
    [
      'an-address-in-use',
      { externalNetwork: 'ext', natAddress: '203.0.113.2' },
      'conflict address-in-use /natAddress: 203.0.113.2 belongs to port "nat-of-old" already. Request another address, or none.',
    ],
    [
      'the-address-of-the-gateway-outside',
      { externalNetwork: 'ext', natAddress: '203.0.113.1' },
      'conflict address-in-use /natAddress: 203.0.113.1 belongs to the gateway already. Request another address, or none.',
    ],
    [
      'subnets-that-overlap',
      { subnets: ['lan-v4', 'dmz-same'] },
      'conflict subnets-overlap /subnets/1: Subnet "dmz-same" (10.0.0.0/16) overlaps with subnet "lan-v4" (10.0.0.0/24). A router cannot tell them apart; put one of them behind another router.',
    ],
    [
      'a-subnet-that-is-behind-another-router',
      { subnets: ['lan-2'] },
      'conflict subnet-behind-router /subnets/0: Subnet "lan-2" is behind router "old" already. Remove it from there first: muster routers edit old --remove-subnet lan-2',
    ],
    [
      'a-subnet-without-a-gateway',
      { subnets: ['no-gateway'] },
      'conflict subnet-without-gateway /subnets/0: Subnet "no-gateway" has no gateway, which is the address of the router in it. Give it one first: muster subnets edit no-gateway --gateway <address>',
    ],
    [
      'a-subnet-of-another-project',
      { subnets: ['other-v4'] },
      'forbidden network-not-allowed /subnets/0: Network "other" belongs to project "blue" and is not shared. Use another network, or ask an administrator.',
    ],
    [
      'a-subnet-of-the-network-outside',
      { subnets: ['ext-v4'], externalNetwork: 'ext' },
      'invalid subnet-is-outside /subnets/0: Subnet "ext-v4" is one of the external network "ext" itself. A subnet behind a router must be an internal one: name another.',
    ],
  ])('refused: %s', (_name, facts, sentence) => {
    const fleet = externalWorld();
    makeRouter(fleet, { name: 'old', subnets: ['lan-2'], externalNetwork: 'ext' });
    expect(describeDecision(make(fleet, facts))).toBe(sentence);
  });

  test.each<[string, Partial<CreateRouter>, string]>([
    [
      'a-network-outside-of-another-project',
      { externalNetwork: 'theirs' },
      'forbidden network-not-allowed /externalNetwork: Network "theirs" belongs to project "blue" and is not shared. Use another network, or ask an administrator.',
    ],
    [
      'a-network-outside-of-a-back-end-that-has-its-own-addresses',
      { externalNetwork: 'sim' },
      'invalid external-back-end-not-supported /externalNetwork: Network "sim" has the back end "simulated". External addresses are allocated only on networks of the back end "embedded"; use one of those.',
    ],
    [
      'a-network-outside-that-hosts-look-after',
      { externalNetwork: 'hosted' },
      'invalid external-back-end-not-supported /externalNetwork: Network "hosted" has the back end "host-local". External addresses are allocated only on networks of the back end "embedded"; use one of those.',
    ],
    [
      'a-network-outside-without-subnets',
      { externalNetwork: 'empty' },
      'conflict network-without-subnet /externalNetwork: Network "empty" has no addresses to allocate. Create a subnet on it first.',
    ],
    [
      'a-subnet-that-overlaps-with-what-is-outside',
      { subnets: ['inside-v4'], externalNetwork: 'near' },
      'conflict subnets-overlap /subnets/0: Subnet "inside-v4" (10.0.0.0/24) overlaps with subnet "near-v4" (10.0.0.128/25). A router cannot tell them apart; put one of them behind another router.',
    ],
  ])('refused: %s', (_name, facts, sentence) => {
    const fleet = faultyExternalWorld();
    commit(fleet, [network('near', { external: true, shared: true }), subnet('near-v4', 'near', '10.0.0.128/25')]);
    expect(describeDecision(make(fleet, facts))).toBe(sentence);
  });

  test('refused: no external address is free', () => {
    const fleet = externalWorld();
    for (const name of ['a', 'b', 'c', 'd']) makeRouter(fleet, { name, externalNetwork: 'ext' });
    expect(describeDecision(make(fleet, { externalNetwork: 'ext' }))).toBe(
      'conflict addresses-exhausted /externalNetwork: No IPv4 address of network "ext" is free. Give it a larger pool, or delete ports that are not used.',
    );
    expect(describeDecision(make(fleet, { subnets: ['lan-v4'] }))).toBe('accepted');
  });

  test('refused: more ports than the project may have', () => {
    const fleet = externalWorld();
    commit(fleet, [
      put(QUOTA, idOf(QUOTA, 'default'), { project: 'default', ports: 3, changedBy: 't', changedAtMs: 0 }),
    ]);
    makeRouter(fleet, { name: 'first', externalNetwork: 'ext' });
    expect(describeDecision(make(fleet, { externalNetwork: 'ext' }))).toMatch(/^conflict quota-exceeded /);
    expect(describeDecision(make(fleet, {}))).toBe('accepted');
    // Replacing its address needs no additional port.
    expect(describeDecision(edit(fleet, { natAddress: '203.0.113.5' }, { id: 'first' }))).toBe('accepted');
  });

  test('refused: more subnets than a router takes', () => {
    const fleet = externalWorld();
    const names = Array.from({ length: 65 }, (_, at) => `many-${at}`);
    commit(
      fleet,
      names.map((name, at) => subnet(name, 'bare', `10.8.${at}.0/24`)),
    );
    makeRouter(fleet, { name: 'edge', subnets: names.slice(0, 64) });
    expect(describeDecision(edit(fleet, { addSubnets: ['many-64'] }))).toBe(
      'conflict router-full : Router "edge" would have 65 subnets, and at most 64 are possible. Create another router.',
    );
  });
});

describe('editing routers', () => {
  function edged(): Fleet {
    const fleet = externalWorld();
    makeRouter(fleet, { name: 'edge', subnets: ['lan-v4'], externalNetwork: 'ext', portId: 'nat' });
    return fleet;
  }

  test('subnets are added and removed; an existing one may be named again', () => {
    const fleet = edged();
    commitAccepted(fleet, edit(fleet, { addSubnets: ['dmz-v4', 'lan-v4'] }));
    expect(routerDoc(fleet, 'edge')).toMatchObject({
      subnets: ['lan-v4', 'dmz-v4'],
      nat: { port: 'nat', ip: '203.0.113.2' },
    });
    commitAccepted(fleet, edit(fleet, { removeSubnets: ['lan-v4'] }));
    expect(routerDoc(fleet, 'edge').subnets).toEqual(['dmz-v4']);
  });

  test('a subnet that is removed from one router can be added to another', () => {
    const fleet = edged();
    commitAccepted(fleet, edit(fleet, { removeSubnets: ['lan-v4'] }));
    expect(makeRouter(fleet, { name: 'next', subnets: ['lan-v4'] }).subnets).toEqual(['lan-v4']);
  });

  test('the external network is cleared with its port, and set again', () => {
    const fleet = edged();
    commitAccepted(fleet, edit(fleet, { externalNetwork: null }));
    expect(routerDoc(fleet, 'edge')).not.toHaveProperty('nat');
    expect(routerDoc(fleet, 'edge')).not.toHaveProperty('externalNetwork');
    expect(fleet.get(PORT, idOf(PORT, 'nat'))).toBeUndefined();
    expect(free(fleet)).toBe(4n);
    commitAccepted(fleet, edit(fleet, { externalNetwork: 'ext', natAddress: '203.0.113.4' }));
    expect(routerDoc(fleet, 'edge').nat).toEqual({ port: 'out-2', ip: '203.0.113.4' });
    expect(portDoc(fleet, 'out-2').addresses[0]?.chosenBy).toBe('user');
  });

  test('the same external network again changes no address; another address replaces the old one', () => {
    const fleet = edged();
    commitAccepted(fleet, edit(fleet, { externalNetwork: 'ext' }));
    commitAccepted(fleet, edit(fleet, { natAddress: '203.0.113.2' }));
    expect(routerDoc(fleet, 'edge').nat).toEqual({ port: 'nat', ip: '203.0.113.2' });
    commitAccepted(fleet, edit(fleet, { natAddress: '203.0.113.5' }));
    expect(routerDoc(fleet, 'edge').nat).toEqual({ port: 'out-2', ip: '203.0.113.5' });
    expect(free(fleet)).toBe(3n);
  });

  test('another external network replaces the old one', () => {
    const fleet = edged();
    commit(fleet, [network('ext-2', { external: true, shared: true }), subnet('ext-2-v4', 'ext-2', '192.0.2.0/29')]);
    commitAccepted(fleet, edit(fleet, { externalNetwork: 'ext-2' }));
    expect(routerDoc(fleet, 'edge')).toMatchObject({ externalNetwork: 'ext-2', nat: { ip: '192.0.2.2' } });
    expect(free(fleet)).toBe(4n);
  });

  test.each<[string, EditRouter['edit'], string]>([
    [
      'a-subnet-that-is-added-and-removed',
      { addSubnets: ['lan-v4'], removeSubnets: ['lan-v4'] },
      'invalid subnet-added-and-removed /removeSubnets/0: Subnet "lan-v4" is both in addSubnets and in removeSubnets. Name it in one of them.',
    ],
    [
      'a-subnet-that-is-not-behind-it',
      { removeSubnets: ['dmz-v4'] },
      'invalid subnet-not-behind-router /removeSubnets/0: Subnet "dmz-v4" is not behind router "edge". "muster routers show edge" lists those that are.',
    ],
    [
      'a-subnet-that-overlaps-with-one-behind-it',
      { addSubnets: ['dmz-same'] },
      'conflict subnets-overlap /addSubnets/0: Subnet "dmz-same" (10.0.0.0/16) overlaps with subnet "lan-v4" (10.0.0.0/24). A router cannot tell them apart; put one of them behind another router.',
    ],
    [
      'a-subnet-that-is-not-there',
      { addSubnets: ['mars'] },
      'invalid unknown-subnet /addSubnets/0: There is no subnet "mars". List them with "muster subnets list".',
    ],
    [
      'a-subnet-of-another-router',
      { addSubnets: ['lan-2'] },
      'conflict subnet-behind-router /addSubnets/0: Subnet "lan-2" is behind router "old" already. Remove it from there first: muster routers edit old --remove-subnet lan-2',
    ],
    [
      'a-subnet-of-another-project',
      { addSubnets: ['other-v4'] },
      'forbidden network-not-allowed /addSubnets/0: Network "other" belongs to project "blue" and is not shared. Use another network, or ask an administrator.',
    ],
    [
      'a-subnet-without-a-gateway',
      { addSubnets: ['no-gateway'] },
      'conflict subnet-without-gateway /addSubnets/0: Subnet "no-gateway" has no gateway, which is the address of the router in it. Give it one first: muster subnets edit no-gateway --gateway <address>',
    ],
    [
      'an-address-while-the-network-is-cleared',
      { externalNetwork: null, natAddress: '203.0.113.4' },
      'invalid nat-address-without-network /natAddress: A router without an external network has no external address. Name the network as well.',
    ],
    [
      'a-network-that-is-not-external',
      { externalNetwork: 'dmz' },
      'invalid network-not-external /externalNetwork: Network "dmz" is not external. Name an external network; "muster networks list --external true" lists them.',
    ],
  ])('refused: %s', (_name, facts, sentence) => {
    const fleet = edged();
    makeRouter(fleet, { name: 'old', subnets: ['lan-2'] });
    expect(describeDecision(edit(fleet, facts))).toBe(sentence);
  });

  test('refused: an unknown router', () => {
    expect(describeDecision(edit(externalWorld(), { addSubnets: ['lan-v4'] }))).toBe(
      'not-found unknown-router : There is no router "edge". List them with "muster routers list".',
    );
    expect(describeDecision(deleteRouter(externalWorld(), { id: 'edge' }))).toMatch(/^not-found unknown-router /);
  });

  test('refused: what floating addresses depend on stays; the rest may be removed', () => {
    const fleet = edged();
    commitAccepted(fleet, edit(fleet, { addSubnets: ['dmz-v4'] }));
    const request = { ...REQUESTER, id: 'f', portId: 'fp', network: 'ext', port: 'web' };
    commitAccepted(fleet, createFloatingAddress(fleet, request));
    const sentence =
      'conflict router-has-floating-addresses : Floating addresses depend on what router "edge" would lose: 203.0.113.3. Disassociate them first.';
    expect(describeDecision(edit(fleet, { removeSubnets: ['lan-v4'] }))).toBe(sentence);
    expect(describeDecision(edit(fleet, { externalNetwork: null }))).toBe(sentence);
    expect(describeDecision(deleteRouter(fleet, { id: 'edge' }))).toBe(sentence);
    expect(describeDecision(edit(fleet, { removeSubnets: ['dmz-v4'] }))).toBe('accepted');
    expect(describeDecision(edit(fleet, { natAddress: '203.0.113.5' }))).toBe('accepted');
  });
});

describe('deleting', () => {
  test('a router is deleted with its address', () => {
    const fleet = externalWorld();
    makeRouter(fleet, { name: 'edge', subnets: ['lan-v4'], externalNetwork: 'ext', portId: 'nat' });
    expect(commitAccepted(fleet, deleteRouter(fleet, { id: 'edge' })).id).toBe('edge');
    expect(fleet.get(PORT, idOf(PORT, 'nat'))).toBeUndefined();
    expect(free(fleet)).toBe(4n);
    commitAccepted(fleet, deleteSubnet(fleet, { id: 'lan-2' }));
  });

  test('what a router depends on stays', () => {
    const fleet = externalWorld();
    makeRouter(fleet, { name: 'edge', subnets: ['dmz-v4'], externalNetwork: 'ext', portId: 'nat' });
    const op = { operation: 'op-1' as never, ...WHO };
    expect(describeDecision(deletePort(fleet, { id: 'nat', ...op }))).toMatchInlineSnapshot(
      `"conflict port-used : Port "nat" provides the external address of router "edge". Clear its external network, or delete it, with "muster routers"."`,
    );
    expect(describeDecision(deleteSubnet(fleet, { id: 'dmz-v4' }))).toMatchInlineSnapshot(
      `"conflict subnet-behind-router : Subnet "dmz-v4" is behind router "edge", so it stays. Remove it from there first: muster routers edit edge --remove-subnet dmz-v4"`,
    );
    expect(describeDecision(deleteSubnet(fleet, { id: 'ext-v4' }))).toMatch(/^conflict subnet-in-use /);
    expect(describeDecision(deleteNetwork(fleet, { id: 'ext' }))).toMatchInlineSnapshot(
      `"conflict network-in-use : Network "ext" is the external network of a router. Clear it there first, with "muster routers edit <router> --external-network ''"."`,
    );
    const who = { admin: true, ...WHO };
    expect(
      describeDecision(editNetwork(fleet, { id: 'ext', edit: { external: false }, ...who })),
    ).toMatchInlineSnapshot(
      `"conflict network-leads-outside /external: Network "ext" provides the external addresses of routers (1) and floating addresses (0), so it stays external. Remove these first."`,
    );
    expect(
      describeDecision(editSubnet(fleet, { id: 'dmz-v4', edit: { gateway: null }, ...WHO })),
    ).toMatchInlineSnapshot(
      `"conflict subnet-behind-router /gateway: Subnet "dmz-v4" is behind router "edge", so it keeps a gateway. Remove it from there first: muster routers edit edge --remove-subnet dmz-v4"`,
    );
    expect(describeDecision(editSubnet(fleet, { id: 'dmz-v4', edit: { gateway: '10.5.0.9' }, ...WHO }))).toBe(
      'accepted',
    );
    const near = { name: 'near', network: 'ext', cidr: '10.5.0.0/25', ...WHO };
    expect(describeDecision(createSubnet(fleet, near))).toMatchInlineSnapshot(
      `"conflict cidr-overlaps /cidr: 10.5.0.0/25 overlaps with 10.5.0.0/24 of subnet "dmz-v4" behind router "edge", which has this external network. Choose another range."`,
    );
  });
});
