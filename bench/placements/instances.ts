// Instances that run, with their ports and claims, as a fleet has them whose builds are long done: their operations are gone.
import { CLAIM, DEFAULT_PROJECT, PORT, type Claim, type Port } from '../../src/network/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { encodeMac } from '../../src/network/addresses/mac.ts';
import type { TextChange } from '../../src/journal/index.ts';
import { sampleHostId, SAMPLE_SITE } from '../sample-hosts.ts';
import { FLAVOR_DOC, FLAVOR_NAME, NETWORK_NAME, SEGMENTS, segmentOfHost, subnetOfHost } from './fleet.ts';

const BUILT_AT_MS = Date.UTC(2025, 1, 1);
const { vcpus, memoryMiB, diskGiB } = FLAVOR_DOC;
const AMOUNTS = { vcpus, memoryMiB, diskGiB };
const CHANGED = { changedBy: 'operation:instance-build', changedAtMs: BUILT_AT_MS };

/** They lie on the hosts of `placementFleet`, as many on each. */
export function* runningInstances(count: number, hosts: number): Generator<TextChange> {
  for (let nth = 0; nth < count; nth += 1) {
    const name = `${FLAVOR_NAME}-01jk${String(nth).padStart(16, '0')}`;
    const port = `port-01jk${String(nth).padStart(16, '0')}`;
    const host = nth % hosts;
    yield { kind: INSTANCE.name, id: name, body: JSON.stringify(instance(name, port, host)) };
    yield { kind: PORT.name, id: port, body: JSON.stringify(portOf(name, nth, host)) };
    yield { kind: CLAIM.name, id: name, body: JSON.stringify(claim(name, host)) };
  }
}

function instance(name: string, port: string, host: number): Instance {
  const pools = [`segment:${segmentOfHost(host)}`];
  return {
    name,
    project: DEFAULT_PROJECT,
    flavor: FLAVOR_NAME,
    amounts: AMOUNTS,
    image: 'debian-13',
    place: { requiredTraits: [], forbiddenTraits: [] },
    state: 'active',
    host: sampleHostId(host),
    nics: [{ port, network: NETWORK_NAME }],
    path: { create: 'conductor', bind: 'conductor' },
    attempts: [{ nth: 1, host: sampleHostId(host), site: SAMPLE_SITE, pools, atMs: BUILT_AT_MS }],
    attemptsMax: 3,
    wasActive: true,
    createdBy: 'bench',
    createdAtMs: BUILT_AT_MS,
    ...CHANGED,
  };
}

function portOf(name: string, nth: number, host: number): Port {
  // The first three addresses of a subnet are reserved.
  const address = 3 + Math.floor(nth / SEGMENTS);
  const ip = `10.${host % SEGMENTS}.${address >>> 8}.${address & 255}`;
  return {
    network: NETWORK_NAME,
    project: DEFAULT_PROJECT,
    createdBy: 'muster',
    state: 'made',
    mac: encodeMac(nth + 1, 0),
    instance: name,
    nic: 0,
    ipAllocation: 'deferred',
    addresses: [{ ip, subnet: subnetOfHost(host), chosenBy: 'bind' }],
    binding: { host: sampleHostId(host), serial: 1, segment: segmentOfHost(host), type: 'ovs' },
    serial: 1,
    portSecurity: true,
    securityGroups: [],
    ...CHANGED,
  };
}

function claim(name: string, host: number): Claim {
  return { instance: name, role: 'home', host: sampleHostId(host), ...AMOUNTS, addresses: [], sinceMs: BUILT_AT_MS };
}
