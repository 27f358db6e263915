// With whom leaving hosts have tunnels, counted without looking at all hosts, compared with a count that does.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitHost, MODELS } from '../../election/election-fixture.ts';
import { Fleet, idOf, put, Registry, type Change } from '../../fleet/index.ts';
import { PORT, ROUTER, TRANSPORT_ZONE, type Port } from '../../network/index.ts';
import { network, port, subnet } from '../../network/network-fixture.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE } from '../../sites/index.ts';
import { relatedHosts } from '../view/related-hosts.ts';
import { runAllSteps } from '../../hosts/index.ts';
import { computeRemovalImpact } from './removal-impact.ts';

const CHANGED = { changedBy: 'test', changedAtMs: 0 };
const HOSTS = ['a', 'b', 'c', 'd', 'e', 'f'];
/** By subnet; a router joins one of each network. */
const NETWORKS: Readonly<Record<string, string>> = { 'n-1': 'n', 'n-2': 'n', 'm-1': 'm', 'o-1': 'o' };

function portOn(host: string, at: string): Change {
  const id = `${host}-${at}`;
  const { doc } = port(id, NETWORKS[at] ?? '');
  const addresses: Port['addresses'] = [{ ip: '10.0.0.9', subnet: at, chosenBy: 'bind' }];
  const binding = { host, serial: 1, type: 'ovs' };
  return put(PORT, idOf(PORT, id), { ...(doc as Port), addresses, binding, serial: 1 });
}

function fleetWith(ports: readonly Change[], far: readonly string[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  const subnets = Object.entries(NETWORKS).map(([id, of], at) => subnet(id, of, `10.${at}.0.0/16`));
  const router = { name: 'r', project: 'default', subnets: ['n-1', 'm-1'], ...CHANGED };
  fleet.apply(1, [
    put(SITE, idOf(SITE, 'central'), { name: 'central', ...CHANGED }),
    put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), { name: 'default', mesh: 'needed', ...CHANGED }),
    ...['n', 'm', 'o'].map((name) => network(name)),
    ...subnets,
    put(ROUTER, idOf(ROUTER, 'r'), router),
    ...HOSTS.map((name) => fitHost(name, far.includes(name) ? { transportZone: 'far' } : {})),
    ...new Map(ports.map((one) => [one.id, one])).values(),
  ]);
  return fleet;
}

const anyPort = fc
  .tuple(fc.constantFrom(...HOSTS), fc.constantFrom(...Object.keys(NETWORKS)))
  .map(([host, at]) => portOn(host, at));

test('tunnels-go-to-all-that-share-something-and-stay', () => {
  fc.assert(
    fc.property(
      fc.array(anyPort, { maxLength: 14 }),
      fc.subarray(HOSTS, { minLength: 1, maxLength: 3 }),
      fc.subarray(['f'], { maxLength: 1 }),
      (ports, leavers, far) => {
        const fleet = fleetWith(ports, far);
        for (const { host, tunnels, byPeer } of runAllSteps(computeRemovalImpact(fleet, leavers, 100))) {
          const isPeer = (one: string) => !leavers.includes(one) && !far.includes(one) && !far.includes(host);
          const expected = [...relatedHosts(fleet, host)].filter(isPeer).sort();
          expect([host, tunnels, byPeer.map((peer) => peer.host)]).toEqual([host, expected.length, expected]);
        }
      },
    ),
  );
});
