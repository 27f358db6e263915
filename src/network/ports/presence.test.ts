import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, put, runTrial, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { PORT, PORTS_BY_HOST, type Port } from '../model.ts';
import { fleetWith, network, port, subnet } from '../network-fixture.ts';
import { presenceOf } from './presence.ts';

const HOSTS = ['h1', 'h2', 'h3'];
const NETWORKS = ['n', 'm'];
const SUBNETS = ['n-a', 'n-b', 'm-a'];

function putPort(id: string, of: string, host: string | undefined, subnets: readonly string[] = []): Change {
  const addresses = subnets.map((one, at) => ({ ip: `10.0.0.${at + 1}`, subnet: one, chosenBy: 'user' as const }));
  const binding: Partial<Port> = host === undefined ? {} : { binding: { host, serial: 1, type: 'ovs' }, serial: 1 };
  return port(id, of, { instance: id, nic: 0, addresses, ...binding });
}

const removePort = (id: string): Change => remove(PORT, idOf(PORT, id));

const rows = (map: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...map].sort(([one], [other]) => (one < other ? -1 : 1)));

function describePresence(fleet: FleetReader): object {
  const presence = presenceOf(fleet);
  return {
    subnets: SUBNETS.map((id) => rows(presence.portCountsInSubnet(id))),
    lists: SUBNETS.map((id) => presence.hostsInSubnet(id).toSorted()),
    networks: NETWORKS.map((id) => rows(presence.portCountsInNetwork(id))),
    hosts: HOSTS.map((id) => ({ subnets: presence.subnetsOn(id), networks: presence.networksOn(id) })),
  };
}

/** The same, by counting every port for every query. */
function recountPresence(fleet: FleetReader): object {
  const ports = [...fleet.all(PORT)].map(({ doc }) => doc);
  const by = (is: (one: Port) => boolean): Record<string, number> =>
    Object.fromEntries(
      HOSTS.map((host) => [host, ports.filter((one) => one.binding?.host === host && is(one)).length] as const).filter(
        ([, count]) => count > 0,
      ),
    );
  const inSubnet = (id: string) => by(({ addresses }) => addresses.some((one) => one.subnet === id));
  const inNetwork = (id: string) => by((one) => one.network === id);
  return {
    subnets: SUBNETS.map(inSubnet),
    lists: SUBNETS.map((id) => Object.keys(inSubnet(id))),
    networks: NETWORKS.map(inNetwork),
    hosts: HOSTS.map((host) => ({
      subnets: SUBNETS.filter((id) => host in inSubnet(id)).sort(),
      networks: NETWORKS.filter((id) => host in inNetwork(id)).sort(),
    })),
  };
}

const world = () =>
  fleetWith(
    network('n'),
    network('m'),
    subnet('n-a', 'n', '10.0.0.0/24'),
    subnet('n-b', 'n', '10.0.1.0/24'),
    subnet('m-a', 'm', '10.0.0.0/24'),
  );

describe('presence', () => {
  test('scale-in-20: the entry of a host stays while one of its two ports does, and is removed with the last', () => {
    const fleet = world();
    const apply = (...changes: Change[]) => fleet.apply(fleet.revision + 1, changes);
    apply(putPort('p', 'n', 'h1', ['n-a']), putPort('q', 'n', 'h1', ['n-a']), putPort('r', 'n', 'h2', ['n-a']));
    const presence = presenceOf(fleet);
    expect(rows(presence.portCountsInSubnet('n-a'))).toEqual({ h1: 2, h2: 1 });
    apply(removePort('p'));
    expect(rows(presence.portCountsInSubnet('n-a'))).toEqual({ h1: 1, h2: 1 });
    expect(presence.subnetsOn('h1')).toEqual(['n-a']);
    apply(removePort('q'));
    expect(rows(presence.portCountsInSubnet('n-a'))).toEqual({ h2: 1 });
    expect(presence.subnetsOn('h1')).toEqual([]);
    expect(presence.networksOn('h1')).toEqual([]);
  });

  test.each<[string, Change, Record<string, object>]>([
    ['a-port-that-is-not-bound-is-nowhere', putPort('p', 'n', undefined, ['n-a']), {}],
    ['a-port-without-an-address-is-in-its-network-only', putPort('p', 'n', 'h1'), { networks: { h1: 1 } }],
    [
      'two-addresses-in-a-subnet-are-one-presence',
      putPort('p', 'n', 'h1', ['n-a', 'n-a']),
      { networks: { h1: 1 }, 'n-a': { h1: 1 } },
    ],
    [
      'addresses-in-two-subnets-are-two',
      putPort('p', 'n', 'h1', ['n-a', 'n-b']),
      { networks: { h1: 1 }, 'n-a': { h1: 1 }, 'n-b': { h1: 1 } },
    ],
  ])('%s', (_name, change, { networks = {}, 'n-a': a = {}, 'n-b': b = {} }) => {
    const fleet = world();
    fleet.apply(fleet.revision + 1, [change]);
    const presence = presenceOf(fleet);
    expect(
      [presence.portCountsInNetwork('n'), presence.portCountsInSubnet('n-a'), presence.portCountsInSubnet('n-b')].map(
        rows,
      ),
    ).toEqual([networks, a, b]);
  });

  test('a port that moves is at its new host only; one that changes otherwise stays where it is', () => {
    const fleet = world();
    const apply = (...changes: Change[]) => fleet.apply(fleet.revision + 1, changes);
    apply(putPort('p', 'n', 'h1', ['n-a']));
    apply({ ...putPort('p', 'n', 'h1', ['n-a']), id: 'p' });
    expect(rows(presenceOf(fleet).portCountsInSubnet('n-a'))).toEqual({ h1: 1 });
    apply(putPort('p', 'n', 'h2', ['n-a']));
    expect(rows(presenceOf(fleet).portCountsInSubnet('n-a'))).toEqual({ h2: 1 });
    // At one host, from one subnet to another.
    apply(putPort('p', 'n', 'h2', ['n-b']));
    expect(rows(presenceOf(fleet).portCountsInSubnet('n-a'))).toEqual({});
    expect(rows(presenceOf(fleet).portCountsInSubnet('n-b'))).toEqual({ h2: 1 });
  });

  test('a port at a bare-metal node is at no host, whatever the node is called', () => {
    const fleet = world();
    const apply = (...changes: Change[]) => fleet.apply(fleet.revision + 1, changes);
    const atNode = put(PORT, idOf(PORT, 'p'), {
      ...(putPort('p', 'n', 'h1', ['n-a']).doc as Port),
      binding: { node: 'h1', serial: 2, type: 'baremetal' },
      serial: 2,
    });
    apply(atNode);
    expect(describePresence(fleet)).toEqual(describePresence(world()));
    apply(putPort('p', 'n', 'h1', ['n-a']));
    expect(rows(presenceOf(fleet).portCountsInSubnet('n-a'))).toEqual({ h1: 1 });
    apply(atNode);
    expect(describePresence(fleet)).toEqual(describePresence(world()));
    expect([...fleet.find(PORTS_BY_HOST, 'h1')]).toEqual([]);
  });

  test('the list of a subnet is the identical object while its hosts are the same', () => {
    const fleet = world();
    const apply = (...changes: Change[]) => fleet.apply(fleet.revision + 1, changes);
    apply(putPort('p', 'n', 'h1', ['n-a']));
    const list = presenceOf(fleet).hostsInSubnet('n-a');
    apply(putPort('q', 'n', 'h1', ['n-a']), putPort('r', 'n', 'h2', ['n-b']));
    expect(presenceOf(fleet).hostsInSubnet('n-a')).toBe(list);
    apply(putPort('s', 'n', 'h2', ['n-a']));
    expect(presenceOf(fleet).hostsInSubnet('n-a')).toEqual(['h1', 'h2']);
    expect(list).toEqual(['h1']);
  });

  const anyChange = fc
    .record({
      id: fc.constantFrom('p', 'q', 'r', 's', 't'),
      host: fc.constantFrom(undefined, ...HOSTS),
      of: fc.constantFrom(...NETWORKS),
      subnets: fc.array(fc.constantFrom(...SUBNETS), { maxLength: 3 }),
      there: fc.boolean(),
    })
    .map(({ id, host, of, subnets, there }) => (there ? putPort(id, of, host, subnets) : removePort(id)));

  test('equals a count over all ports, and a trial leaves no trace in it', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 15 }), fc.array(anyChange, { maxLength: 15 }), (done, tried) => {
        const fleet = world();
        for (const change of done) {
          fleet.apply(fleet.revision + 1, [change]);
          expect(describePresence(fleet)).toEqual(recountPresence(fleet));
        }
        const before = describePresence(fleet);
        runTrial(fleet, (trial) => {
          for (const change of tried) {
            trial.add([change]);
            expect(describePresence(trial)).toEqual(recountPresence(trial));
          }
        });
        expect(describePresence(fleet)).toEqual(before);
      }),
    );
  });
});
