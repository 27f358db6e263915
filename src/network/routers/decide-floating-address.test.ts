import { describe, expect, test } from 'vitest';
import { idOf, put, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { releasePort } from '../ports/bind.ts';
import {
  associateFloatingAddress,
  createFloatingAddress,
  deleteFloatingAddress,
  disassociateFloatingAddress,
  type CreateFloatingAddress,
} from './decide-floating-address.ts';
import { deleteNetwork } from '../networks/decide.ts';
import { PORT, type Port } from '../model.ts';
import { commitAccepted, commit, network, port, portDoc, subnet, WHO } from '../network-fixture.ts';
import { deletePort } from '../ports/delete.ts';
import { QUOTA } from '../quotas/quota.ts';
import { resolveNetworks } from '../networks/resolve.ts';
import { REQUESTER, floatingDoc, insidePort, makeRouter, externalWorld } from './router-fixture.ts';
import { FLOATING_ADDRESS } from './model.ts';
import { stockOf } from '../addresses/stock.ts';

/** `edge` connects `ext` with three subnets; `web` and `dual` are behind it. */
function world(): Fleet {
  const fleet = externalWorld();
  makeRouter(fleet, { name: 'edge', subnets: ['lan-v4', 'lan-v6', 'dmz-v4'], externalNetwork: 'ext' });
  commit(fleet, [
    insidePort('far', [['10.0.1.9', 'lan-2']]),
    insidePort('six', [['fd00::9', 'lan-v6']]),
    insidePort('two', [
      ['10.0.0.20', 'lan-v4'],
      ['10.0.0.21', 'lan-v4'],
    ]),
    insidePort('late', []),
    insidePort('leaving', [['10.0.0.30', 'lan-v4']], { state: 'releasing' }),
    insidePort('blue', [['10.0.0.31', 'lan-v4']], { project: 'blue' }),
    network('sim', { backEnd: 'simulated' }),
    subnet('sim-v4', 'sim', '10.9.0.0/24'),
    port('elsewhere', 'sim', { addresses: [{ ip: '10.9.0.9', subnet: 'sim-v4', chosenBy: 'create' }] }),
  ]);
  return fleet;
}

const make = (fleet: Fleet, facts: Partial<CreateFloatingAddress> = {}): Decision<{ readonly id: string }> =>
  createFloatingAddress(fleet, { ...REQUESTER, id: 'f', portId: 'f-port', network: 'ext', ...facts });

const associate = (fleet: Fleet, to: string, portIp?: string, id = 'f'): Decision<{ readonly id: string }> =>
  associateFloatingAddress(fleet, { id, port: to, ...(portIp !== undefined && { portIp }), ...WHO });

const disassociate = (fleet: Fleet, id = 'f'): Decision<unknown> => disassociateFloatingAddress(fleet, { id, ...WHO });

function describeDecision(decision: Decision<unknown>): unknown {
  if (decision.kind !== 'refuse') return 'accepted';
  const { kind, code, field = '', message } = decision.refusal;
  return `${kind} ${code} ${field}: ${message}`;
}

/** One without a target. */
function floatingFleet(): Fleet {
  const fleet = world();
  commitAccepted(fleet, make(fleet));
  return fleet;
}

describe('floating addresses', () => {
  test('one is allocated from the stock, as a port of its own', () => {
    const fleet = floatingFleet();
    expect(floatingDoc(fleet, 'f')).toEqual({
      project: 'default',
      network: 'ext',
      outside: { port: 'f-port', ip: '203.0.113.3' },
      changedBy: 'ann',
      changedAtMs: 7,
    });
    expect(portDoc(fleet, 'f-port')).toMatchObject({
      usedBy: { kind: 'floating-address', id: 'f' },
      network: 'ext',
      addresses: [{ ip: '203.0.113.3', subnet: 'ext-v4' }],
    });
    expect(stockOf(fleet).free('network:ext', 4)).toBe(2n);
  });

  test('a requested address may be associated with a port from the start', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, { ip: '203.0.113.5', port: 'web' }));
    expect(floatingDoc(fleet, 'f')).toMatchObject({
      outside: { ip: '203.0.113.5' },
      inside: { port: 'web', ip: '10.0.0.9', router: 'edge' },
    });
  });

  test('one is associated with a port, with another in one step, and with none', () => {
    const fleet = floatingFleet();
    commitAccepted(fleet, associate(fleet, 'web'));
    expect(floatingDoc(fleet, 'f').inside).toEqual({ port: 'web', ip: '10.0.0.9', router: 'edge' });
    commitAccepted(fleet, associate(fleet, 'two', '10.0.0.21'));
    expect(floatingDoc(fleet, 'f').inside).toEqual({ port: 'two', ip: '10.0.0.21', router: 'edge' });
    commitAccepted(fleet, disassociate(fleet));
    expect(floatingDoc(fleet, 'f')).not.toHaveProperty('inside');
  });

  test('the address of its own version is used when a port has both', () => {
    const fleet = floatingFleet();
    commitAccepted(fleet, associate(fleet, 'dual'));
    expect(floatingDoc(fleet, 'f').inside?.ip).toBe('10.0.0.10');
  });

  test('a repeated association changes nothing', () => {
    const fleet = floatingFleet();
    expect(disassociate(fleet)).toMatchObject({ kind: 'accept', changes: [] });
    commitAccepted(fleet, associate(fleet, 'web'));
    expect(associate(fleet, 'web')).toMatchObject({ kind: 'accept', changes: [] });
  });

  test('one is deleted with its port, and the address is free again', () => {
    const fleet = floatingFleet();
    expect(commitAccepted(fleet, deleteFloatingAddress(fleet, { id: 'f' })).id).toBe('f');
    expect(fleet.get(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'f'))).toBeUndefined();
    expect(fleet.get(PORT, idOf(PORT, 'f-port'))).toBeUndefined();
    expect(stockOf(fleet).free('network:ext', 4)).toBe(3n);
  });
});

describe('refused', () => {
  test.each<[string, Partial<CreateFloatingAddress>, string]>([
    ['a-network-that-is-not-there', { network: 'mars' }, 'invalid unknown-network /network'],
    ['a-network-that-is-not-external', { network: 'lan' }, 'invalid network-not-external /network'],
    ['an-address-in-use', { ip: '203.0.113.2' }, 'conflict address-in-use /ip'],
    ['an-address-of-another-network', { ip: '10.0.0.99' }, 'invalid address-outside-subnet /ip'],
    ['an-address-inside-and-no-port', { portIp: '10.0.0.9' }, 'invalid port-required /portIp'],
    ['a-port-that-is-not-there', { port: 'mars' }, 'invalid unknown-port /port'],
    ['a-port-that-no-router-leads-to', { port: 'far' }, 'conflict not-behind-router /port'],
  ])('creating: %s', (_name, facts, code) => {
    expect(describeDecision(make(world(), facts))).toMatch(new RegExp(`^${code}: `));
  });

  test('creating: no address is free, or the project has enough ports', () => {
    const fleet = world();
    for (const id of ['a', 'b', 'c']) commitAccepted(fleet, make(fleet, { id, portId: `${id}-port` }));
    expect(describeDecision(make(fleet))).toMatch(/^conflict addresses-exhausted \/network: /);
    const full = world();
    commit(full, [
      put(QUOTA, idOf(QUOTA, 'default'), { project: 'default', ports: 1, changedBy: 't', changedAtMs: 0 }),
    ]);
    expect(describeDecision(make(full))).toMatch(/^conflict quota-exceeded : /);
  });

  test.each<[string, string, string | undefined, string]>([
    [
      'a-port-that-is-not-there',
      'mars',
      undefined,
      'invalid unknown-port /port: There is no port "mars". List them with "muster ports list".',
    ],
    [
      'a-port-of-another-project',
      'blue',
      undefined,
      'forbidden port-of-other-project /port: Port "blue" belongs to project "blue", the floating address to "default". Use a port of the same project.',
    ],
    [
      'a-port-that-no-router-leads-to',
      'far',
      undefined,
      'conflict not-behind-router /port: Port "far" cannot be reached from network "ext": no router connects it with lan-2. Put the subnet behind one with "muster routers edit <router> --add-subnet lan-2".',
    ],
    [
      'a-port-that-a-router-has-its-address-from',
      'nat-of-edge',
      undefined,
      'conflict port-used /port: Port "nat-of-edge" provides the external address of router "edge". Clear its external network, or delete it, with "muster routers".',
    ],
    [
      'its-own-port',
      'f-port',
      undefined,
      'conflict port-used /port: Port "f-port" provides the external address of floating address "f". Delete that with "muster floating-addresses delete f".',
    ],
    [
      'a-port-that-is-being-deleted',
      'leaving',
      undefined,
      'conflict port-releasing : Port "leaving" is being deleted. Use another port.',
    ],
    [
      'a-port-whose-address-others-give-out',
      'elsewhere',
      undefined,
      'invalid inside-back-end-not-supported /port: Port "elsewhere" is on network "sim", whose back end is "simulated". Floating addresses can only be associated with ports whose addresses Muster gives out itself: use a port on a network of the back end "embedded".',
    ],
    [
      'a-port-without-an-address',
      'late',
      undefined,
      'conflict port-without-address /port: Port "late" has no address yet. Associate the floating address when it has one.',
    ],
    [
      'an-address-that-the-port-has-not',
      'web',
      '10.0.0.8',
      'invalid address-not-of-port /portIp: Port "web" does not have the address 10.0.0.8. It has 10.0.0.9. Name one of these.',
    ],
    [
      'an-address-of-the-other-version',
      'six',
      undefined,
      'invalid address-version-mismatch /port: Floating address 203.0.113.3 is IPv4, and port "six" has fd00::9 to offer. Both must be of one version: use another port or another floating address.',
    ],
    [
      'a-port-with-two-addresses-that-would-do',
      'two',
      undefined,
      'invalid address-ambiguous /portIp: Port "two" has several addresses: 10.0.0.20, 10.0.0.21. Name one of them.',
    ],
  ])('associating: %s', (_name, to, portIp, sentence) => {
    expect(describeDecision(associate(floatingFleet(), to, portIp))).toBe(sentence);
  });

  test('creating: one of a network that the router is not connected to', () => {
    const fleet = world();
    commit(fleet, [network('ext-2', { external: true, shared: true }), subnet('e2', 'ext-2', '192.0.2.0/29')]);
    expect(describeDecision(make(fleet, { network: 'ext-2', port: 'web' }))).toMatch(
      /^conflict not-behind-router \/port: /,
    );
  });

  test('associating: an address that another one is associated with', () => {
    const fleet = floatingFleet();
    commitAccepted(fleet, associate(fleet, 'web'));
    commitAccepted(fleet, make(fleet, { id: 'g', portId: 'g-port' }));
    expect(describeDecision(associate(fleet, 'web', undefined, 'g'))).toBe(
      'conflict address-has-floating-address /port: Floating address 203.0.113.3 is associated with 10.0.0.9 of port "web" already. Disassociate it first: muster floating-addresses disassociate f',
    );
  });

  test('any change of an unknown one', () => {
    const sentence =
      'not-found unknown-floating-address : There is no floating address "f". List them with "muster floating-addresses list".';
    expect(describeDecision(associate(world(), 'web'))).toBe(sentence);
    expect(describeDecision(disassociate(world()))).toBe(sentence);
    expect(describeDecision(deleteFloatingAddress(world(), { id: 'f' }))).toBe(sentence);
  });

  test('deleting one in use: the floating address, its ports, its network', () => {
    const fleet = floatingFleet();
    commitAccepted(fleet, associate(fleet, 'web'));
    expect(describeDecision(deleteFloatingAddress(fleet, { id: 'f' }))).toBe(
      'conflict floating-address-in-use : Floating address 203.0.113.3 is associated with port "web". Disassociate it first: muster floating-addresses disassociate f',
    );
    const end = (id: string) => describeDecision(deletePort(fleet, { id, operation: 'op-1' as never, ...WHO }));
    expect(end('f-port')).toMatch(
      /^conflict port-used : Port "f-port" provides the external address of floating address "f"/,
    );
    expect(end('web')).toBe(
      'conflict port-has-floating-address : Floating address 203.0.113.3 is associated with port "web". Disassociate it first: muster floating-addresses disassociate f',
    );
    commitAccepted(fleet, disassociate(fleet));
    expect(end('web')).toBe('accepted');
    expect(describeDecision(deleteNetwork(fleet, { id: 'ext' }))).toMatch(
      /^conflict network-in-use : .* is the external network of a router/,
    );
  });

  test('attaching the external port to an instance', () => {
    const fleet = floatingFleet();
    const request = { project: 'default', admin: true, count: 1, instance: 'vm', ...WHO };
    for (const [name, user] of [
      ['f-port', 'floating address "f"'],
      ['nat-of-edge', 'router "edge"'],
    ]) {
      const refusal = resolveNetworks(fleet, { ...request, networks: [{ port: name ?? '' }] });
      expect(refusal).toMatchObject({ kind: 'conflict', code: 'port-used', field: '/networks/0/port' });
      expect((refusal as { readonly message: string }).message).toContain(user);
    }
  });
});

describe('its association when the instance of its port ends', () => {
  const attached = (id: string, more: Partial<Port>) =>
    port(id, 'lan', {
      instance: 'vm',
      nic: 0,
      serial: 1,
      binding: { host: 'h1', serial: 1, type: 'ovs' },
      addresses: [{ ip: '10.0.0.50', subnet: 'lan-v4', chosenBy: 'bind' }],
      ...more,
    });

  function led(createdBy: Port['createdBy']): Fleet {
    const fleet = floatingFleet();
    commit(fleet, [attached('nic', { createdBy })]);
    commitAccepted(fleet, associate(fleet, 'nic'));
    return fleet;
  }

  function ended(fleet: Fleet, wasActive: boolean): void {
    const stored = fleet.get(PORT, idOf(PORT, 'nic'));
    if (stored !== undefined) commit(fleet, releasePort(fleet, stored, { wasActive, ...WHO }));
  }

  test('an associated address is kept: it is not replaced by one of another host', () => {
    expect(portDoc(led('muster'), 'nic').addresses).toEqual([{ ip: '10.0.0.50', subnet: 'lan-v4', chosenBy: 'user' }]);
  });

  test('a port that is deleted with its instance leaves it without a target', () => {
    const fleet = led('muster');
    ended(fleet, true);
    expect(fleet.get(PORT, idOf(PORT, 'nic'))).toBeUndefined();
    expect(floatingDoc(fleet, 'f')).not.toHaveProperty('inside');
    expect(floatingDoc(fleet, 'f').outside.ip).toBe('203.0.113.3');
  });

  test.each([true, false])('a user’s port stays, and so does the association (it ran: %s)', (wasActive) => {
    const fleet = led('user');
    ended(fleet, wasActive);
    expect(portDoc(fleet, 'nic')).not.toHaveProperty('instance');
    expect(floatingDoc(fleet, 'f').inside).toEqual({ port: 'nic', ip: '10.0.0.50', router: 'edge' });
  });
});
