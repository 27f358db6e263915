import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, remove, type AppliedChange, type Change, type Model } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { CLAIM, claimId, CLAIMS_BY_HOST, PORT, PORTS_BY_INSTANCE, type Claim, type Port } from '../network/index.ts';
import { INSTANCE, INSTANCES_BY_HOST, type Instance } from './model.ts';
import { instancesPart, type ViewInstance } from './view-part.ts';

const MODEL: Model = {
  kinds: [HOST, INSTANCE, PORT, CLAIM],
  indexes: [INSTANCES_BY_HOST, PORTS_BY_INSTANCE, CLAIMS_BY_HOST],
};
const AMOUNTS = { vcpus: 2, memoryMiB: 2048, diskGiB: 10 };
const CHANGED = { changedBy: 'test', changedAtMs: 0 };

const host = (id: string): Change => put(HOST, idOf(HOST, id), { name: id } as Host);

function instance(id: string, facts: Partial<Instance>): Change {
  const path = { create: 'conductor', bind: 'conductor' };
  const doc = { name: id, state: 'active', amounts: AMOUNTS, path, nics: [], ...CHANGED, ...facts };
  return put(INSTANCE, idOf(INSTANCE, id), doc as Instance);
}

function port(id: string, facts: Partial<Port>): Change {
  const doc = { network: 'net-1', mac: 'fa:16:3e:00:00:01', addresses: [], serial: 0, ...CHANGED, ...facts };
  return put(PORT, idOf(PORT, id), doc as unknown as Port);
}

function claim(of: string, on: string, role: Claim['role']): Change {
  return put(CLAIM, claimId(of, role), { instance: of, role, host: on, ...AMOUNTS, addresses: [], sinceMs: 0 });
}

const binding = (on: string, serial = 1, segment?: string): NonNullable<Port['binding']> => ({
  host: on,
  serial,
  type: 'ovs',
  ...(segment !== undefined && { segment }),
});

function fleetOf(...changes: Change[]): Fleet {
  const fleet = new Fleet(new Registry([MODEL]));
  fleet.apply(1, [host('h1'), host('h2'), host('h3'), ...changes]);
  return fleet;
}

const partOf = (fleet: Fleet, of: string): readonly ViewInstance[] =>
  instancesPart.build(fleet, of) as readonly ViewInstance[];

function affectedHosts(fleet: Fleet, ...changes: Change[]): string[][] {
  const applied: AppliedChange[] = fleet.apply(fleet.revision + 1, changes);
  return applied.map((change) => [...instancesPart.affects(change, fleet)].sort());
}

describe('the instances in the view of a host', () => {
  test('nothing-of-one-that-is-being-built-before-every-nic-is-bound-there', () => {
    const nics = [{ port: 'p1', network: 'net-1' }];
    const building = (path: Instance['path']): Change => instance('i1', { host: 'h1', state: 'building', nics, path });
    const unbound = port('p1', { instance: 'i1', nic: 0 });
    const early = building({ create: 'conductor', bind: 'conductor' });
    expect(partOf(fleetOf(early, unbound), 'h1')).toEqual([]);
    const bound = port('p1', { instance: 'i1', nic: 0, binding: binding('h1') });
    expect(partOf(fleetOf(early, bound), 'h1')).toHaveLength(1);
    // An older host does it itself.
    expect(partOf(fleetOf(building({ create: 'conductor', bind: 'host' }), unbound), 'h1')).toHaveLength(1);
  });

  test('its-own-in-order-of-ids-with-the-ports-that-are-bound-to-it-in-order-of-nics', () => {
    const address = { ip: '10.0.0.7', subnet: 'sub-1', chosenBy: 'bind' } as const;
    const fleet = fleetOf(
      instance('i2', { host: 'h1', state: 'building' }),
      instance('i1', { host: 'h1' }),
      instance('i3', { host: 'h2' }),
      port('p-a', { instance: 'i1', nic: 1, binding: binding('h1', 4), serial: 4 }),
      port('p-b', { instance: 'i1', nic: 0, binding: binding('h1', 2, 'seg-1'), serial: 5, addresses: [address] }),
      port('p-c', { instance: 'i1', nic: 2, binding: binding('h2') }),
      port('p-d', { instance: 'i1', nic: 3 }),
    );
    const mac = 'fa:16:3e:00:00:01';
    expect(partOf(fleet, 'h1')).toEqual([
      {
        id: 'i1',
        role: 'home',
        state: 'active',
        amounts: AMOUNTS,
        ports: [
          { id: 'p-b', mac, network: 'net-1', segment: 'seg-1', addresses: ['10.0.0.7'], serial: 2 },
          { id: 'p-a', mac, network: 'net-1', addresses: [], serial: 4 },
        ],
      },
      { id: 'i2', role: 'home', state: 'building', amounts: AMOUNTS, ports: [] },
    ]);
  });

  test('one-that-moves-is-incoming-at-its-target-and-home-where-it-is', () => {
    const fleet = fleetOf(
      instance('i1', { host: 'h1', state: 'moving' }),
      instance('i2', { host: 'h2' }),
      claim('i1', 'h1', 'home'),
      claim('i1', 'h2', 'move'),
      claim('i2', 'h2', 'home'),
      port('p1', { instance: 'i1', nic: 0, binding: binding('h2', 3) }),
    );
    const roles = (of: string): string[] =>
      partOf(fleet, of).map((one) => `${one.id} ${one.role} ${one.ports.map(({ id }) => id).join()}`);
    expect(roles('h1')).toEqual(['i1 home ']);
    expect(roles('h2')).toEqual(['i1 incoming p1', 'i2 home ']);
  });

  test('one-that-arrived-is-shown-once-while-its-claims-are-being-sorted-out', () => {
    const fleet = fleetOf(instance('i1', { host: 'h2' }), claim('i1', 'h2', 'move'), claim('gone', 'h2', 'move'));
    expect(partOf(fleet, 'h2').map(({ role }) => role)).toEqual(['home']);
  });

  test('an-empty-host-gets-an-empty-list-and-an-unknown-one-nothing', () => {
    expect(partOf(fleetOf(), 'h1')).toEqual([]);
    expect(instancesPart.build(fleetOf(), 'nobody')).toBeUndefined();
  });
});

describe('a change of instances affects', () => {
  test('where-it-was-and-where-it-is', () => {
    const fleet = fleetOf(instance('i1', { host: 'h1' }));
    expect(affectedHosts(fleet, instance('i1', { host: 'h2' }))).toEqual([['h1', 'h2']]);
    expect(affectedHosts(fleet, instance('i1', {}))).toEqual([['h2']]);
    expect(affectedHosts(fleet, instance('i1', {}))).toEqual([[]]);
    expect(affectedHosts(fleet, remove(INSTANCE, idOf(INSTANCE, 'i1')))).toEqual([[]]);
  });

  test('where-it-is-going', () => {
    const fleet = fleetOf(instance('i1', { host: 'h1' }), claim('i1', 'h3', 'move'));
    expect(affectedHosts(fleet, instance('i1', { host: 'h1', state: 'moving' }))).toEqual([['h1', 'h3']]);
    expect(affectedHosts(fleet, claim('i1', 'h2', 'move'))).toEqual([['h2', 'h3']]);
    expect(affectedHosts(fleet, remove(CLAIM, claimId('i1', 'move')))).toEqual([['h2']]);
    expect(affectedHosts(fleet, claim('i1', 'h1', 'home'))).toEqual([[]]);
  });

  test('the-hosts-that-a-port-is-bound-to-before-and-after', () => {
    const fleet = fleetOf(instance('i1', { host: 'h1' }));
    expect(affectedHosts(fleet, port('p1', { instance: 'i1' }))).toEqual([[]]);
    expect(affectedHosts(fleet, port('p1', { instance: 'i1', binding: binding('h1') }))).toEqual([['h1']]);
    expect(affectedHosts(fleet, port('p1', { instance: 'i1', binding: binding('h2', 2) }))).toEqual([['h1', 'h2']]);
    expect(affectedHosts(fleet, remove(PORT, idOf(PORT, 'p1')))).toEqual([['h2']]);
  });

  test('never-fewer-hosts-than-those-whose-part-is-another', () => {
    const moves: Change[][] = [
      [instance('i1', { host: 'h1', state: 'building' }), claim('i1', 'h1', 'home')],
      [port('p1', { instance: 'i1', nic: 0, binding: binding('h1') })],
      [instance('i1', { host: 'h1' })],
      [instance('i1', { host: 'h1', state: 'moving' }), claim('i1', 'h2', 'move')],
      [port('p1', { instance: 'i1', nic: 0, binding: binding('h2', 2) })],
      [instance('i1', { host: 'h2' }), claim('i1', 'h2', 'home'), remove(CLAIM, claimId('i1', 'move'))],
      [instance('i1', { host: 'h2', state: 'deleting' })],
      [remove(PORT, idOf(PORT, 'p1')), remove(CLAIM, claimId('i1', 'home')), remove(INSTANCE, idOf(INSTANCE, 'i1'))],
    ];
    const fleet = fleetOf();
    for (const changes of moves) {
      const before = ['h1', 'h2', 'h3'].map((of) => JSON.stringify(partOf(fleet, of)));
      const affected = new Set(affectedHosts(fleet, ...changes).flat());
      const changed = ['h1', 'h2', 'h3'].filter((of, at) => JSON.stringify(partOf(fleet, of)) !== before[at]);
      expect(changed.filter((of) => !affected.has(of))).toEqual([]);
      expect(affected.has('h3')).toBe(false);
    }
  });
});
