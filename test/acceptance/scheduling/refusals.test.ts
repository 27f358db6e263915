// Every error in a request for instances has a code of its own, a sentence that says what to do, and changes nothing.
import { describe, expect, test } from 'vitest';
import { idOf, put, type Refusal } from '../../../src/fleet/index.ts';
import type { CreateInstances } from '../../../src/instances/index.ts';
import { PORT, QUOTA, type Quota } from '../../../src/network/index.ts';
import { startConnectedWorld, expectSentence } from './refusal-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

type Case = readonly [
  name: string,
  wanted: Partial<CreateInstances>,
  refusal: Partial<Refusal>,
  prepare?: (world: AcceptanceWorld) => Promise<void>,
];

async function quota(world: AcceptanceWorld, limits: Partial<Quota>): Promise<void> {
  const doc = { project: 'default', changedBy: 'ann', changedAtMs: 0, ...limits };
  await world.put(put(QUOTA, idOf(QUOTA, 'default'), doc));
}

async function attached(world: AcceptanceWorld): Promise<void> {
  await world.put(put(PORT, idOf(PORT, 'mine'), { ...world.port('mine'), instance: 'other', nic: 0 }));
}

const ofOthers = async (world: AcceptanceWorld): Promise<void> => world.userPort('theirs', 'n', { project: 'others' });
const two = { count: 2, minCount: 2 };

const CASES: readonly Case[] = [
  [
    'a port and an address',
    { networks: [{ port: 'mine', fixedIp: '10.0.0.9' }] },
    { kind: 'invalid', code: 'port-and-fixed-ip', field: '/networks/0/fixedIp' },
  ],
  [
    'the same port twice',
    { networks: [{ port: 'mine' }, { port: 'mine' }] },
    { kind: 'invalid', code: 'port-twice', field: '/networks/1/port' },
  ],
  [
    'several instances with one port',
    { ...two, networks: [{ port: 'mine' }] },
    { kind: 'invalid', code: 'count-with-port', field: '/networks/0/port' },
  ],
  [
    'several instances with one address',
    { ...two, networks: [{ network: 'n', fixedIp: '10.0.0.9' }] },
    { kind: 'invalid', code: 'count-with-fixed-ip', field: '/networks/0/fixedIp' },
  ],
  [
    'a network and a port',
    { networks: [{ network: 'n', port: 'mine' }] },
    { kind: 'invalid', code: 'network-and-port', field: '/networks/0' },
  ],
  [
    'neither network nor port',
    { networks: [{}] },
    { kind: 'invalid', code: 'network-or-port-required', field: '/networks/0' },
  ],
  [
    'a tag twice',
    {
      networks: [
        { network: 'n', tag: 'a' },
        { network: 'n', tag: 'a' },
      ],
    },
    { kind: 'invalid', code: 'tag-twice', field: '/networks/1/tag' },
  ],
  ['auto with a choice', { networks: 'auto' }, { kind: 'conflict', code: 'auto-ambiguous', field: '/networks' }],
  [
    'a port that another instance has',
    { networks: [{ port: 'mine' }] },
    { kind: 'conflict', code: 'port-in-use', field: '/networks/0/port' },
    attached,
  ],
  [
    'an address that is in use',
    { networks: [{ network: 'n', fixedIp: '10.0.0.9' }] },
    { kind: 'conflict', code: 'address-in-use', field: '/networks/0/fixedIp' },
    (world) => world.userPort('holder', 'n', { fixedIps: [{ ip: '10.0.0.9' }] }),
  ],
  [
    "the gateway's address",
    { networks: [{ network: 'n', fixedIp: '10.0.0.1' }] },
    { kind: 'conflict', code: 'address-in-use', field: '/networks/0/fixedIp' },
  ],
  [
    'an address twice',
    {
      networks: [
        { network: 'n', fixedIp: '10.0.0.9' },
        { network: 'n', fixedIp: '10.0.0.9' },
      ],
    },
    { kind: 'invalid', code: 'address-twice', field: '/networks/1/fixedIp' },
  ],
  [
    'an address outside of the network',
    { networks: [{ network: 'n', fixedIp: '192.168.7.7' }] },
    { kind: 'invalid', code: 'address-outside-subnet', field: '/networks/0/fixedIp' },
  ],
  [
    'a broadcast address',
    { networks: [{ network: 'n', fixedIp: '10.0.0.255' }] },
    { kind: 'invalid', code: 'address-reserved', field: '/networks/0/fixedIp' },
  ],
  [
    'a port of another project',
    { networks: [{ port: 'theirs' }] },
    { kind: 'forbidden', code: 'port-of-other-project', field: '/networks/0/port' },
    ofOthers,
  ],
  [
    'an external network',
    { admin: false, networks: [{ network: 'out' }] },
    { kind: 'forbidden', code: 'network-not-allowed', field: '/networks/0/network' },
    (world) => world.net('out', { external: true }),
  ],
  [
    'a network of another project',
    { admin: false, networks: [{ network: 'theirs' }] },
    { kind: 'forbidden', code: 'network-not-allowed', field: '/networks/0/network' },
    (world) => world.net('theirs', { project: 'others' }),
  ],
  [
    'a port without its address',
    { networks: [{ port: 'mine' }] },
    { kind: 'invalid', code: 'port-without-address', field: '/networks/0/port' },
    (world) => world.put(put(PORT, idOf(PORT, 'mine'), { ...world.port('mine'), ipAllocation: 'immediate' })),
  ],
  [
    'a port that is being deleted',
    { networks: [{ port: 'mine' }] },
    { kind: 'conflict', code: 'port-releasing', field: '/networks/0/port' },
    (world) => world.put(put(PORT, idOf(PORT, 'mine'), { ...world.port('mine'), state: 'releasing' })),
  ],
  [
    'a network without subnet',
    { networks: [{ network: 'bare' }] },
    { kind: 'invalid', code: 'network-without-subnet', field: '/networks/0/network' },
    (world) => world.net('bare'),
  ],
  [
    'security groups without port security',
    { networks: [{ network: 'open' }], securityGroups: ['web'] },
    { kind: 'invalid', code: 'security-groups-without-port-security', field: '/networks/0/network' },
    async (world) => {
      await world.net('open', { portSecurity: false });
      await world.subnet('subo', 'open', '10.5.0.0/24');
    },
  ],
  [
    'a port with the name of another',
    { networks: [{ port: 'named' }] },
    { kind: 'invalid', code: 'dns-name-mismatch', field: '/networks/0/port' },
    (world) => world.userPort('named', 'n', { dnsName: 'db' }),
  ],
  [
    'an unknown network',
    { networks: [{ network: 'nowhere' }] },
    { kind: 'invalid', code: 'unknown-network', field: '/networks/0/network' },
  ],
  [
    'an unknown port',
    { networks: [{ port: 'nothing' }] },
    { kind: 'invalid', code: 'unknown-port', field: '/networks/0/port' },
  ],
  ['an unknown flavor', { flavor: 'none' }, { code: 'unknown-flavor', field: '/flavor' }],
  ['an unknown group', { place: { group: 'none' } }, { code: 'unknown-group', field: '/group' }],
  ['an unknown site', { place: { site: 'none' } }, { code: 'unknown-site', field: '/site' }],
  ['an unknown host', { place: { onlyHost: 'none' } }, { code: 'unknown-host', field: '/host' }],
  [
    'a group of another project',
    { place: { group: 'theirs' } },
    { kind: 'forbidden', code: 'group-of-other-project', field: '/group' },
    (world) => world.group('theirs', 'affinity', 'others'),
  ],
  [
    'a name that is taken',
    {},
    { kind: 'conflict', code: 'name-taken', field: '/name' },
    async (world) => void (await world.create()),
  ],
  [
    'an exhausted plain network',
    { networks: [{ network: 'p' }] },
    { kind: 'conflict', code: 'addresses-exhausted' },
    async (world) => {
      await world.userPort('a', 'p');
      await world.userPort('b', 'p');
    },
  ],
  ['more instances than can be placed', two, { kind: 'conflict', code: 'no-valid-host' }],
  ['a quota of instances', {}, { kind: 'conflict', code: 'quota-exceeded' }, (world) => quota(world, { instances: 0 })],
  ['a quota of vcpus', two, { kind: 'conflict', code: 'quota-exceeded' }, (world) => quota(world, { vcpus: 1 })],
  ['a quota of memory', {}, { kind: 'conflict', code: 'quota-exceeded' }, (world) => quota(world, { memoryMiB: 511 })],
  [
    'a quota of ports',
    { networks: [{ network: 'n' }, { port: 'mine' }] },
    { kind: 'conflict', code: 'quota-exceeded' },
    (world) => quota(world, { ports: 1 }),
  ],
];

describe('a request for instances is refused, and nothing changes', () => {
  const cases = CASES.map(([name, wanted, refusal, prepare]) => ({ name, wanted, refusal, prepare }));
  test.each(cases)('$name', async ({ wanted, refusal, prepare }) => {
    const world = await startConnectedWorld();
    // Ports are created early only where hosts support that; without one of them the old path refuses less at once.
    await world.hosts({ h1: {} });
    await prepare?.(world);
    await world.settle();
    const said = await world.createRefused(wanted);
    expect(said).toMatchObject(refusal);
    expectSentence(said);
  });
});
