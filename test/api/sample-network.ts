// A network with everything on it and an instance that is connected to it, in site central: for suites that call every
// route on something that is there. Each of them is used by another, so that none of them can be deleted.
import { SERVICE } from '../../src/election/index.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { DEFAULT_TRANSPORT_ZONE } from '../../src/hosts/index.ts';
import { FLAVOR, GROUP, INSTANCE } from '../../src/instances/index.ts';
import {
  CLAIM,
  claimId,
  FLOATING_ADDRESS,
  NETWORK,
  PORT,
  QUOTA,
  ROUTER,
  SEGMENT,
  SUBNET,
  TRANSPORT_ZONE,
  type Port,
} from '../../src/network/index.ts';

/** What is named in the paths of routes, by their folder. */
export const SAMPLE_NETWORK: Readonly<Record<string, string>> = {
  networks: 'lan',
  segments: 'rack',
  subnets: 'rack-v4',
  ports: 'port-1',
  quotas: 'default',
  routers: 'edge',
  services: 'nat:edge',
  'floating-addresses': 'floating-1',
  'transport-zones': DEFAULT_TRANSPORT_ZONE,
  flavors: 'small',
  groups: 'web',
  instances: 'vm-1',
};

const CHANGED = { changedBy: 'test', changedAtMs: 1 };
const AMOUNTS = { vcpus: 1, memoryMiB: 64, diskGiB: 1 };
const HOST = 'central-0';

export function sampleNetwork(): Change[] {
  const of = { network: 'lan', project: 'default' };
  return [
    put(NETWORK, idOf(NETWORK, 'lan'), {
      name: 'lan',
      project: 'default',
      backEnd: 'embedded',
      shared: false,
      external: false,
      portSecurity: true,
      ...CHANGED,
    }),
    put(SEGMENT, idOf(SEGMENT, 'rack'), { name: 'rack', network: 'lan', type: 'flat', dynamic: false, ...CHANGED }),
    put(SUBNET, idOf(SUBNET, 'rack-v4'), {
      name: 'rack-v4',
      network: 'lan',
      segment: 'rack',
      cidr: '10.0.0.0/24',
      version: 4,
      gateway: '10.0.0.1',
      pools: [{ first: '10.0.0.2', last: '10.0.0.250' }],
      ...CHANGED,
    }),
    put(PORT, idOf(PORT, 'port-1'), {
      ...of,
      createdBy: 'muster',
      state: 'made',
      mac: 'fa:16:3e:00:00:01',
      instance: 'vm-1',
      nic: 0,
      ipAllocation: 'deferred',
      addresses: [{ ip: '10.0.0.2', subnet: 'rack-v4', chosenBy: 'bind' }],
      binding: { host: HOST, serial: 1, segment: 'rack', type: 'ovs' },
      serial: 1,
      portSecurity: true,
      securityGroups: [],
      ...CHANGED,
    }),
    put(QUOTA, idOf(QUOTA, 'default'), { project: 'default', instances: 100, ...CHANGED }),
    ...externalNetwork(),
    ...vm(),
  ];
}

/** A router in front of the subnet, and an address outside that leads to the instance through it. */
function externalNetwork(): Change[] {
  const network = 'uplink';
  return [
    put(NETWORK, idOf(NETWORK, network), {
      name: network,
      project: 'default',
      backEnd: 'embedded',
      shared: false,
      external: true,
      portSecurity: false,
      ...CHANGED,
    }),
    put(SUBNET, idOf(SUBNET, 'uplink-v4'), {
      name: 'uplink-v4',
      network,
      cidr: '203.0.113.0/24',
      version: 4,
      pools: [{ first: '203.0.113.2', last: '203.0.113.250' }],
      ...CHANGED,
    }),
    usedPort('port-nat', '203.0.113.2', { kind: 'router', id: 'edge' }),
    usedPort('port-floating', '203.0.113.3', { kind: 'floating-address', id: 'floating-1' }),
    put(ROUTER, idOf(ROUTER, 'edge'), {
      name: 'edge',
      project: 'default',
      subnets: ['rack-v4'],
      externalNetwork: network,
      nat: { port: 'port-nat', ip: '203.0.113.2' },
      ...CHANGED,
    }),
    put(SERVICE, idOf(SERVICE, 'nat:edge'), {
      type: 'nat',
      subject: 'edge',
      exclusion: 'soft',
      onControlLoss: 'move',
      epoch: 1,
      designated: { host: HOST, sinceMs: 1 },
      why: {
        cause: 'first-election',
        chosen: HOST,
        candidates: [{ host: HOST, score: 0 }],
        candidatesInAll: 1,
        rejected: [],
        rejectedInAll: 0,
        atMs: 1,
      },
      ...CHANGED,
    }),
    put(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'floating-1'), {
      project: 'default',
      network,
      outside: { port: 'port-floating', ip: '203.0.113.3' },
      inside: { port: 'port-1', ip: '10.0.0.2', router: 'edge' },
      ...CHANGED,
    }),
    put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, DEFAULT_TRANSPORT_ZONE), {
      name: DEFAULT_TRANSPORT_ZONE,
      mesh: 'full',
      ...CHANGED,
    }),
  ];
}

function usedPort(id: string, ip: string, usedBy: NonNullable<Port['usedBy']>): Change {
  return put(PORT, idOf(PORT, id), {
    network: 'uplink',
    project: 'default',
    createdBy: 'muster',
    state: 'made',
    mac: `fa:16:3e:00:01:0${ip.slice(-1)}`,
    usedBy,
    ipAllocation: 'immediate',
    addresses: [{ ip, subnet: 'uplink-v4', chosenBy: 'create' }],
    serial: 0,
    portSecurity: false,
    securityGroups: [],
    ...CHANGED,
  });
}

function vm(): Change[] {
  return [
    put(FLAVOR, idOf(FLAVOR, 'small'), {
      name: 'small',
      ...AMOUNTS,
      requiredTraits: [],
      forbiddenTraits: [],
      ...CHANGED,
    }),
    put(GROUP, idOf(GROUP, 'web'), { name: 'web', project: 'default', policy: 'soft-anti-affinity', ...CHANGED }),
    put(INSTANCE, idOf(INSTANCE, 'vm-1'), {
      name: 'vm-1',
      project: 'default',
      flavor: 'small',
      amounts: AMOUNTS,
      place: { site: 'central', group: 'web' },
      state: 'active',
      host: HOST,
      nics: [{ port: 'port-1', network: 'lan' }],
      path: { create: 'conductor', bind: 'conductor' },
      attempts: [],
      attemptsMax: 3,
      wasActive: true,
      createdBy: 'test',
      createdAtMs: 1,
      ...CHANGED,
    }),
    put(CLAIM, claimId('vm-1', 'home'), {
      instance: 'vm-1',
      role: 'home',
      host: HOST,
      ...AMOUNTS,
      group: 'web',
      addresses: [],
      sinceMs: 1,
    }),
  ];
}
