// The fleet that scale-in is measured on: that of placements with instances on every host, and routers whose address translation
// is done by one host each. Hosts, instances and services are spread evenly, so that the first hosts have what any others have.
// A service has presence in a whole rack, or on as many hosts whatever the size of the fleet: then its instances have a second NIC.
import { SERVICE, serviceId, type Service } from '../src/election/index.ts';
import { Fleet, type Id } from '../src/fleet/index.ts';
import { HOST, type Host } from '../src/hosts/index.ts';
import type { TextChange } from '../src/journal/index.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { INSTANCE, type Instance } from '../src/instances/index.ts';
import { DEFAULT_PROJECT, NETWORK, PORT, ROUTER, SUBNET, TRANSPORT_ZONE, type Router } from '../src/network/index.ts';
import { encodeMac } from '../src/network/addresses/mac.ts';
import { placementFleet, subnetOfHost } from './placements/fleet.ts';
import { runningInstances } from './placements/instances.ts';
import { sampleHostId } from './sample-hosts.ts';

const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };
const OUTSIDE = 'outside';

export interface ScaleInFleet {
  readonly hosts: number;
  readonly instances: number;
  readonly services: number;
  /** `rack`: on a hundredth of the hosts. `few`: on as many hosts as it has instances. */
  readonly presence?: 'rack' | 'few';
}

/** The first hosts. */
export const leavers = (count: number): string[] => Array.from({ length: count }, (_, nth) => sampleHostId(nth));

/** As many from all over the fleet, one of each rack. */
export const scatteredLeavers = (count: number, hosts: number): string[] =>
  Array.from({ length: count }, (_, nth) => sampleHostId((nth * (hosts / count + 1)) % hosts));

const doc = (kind: { readonly name: string }, id: string, body: object): TextChange => ({
  kind: kind.name,
  id,
  body: JSON.stringify(body),
});

export function* scaleInFleet(size: ScaleInFleet): Generator<TextChange> {
  const { hosts, instances, services, presence = 'rack' } = size;
  let nth = 0;
  for (const change of placementFleet(hosts)) {
    if (change.kind === HOST.name) yield doc(HOST, change.id, fitHost(JSON.parse(change.body ?? '') as Host, nth++));
    else yield change;
  }
  yield doc(TRANSPORT_ZONE, 'default', { name: 'default', mesh: 'needed', ...CHANGED });
  const network = { name: OUTSIDE, project: DEFAULT_PROJECT, backEnd: 'embedded', shared: true, external: true };
  yield doc(NETWORK, OUTSIDE, { ...network, portSecurity: false, ...CHANGED });
  if (presence === 'few') {
    yield* withSecondNic(size);
    const each = instances / services;
    for (let at = 0; at < services; at += 1) {
      yield* serviceAt(at, { host: (at * each + (at % each)) % hosts, subnet: `service-${at}` });
    }
    return;
  }
  yield* runningInstances(instances, hosts);
  for (let at = 0; at < services; at += 1) {
    yield* serviceAt(at, { host: at % hosts, subnet: subnetOfHost(at % hosts) });
  }
}

/** Instances that follow each other are on hosts that do, and share the network of a service. */
function* withSecondNic({ hosts, instances, services }: ScaleInFleet): Generator<TextChange> {
  const each = instances / services;
  for (let at = 0; at < services; at += 1) {
    const name = `service-${at}`;
    yield doc(NETWORK, name, { ...PLAIN, name, ...CHANGED });
    const cidr = `100.${at >> 8}.${at & 255}.0/24`;
    const pools = [{ first: cidr.replace('0/24', '2'), last: cidr.replace('0/24', '254') }];
    const gateway = cidr.replace('0/24', '1');
    yield doc(SUBNET, name, { name, network: name, cidr, version: 4, gateway, pools, ...CHANGED });
  }
  let nth = 0;
  for (const change of runningInstances(instances, hosts)) {
    const body = JSON.parse(change.body ?? '') as object;
    if (change.kind === INSTANCE.name) {
      const at = Math.floor(nth / each);
      const [instance, name] = [body as Instance, `service-${at}`];
      const nics = [...instance.nics, { port: `second-${nth}`, network: name }];
      yield doc(INSTANCE, change.id, { ...instance, nics });
      const address = { ip: `100.${at >> 8}.${at & 255}.${10 + (nth % each)}`, subnet: name, chosenBy: 'create' };
      const binding = { host: instance.host, serial: 1, type: 'ovs' };
      const mac = encodeMac(1_000_000 + nth, 1);
      yield doc(PORT, `second-${nth}`, {
        ...SECOND,
        network: name,
        mac,
        instance: change.id,
        addresses: [address],
        binding,
      });
      nth += 1;
    } else yield change;
  }
}

const PLAIN = { project: DEFAULT_PROJECT, backEnd: 'embedded', shared: true, external: false, portSecurity: false };
const SECOND = {
  project: DEFAULT_PROJECT,
  createdBy: 'muster',
  state: 'made',
  nic: 1,
  ipAllocation: 'immediate',
  serial: 1,
  portSecurity: false,
  securityGroups: [],
  ...CHANGED,
};

/** Named as its id, as hosts are that people join; with a switch that is known. */
function fitHost(host: Host, nth: number): Host {
  return { ...host, name: sampleHostId(nth), switch: { datapathId: (nth + 1).toString(16).padStart(16, '0') } };
}

interface Served {
  readonly host: number;
  readonly subnet: string;
}

function* serviceAt(nth: number, { host, subnet }: Served): Generator<TextChange> {
  const name = `router-${nth}`;
  const subnets = [subnet];
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
  const fleet = new Fleet(PROGRAM.newRegistry());
  for (const { kind, id, body } of scaleInFleet(size)) {
    fleet.load(kind, { id: id as Id<string>, revision: 1, doc: JSON.parse(body ?? '') as object });
  }
  fleet.finishLoad(1);
  return fleet;
}
