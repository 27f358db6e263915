import { describe, expect, test } from 'vitest';
import { put, type Change, type Fleet } from '../../fleet/index.ts';
import { beginEvacuation, planEvacuation } from '../../hosts/index.ts';
import { explainer } from '../../operations/index.ts';
import { CLAIM, claimId, type Claim } from '../claim.ts';
import type { Port } from '../model.ts';
import { commit, fleetWith, host, network, port, portDoc, subnet, WHO } from '../network-fixture.ts';
import { portEvacuator, portEvacuatorSentences } from './evacuator.ts';

function putClaim(instance: string, at: string, role: Claim['role'] = 'home'): Change {
  const doc: Claim = { instance, role, host: at, vcpus: 1, memoryMiB: 1, diskGiB: 1, addresses: [], sinceMs: 0 };
  return put(CLAIM, claimId(instance, role), doc);
}

function nic(id: string, at: string | undefined, instance: string, nth = 0): Change {
  const facts: Partial<Port> = {
    instance,
    nic: nth,
    serial: 3,
    ...(at !== undefined && { binding: { host: at, serial: 3, type: 'ovs' } }),
    addresses: [{ ip: `10.0.0.${id.charCodeAt(0)}`, subnet: 's', chosenBy: 'user' }],
  };
  return port(id, 'n', facts);
}

/** On h1: `a` of an instance there, `b` of one that moves there, `x` and `y` of absent instances. */
function world(): Fleet {
  return fleetWith(
    host('h1'),
    host('h2'),
    network('n'),
    subnet('s', 'n', '10.0.0.0/24'),
    putClaim('here', 'h1'),
    putClaim('coming', 'h2'),
    putClaim('coming', 'h1', 'move'),
    putClaim('away', 'h2'),
    nic('a', 'h1', 'here'),
    nic('b', 'h1', 'coming'),
    nic('x', 'h1', 'away'),
    nic('y', 'h1', 'nobody'),
    nic('z', undefined, 'nobody', 1),
  );
}

const inventoryIds = (fleet: Fleet, on: string): string[] => portEvacuator.inventory(fleet, on).map(({ id }) => id);

describe('ports that block the removal of a host', () => {
  test('are bound there and belong to no instance there', () => {
    const fleet = world();
    expect(portEvacuator.inventory(fleet, 'h1')).toEqual([
      { kind: 'port', id: 'x' },
      { kind: 'port', id: 'y' },
    ]);
    expect(inventoryIds(fleet, 'h2')).toEqual([]);
    expect(portEvacuator.countLeaving(fleet, 'h1')).toBe(0);
  });

  test('wait for an operator, with a reason', () => {
    const fleet = world();
    const leavers = [{ host: 'h1', tenants: portEvacuator.inventory(fleet, 'h1') }];
    const planned = planEvacuation(fleet, portEvacuator, leavers, { nowMs: 7 });
    expect(planned.map(({ host: from, tenant, evacuation }) => [from, tenant.id, evacuation.kind])).toEqual([
      ['h1', 'x', 'wait'],
      ['h1', 'y', 'wait'],
    ]);
    const [first] = planned;
    const reason = first?.evacuation.kind === 'wait' ? first.evacuation.reason : { code: 'none' };
    expect(explainer([portEvacuatorSentences])(reason)).toMatchInlineSnapshot(
      `"Port x is bound to host h1, and no instance there has it. "muster ports show x" shows its owner: delete the port, or what it is attached to."`,
    );
    const how = { operation: 'op-1' as never, deadlineMs: 9, ...WHO };
    expect(beginEvacuation(fleet, portEvacuator, planned, how)).toEqual({ changes: [] });
  });

  test('are unbound when their host is removed, and keep their addresses', () => {
    const fleet = world();
    commit(fleet, portEvacuator.abandon(fleet, 'h1', WHO));
    expect(portDoc(fleet, 'x')).toMatchObject({ serial: 4, addresses: [{ ip: '10.0.0.120' }], changedBy: 'ann' });
    expect(portDoc(fleet, 'x')).not.toHaveProperty('binding');
    expect(portDoc(fleet, 'y')).not.toHaveProperty('binding');
    expect(portDoc(fleet, 'a').binding?.host).toBe('h1');
    expect(inventoryIds(fleet, 'h1')).toEqual([]);
    expect(portEvacuator.abandon(fleet, 'h1', WHO)).toEqual([]);
  });

  test('become one of an instance when it arrives', () => {
    const fleet = world();
    commit(fleet, [putClaim('away', 'h1', 'move')]);
    expect(inventoryIds(fleet, 'h1')).toEqual(['y']);
  });
});
