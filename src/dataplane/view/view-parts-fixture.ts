// A small fleet for tests of what hosts are shown of the data plane.
import { electionModel, SERVICE, serviceId, type Service } from '../../election/index.ts';
import { anyWhy } from '../../election/why-fixture.ts';
import { Fleet, idOf, put, Registry, SETTING, type Change } from '../../fleet/index.ts';
import { buildPart, HOST, hostsModel, type Host } from '../../hosts/index.ts';
import { networkModel, ROUTER, TRANSPORT_ZONE, TUNNEL_KEY, type Router } from '../../network/index.ts';
import { host as plainHost, network, port as plainPort, segment, subnet } from '../../network/network-fixture.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { peersPart } from './peers-part.ts';
import { servicesPart } from './services-part.ts';
import type { PeerView, ServiceView } from './dataplane-view.ts';

export const CHANGED = { changedBy: 'test', changedAtMs: 0 };
export const HOSTS = ['c1', 'c2', 'c3', 'c4'];

export function newFleet(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(
    new Registry([
      { kinds: [SETTING] },
      sitesModel,
      operationsModel,
      hostsModel,
      { ...networkModel, invariants: [] },
      electionModel,
    ]),
  );
  fleet.apply(1, [put(SITE, idOf(SITE, 'central'), { name: 'central', ...CHANGED })]);
  fleet.apply(2, changes);
  return fleet;
}

export function host(name: string, facts: Partial<Host> = {}): Change {
  const doc = plainHost(name).doc as Host;
  const tunnelAddress = `172.16.0.${name.slice(1)}`;
  return put(HOST, idOf(HOST, name), { ...doc, tunnelAddress, switch: { datapathId: '00000000000000a1' }, ...facts });
}

export function zone(name: string, mesh: 'full' | 'needed'): Change {
  return put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, name), { name, mesh, ...CHANGED });
}

export function portOn(id: string, at: string | undefined, of: string): Change {
  const addresses = [{ ip: `10.0.${of.length}.${id.length}`, subnet: `${of}-v4`, chosenBy: 'create' as const }];
  const binding = at === undefined ? {} : { binding: { host: at, serial: 1, type: 'x' } };
  return plainPort(id, of, { addresses, serial: 1, ...binding });
}

export function router(name: string, subnets: readonly string[], ip = '198.51.100.7'): Change {
  const doc: Router = {
    name,
    project: 'default',
    subnets: [...subnets],
    externalNetwork: 'ext',
    nat: { port: 'p', ip },
    ...CHANGED,
  };
  return put(ROUTER, idOf(ROUTER, name), doc);
}

export function service(type: Service['type'], subject: string, facts: Partial<Service> = {}): Change {
  const doc: Service = { type, subject, exclusion: 'soft', onControlLoss: 'move', epoch: 1, ...CHANGED, ...facts };
  return put(SERVICE, serviceId(type, subject), doc);
}

export const designatedAt = (name: string): Pick<Service, 'designated'> => ({ designated: { host: name, sinceMs: 0 } });
export const handoverState = (
  from: string,
  to: string,
  phase: NonNullable<Service['handover']>['phase'],
): Pick<Service, 'handover'> => ({
  handover: { operation: 'op', from, to, phase, sinceMs: 0, why: anyWhy('host-leaving') },
});

export const blue = [network('blue'), subnet('blue-v4', 'blue', '10.0.4.0/24')];
export const red = [network('red'), subnet('red-v4', 'red', '10.0.3.0/24')];

/** A routed network: each segment is a domain of its own. */
export const green = [
  network('green'),
  ...['g1', 'g2'].flatMap((name, nth) => [
    segment(name, 'green'),
    subnet(`${name}-v4`, 'green', `10.0.${8 + nth}.0/24`, { segment: name }),
  ]),
];

/** One with a long name has no address. */
export function portInSegment(id: string, where: string, of: string): Change {
  const address = { ip: `10.0.8.${id.length}`, subnet: `${of}-v4`, chosenBy: 'create' as const };
  const addresses = id.length > 4 ? [] : [address];
  return plainPort(id, 'green', { addresses, serial: 1, binding: { host: where, serial: 1, type: 'x', segment: of } });
}

export const keys = [
  key(100, 'network', 'blue'),
  key(101, 'network', 'red'),
  key(102, 'segment', 'g1'),
  key(103, 'segment', 'g2'),
  key(200, 'router', 'edge'),
];

function key(number: number, kind: 'network' | 'segment' | 'router', id: string): Change {
  return put(TUNNEL_KEY, idOf(TUNNEL_KEY, String(number)), { for: kind, id });
}

export function peers(fleet: Fleet, name: string): string[] {
  return (buildPart(peersPart, fleet, name) as readonly PeerView[]).map((peer) => peer.host);
}

export function services(fleet: Fleet, name: string): readonly ServiceView[] {
  return servicesPart.build(fleet, name) as readonly ServiceView[];
}
