// The fleet that scale-in is measured on: that of placements with instances on every host, and routers whose address translation
// is done by one host each. Hosts, instances and services are spread evenly, so that the first hosts have what any others have.
import { SERVICE, serviceId, type Service } from '../src/election/index.ts';
import { Fleet, type Id } from '../src/fleet/index.ts';
import { HOST, type Host } from '../src/hosts/index.ts';
import type { TextChange } from '../src/journal/index.ts';
import { newRegistry } from '../src/main/rooms.ts';
import { DEFAULT_PROJECT, NETWORK, ROUTER, TRANSPORT_ZONE, type Router } from '../src/network/index.ts';
import { placementFleet, subnetOfHost } from './placements/fleet.ts';
import { runningInstances } from './placements/instances.ts';
import { sampleHostId } from './sample-hosts.ts';

const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };
const OUTSIDE = 'outside';

export interface ScaleInFleet {
  readonly hosts: number;
  readonly instances: number;
  readonly services: number;
}

export const leavers = (count: number): string[] => Array.from({ length: count }, (_, nth) => sampleHostId(nth));

const doc = (kind: { readonly name: string }, id: string, body: object): TextChange => ({
  kind: kind.name,
  id,
  body: JSON.stringify(body),
});

export function* scaleInFleet({ hosts, instances, services }: ScaleInFleet): Generator<TextChange> {
  let nth = 0;
  for (const change of placementFleet(hosts)) {
    if (change.kind === HOST.name) yield doc(HOST, change.id, fitHost(JSON.parse(change.body ?? '') as Host, nth++));
    else yield change;
  }
  yield doc(TRANSPORT_ZONE, 'default', { name: 'default', mesh: 'needed', ...CHANGED });
  const network = { name: OUTSIDE, project: DEFAULT_PROJECT, backEnd: 'embedded', shared: true, external: true };
  yield doc(NETWORK, OUTSIDE, { ...network, portSecurity: false, ...CHANGED });
  yield* runningInstances(instances, hosts);
  for (let at = 0; at < services; at += 1) yield* serviceAt(at, at % hosts);
}

/** Named as its id, as hosts are that people join; with a switch that is known. */
function fitHost(host: Host, nth: number): Host {
  return { ...host, name: sampleHostId(nth), switch: { datapathId: (nth + 1).toString(16).padStart(16, '0') } };
}

function* serviceAt(nth: number, host: number): Generator<TextChange> {
  const name = `router-${nth}`;
  const subnets = [subnetOfHost(host)];
  const router: Router = { name, project: DEFAULT_PROJECT, subnets, externalNetwork: OUTSIDE, ...CHANGED };
  yield doc(ROUTER, name, router);
  const service: Service = {
    type: 'nat',
    subject: name,
    exclusion: 'soft',
    onControlLoss: 'move',
    epoch: 1,
    designated: { host: sampleHostId(host), sinceMs: CHANGED.changedAtMs },
    ...CHANGED,
  };
  yield doc(SERVICE, serviceId('nat', name), service);
}

/** The fleet in memory, with every index and projection of a server. */
export function loadedScaleInFleet(size: ScaleInFleet): Fleet {
  const fleet = new Fleet(newRegistry());
  for (const { kind, id, body } of scaleInFleet(size)) {
    fleet.load(kind, { id: id as Id<string>, revision: 1, doc: JSON.parse(body ?? '') as object });
  }
  fleet.loaded(1);
  return fleet;
}
