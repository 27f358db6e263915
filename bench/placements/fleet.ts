// The fleet that placements are made on: hosts in a hundred racks, each rack a segment of one routed network with a subnet
// of its own, all of them up and of the newest version. Hosts and subnets are large, so that nothing runs out in a run.
import {
  DEFAULT_PROJECT,
  NETWORK,
  SEGMENT,
  SUBNET,
  type Network,
  type Segment,
  type Subnet,
} from '../../src/network/index.ts';
import { SETTING } from '../../src/fleet/index.ts';
import { CURRENT_SERVICE_VERSION, HOST, LIVENESS, type Host } from '../../src/hosts/index.ts';
import { FLAVOR, type Flavor } from '../../src/instances/index.ts';
import type { TextChange } from '../../src/journal/index.ts';
import { SITE, type Site } from '../../src/sites/index.ts';
import { sampleHost, sampleHostId, SAMPLE_SITE } from '../sample-hosts.ts';
import { clientTokens } from '../seeded-store.ts';

export const SEGMENTS = 100;
const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };

export const NETWORK_NAME = 'tenants';
export const FLAVOR_NAME = 'small';
/** What a client requests: one NIC on the routed network, anywhere. */
export const REQUEST = { flavor: FLAVOR_NAME, image: 'debian-13', networks: [{ network: NETWORK_NAME }] };

export const FLAVOR_DOC: Flavor = {
  name: FLAVOR_NAME,
  vcpus: 1,
  memoryMiB: 512,
  diskGiB: 2,
  requiredTraits: [],
  forbiddenTraits: [],
  ...CHANGED,
};

const NETWORK_DOC: Network = {
  name: NETWORK_NAME,
  project: DEFAULT_PROJECT,
  backEnd: 'embedded',
  shared: false,
  external: false,
  portSecurity: true,
  ...CHANGED,
};

/** There are no heartbeats: without this the whole fleet would be suspect after a quarter of a minute. */
const PATIENT = { ...LIVENESS.defaultValue, suspectAfterMs: 3_600_000, downAfterMs: 86_400_000 };

export const segmentOfHost = (nth: number): string => `rack-${nth % SEGMENTS}`;
export const subnetOfHost = (nth: number): string => `rack-${nth % SEGMENTS}-v4`;

function segment(nth: number): Segment {
  const name = `rack-${nth}`;
  return {
    name,
    network: NETWORK_NAME,
    type: 'vlan',
    physicalNetwork: name,
    segmentationId: 100,
    dynamic: false,
    ...CHANGED,
  };
}

function subnet(nth: number): Subnet {
  return {
    name: `rack-${nth}-v4`,
    network: NETWORK_NAME,
    segment: `rack-${nth}`,
    cidr: `10.${nth}.0.0/16`,
    version: 4,
    gateway: `10.${nth}.0.1`,
    pools: [{ first: `10.${nth}.0.2`, last: `10.${nth}.255.254` }],
    ...CHANGED,
  };
}

/** A rack lies in one zone. */
function placementHost(nth: number): Host {
  return {
    ...sampleHost(nth),
    zone: `zone-${(nth % SEGMENTS) % 3}`,
    capacity: {
      vcpus: 256 << (nth % 2),
      memoryMiB: 1_048_576 << (nth % 2),
      diskGiB: 20_000,
      ratios: { vcpus: 4, memory: 1, disk: 1.5 },
    },
    physicalNetworks: [segmentOfHost(nth)],
    serviceVersion: CURRENT_SERVICE_VERSION,
  };
}

/** Every document of such a fleet, with tokens for clients. */
export function* placementFleet(hosts: number, clients = 0): Generator<TextChange> {
  const doc = (kind: { readonly name: string }, id: string, body: object): TextChange => ({
    kind: kind.name,
    id,
    body: JSON.stringify(body),
  });
  const site: Site = { name: SAMPLE_SITE, ...CHANGED };
  yield doc(SITE, SAMPLE_SITE, site);
  yield doc(SETTING, LIVENESS.name, { value: PATIENT, ...CHANGED });
  yield doc(FLAVOR, FLAVOR_NAME, FLAVOR_DOC);
  yield doc(NETWORK, NETWORK_NAME, NETWORK_DOC);
  for (let nth = 0; nth < SEGMENTS; nth += 1) {
    yield doc(SEGMENT, `rack-${nth}`, segment(nth));
    yield doc(SUBNET, `rack-${nth}-v4`, subnet(nth));
  }
  yield* clientTokens(clients);
  for (let nth = 0; nth < hosts; nth += 1) yield doc(HOST, sampleHostId(nth), placementHost(nth));
}
