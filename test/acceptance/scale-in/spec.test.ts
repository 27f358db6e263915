// The specification of scale-in and scale-out, one test for each point, by the three remote procedures. No packets are sent here: the effect of a
// switch on them is read from its flows.
import { describe, expect, test } from 'vitest';
import { SERVICE } from '../../../src/election/index.ts';
import { identityForms } from '../../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import { crashEveryNthCommit } from './server-crashes-fixture.ts';
import { HttpApi } from './http-fixture.ts';
import {
  areJoined,
  expectSound,
  isWiped,
  isMarked,
  sendsTo,
  servers,
  traces,
  watchSwitches,
} from './switches-fixture.ts';
import { HOSTS, scaleInWorld, shapeOf, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const ROUTE = 'subnet-route:sub';
const DHCP = 'dhcp:sub';
const ALL = [NAT, ROUTE, DHCP];

interface Scene {
  readonly world: ScaleInAcceptanceWorld;
  readonly http: HttpApi;
}

/** An instance on each of these hosts, all in network n. The first host serves everything. */
async function scene(...hosts: readonly string[]): Promise<Scene> {
  const world = await scaleInWorld({ dhcp: true });
  const http = await HttpApi.start(world);
  for (const host of hosts) {
    await world.place(`on-${host}`, host);
    await world.settle();
  }
  return { world, http };
}

async function ask({ http }: Scene, verb: 'start' | 'end' | 'recover', ...hosts: readonly string[]): Promise<void> {
  expect(await http.rpc(verb, hosts)).toMatchObject({ status: 200 });
}

/** Removes hosts, with servers dying now and then. */
async function takeOut(of: Scene, everyNth: number | undefined, ...hosts: readonly string[]): Promise<void> {
  const { world } = of;
  const until = crashEveryNthCommit(world, everyNth);
  const are = (state: string) => (): boolean => world.states(...hosts).every((one) => one === state);
  await ask(of, 'start', ...hosts);
  await until('they are empty', are('drained'));
  for (const host of hosts) await world.agents.stop(host);
  await until('they are off', () => hosts.every((host) => world.host(host).connection.state === 'down'));
  await ask(of, 'end', ...hosts);
  await until('they are removed', are('removed'));
  await world.settle();
}

/** Once undisturbed, and once with servers that die repeatedly. */
function crashVariants(everyNth: number) {
  return [['no server dies', undefined] as const, [`servers die every ${everyNth} commits`, everyNth] as const];
}

/** What a switch does with packets to an instance there. */
function delivers(world: ScaleInAcceptanceWorld, host: string, instance: string): boolean {
  const mac = world.ports(instance)[0]?.mac ?? '';
  const { flows } = world.switchOf(host).contents;
  return flows.some(({ match, actions }) => match.includes(`dl_dst=${mac}`) && actions.startsWith('output:'));
}

describe('scale-out', () => {
  test('spec-scaled-out-instances-reach-those-on-the-same-and-on-other-hosts', async () => {
    const { world } = await scene('a', 'b');
    await world.hosts({ h: shapeOf('h') });
    await world.restart();
    await world.place('one', 'h');
    await world.place('two', 'h');
    await world.settle();
    for (const name of ['one', 'two']) expect(delivers(world, 'h', name)).toBe(true);
    for (const host of ['a', 'b']) {
      expect(areJoined(world, 'h', host)).toBe(true);
      expect(delivers(world, host, `on-${host}`)).toBe(true);
    }
    // Packets that leave the network do so at the designated host.
    expect(sendsTo(world, 'h')).toEqual(['a']);
    expectSound(world);
  });
});

describe('scale-in', () => {
  test.each(crashVariants(4))('spec-scaled-in-flows-are-removed-and-services-go-on (%s)', async (_, everyNth) => {
    const of = await scene('a', 'd', 'e');
    const { world } = of;
    const kept = ['on-d', 'on-e'].map((name) => world.addresses(name));
    // The staying hosts never lose a service.
    const watch = watchSwitches(world, ...ALL);
    await takeOut(of, everyNth, 'a', 'b');
    watch.stop();
    for (const host of HOSTS.slice(2))
      for (const removed of ['a', 'b']) expect(traces(world, host, removed)).toEqual([]);
    for (const service of ALL) expect(['d', 'e']).toContain(world.designatedHostOf(service));
    for (const host of ['d', 'e']) expect(delivers(world, host, `on-${host}`)).toBe(true);
    expect(['on-d', 'on-e'].map((name) => world.addresses(name))).toEqual(kept);
    expect(areJoined(world, 'd', 'e')).toBe(true);
    expectSound(world);
  });

  test('spec-scaled-in-hosts-are-in-no-inventory-and-no-topology', async () => {
    const of = await scene('a', 'd');
    const { world, http } = of;
    const ids = ['a', ...identityForms(world.host('a').switch)];
    const shown = async (): Promise<string> => {
      const topology = await http.get('/restconf/data/network-topology:network-topology');
      const inventory = await http.get('/restconf/data/opendaylight-inventory:nodes');
      return JSON.stringify([topology.body, inventory.body]);
    };
    const [, , inventoryId = '', systemId = '', topologyId = ''] = ids;
    for (const id of [inventoryId, systemId, topologyId]) expect(await shown()).toContain(id);
    await takeOut(of, 6, 'a');
    for (const id of [inventoryId, systemId, topologyId]) expect(await shown()).not.toContain(id);
    for (const id of ids) {
      const node = encodeURIComponent(id);
      const topology = '/restconf/data/network-topology:network-topology/topology=ovsdb%3A1/node=';
      expect((await http.get(`${topology}${node}`)).status).toBe(404);
      expect((await http.get(`/restconf/data/opendaylight-inventory:nodes/node=${node}`)).status).toBe(404);
    }
  });

  test.each(crashVariants(3))('spec-designated-host-leaves-and-its-services-go-on (%s)', async (_, everyNth) => {
    const of = await scene('a', 'd', 'e');
    const { world } = of;
    for (const service of ALL) expect(servers(world, service)).toEqual(['a']);
    expect(sendsTo(world, 'e')).toEqual(['a']);
    for (const host of ['d', 'e']) world.switchOf(host).faults.slowMs = 100;
    const watch = watchSwitches(world, ...ALL);
    await takeOut(of, everyNth, 'a');
    watch.stop();
    for (const service of ALL) {
      const host = world.designatedHostOf(service) ?? '';
      expect(world.designationHistoryOf(service)).toEqual(['none', 'a', host]);
      // The flows are changed, there and at the hosts that send to it.
      expect(servers(world, service).filter((one) => one !== 'a')).toEqual([host]);
    }
    const senders = ['d', 'e'].flatMap((host) => sendsTo(world, host).map((to) => `${host} ${to}`));
    expect(senders.length).toBeGreaterThan(0);
    expect(senders.filter((line) => line.endsWith('a'))).toEqual([]);
    expectSound(world);
  });
});

describe('new resources during a scale-in', () => {
  const LEAVERS = ['a', 'b', 'c'];

  /** A network with presence on the leaving hosts and on d, without a router yet. */
  async function ready(world: ScaleInAcceptanceWorld, nth: number): Promise<void> {
    await world.net(`m${nth}`);
    await world.subnet(`sub-m${nth}`, `m${nth}`, `10.${nth}.0.0/24`);
    for (const host of [...LEAVERS, 'd']) await world.place(`m${nth}-${host}`, host, `m${nth}`);
  }

  test('spec-new-nat-and-subnet-routes-are-not-given-to-leaving-hosts', async () => {
    const of = await scene('a', 'd');
    const { world } = of;
    for (const nth of [1, 2, 3, 4]) await ready(world, nth);
    const create = (nth: number): Promise<void> => world.router(`late${nth}`, [`sub-m${nth}`]);
    await ask(of, 'start', ...LEAVERS);
    await create(1);
    await world.until('services are handed over', () => world.service(NAT).handover !== undefined);
    await create(2);
    await world.restart();
    await world.until('instances move', () =>
      world.documentVersions.some(
        ({ kind, doc }) => kind === INSTANCE.name && (doc as Instance | undefined)?.state === 'moving',
      ),
    );
    await create(3);
    await world.untilState('drained', ...LEAVERS);
    await create(4);
    await world.restart();
    await world.settle();
    for (const nth of [1, 2, 3, 4]) {
      for (const service of [`nat:late${nth}`, `subnet-route:sub-m${nth}`]) {
        expect(world.designationHistoryOf(service).filter((host) => LEAVERS.includes(host))).toEqual([]);
        expect(world.designatedHostOf(service)).toBeDefined();
        expect(servers(world, service)).toEqual([world.designatedHostOf(service)]);
      }
    }
    expectSound(world);
  });
});

describe('recovery', () => {
  test.each(crashVariants(2))('spec-recovered-host-gets-its-flows (%s)', async (_, everyNth) => {
    // The standby of d's services is e, before and after.
    const of = await scene('d', 'e', 'a');
    const { world } = of;
    const before = world.switchOf('a').contents;
    const until = crashEveryNthCommit(world, everyNth);
    // Its instance cannot leave, and its peers forget nothing of it.
    world.agents
      .hypervisorOf('a')
      ?.arm({ task: 'migrate', times: 1000, problem: 'too busy', fault: 'migration-failed' });
    await ask(of, 'start', 'a', 'b');
    await until('it is marked', () => isMarked(world, 'a') && isMarked(world, 'b'));
    await until('b is empty', () => world.states('b')[0] === 'drained');
    // An operator wipes its switch meanwhile.
    world.switchOf('a').reset();
    await ask(of, 'recover', 'a', 'b');
    await until('they are back', () => world.states('a', 'b').every((state) => state === 'active'));
    await world.settle();
    expect(world.switchOf('a').contents).toEqual(before);
    for (const host of HOSTS) if (host !== 'a') expect(areJoined(world, 'a', host)).toBe(true);
    expect(delivers(world, 'a', 'on-a')).toBe(true);
    expect(sendsTo(world, 'a')).toEqual(['d']);
    expectSound(world);
  });
});

describe('a host that is designated, and the only one with presence', () => {
  test.each(crashVariants(4))('spec-sole-designated-host-leaves-and-nothing-of-it-stays (%s)', async (_, everyNth) => {
    const of = await scene('a');
    const { world } = of;
    for (const service of ALL) expect(world.designatedHostOf(service)).toBe('a');
    await world.remove('on-a');
    // The last port is removed while the host leaves.
    await takeOut(of, everyNth, 'a');
    for (const { doc } of world.all(SERVICE)) expect(doc).not.toHaveProperty('designated');
    for (const host of HOSTS.slice(1)) {
      expect(traces(world, host, 'a')).toEqual([]);
      expect(world.switchOf(host).contents.groups).toEqual([]);
    }
    // Only its history, its revoked credentials, and the reasons of designations name it.
    const rows = [...world.fleet.registry.kinds.values()].flatMap((kind) =>
      [...world.fleet.all(kind)].flatMap(({ id, doc }) =>
        JSON.stringify({ ...doc, why: undefined }).includes('"host":"a"') ? [`${kind.name} ${id}`] : [],
      ),
    );
    expect(rows.filter((row) => !/^(operation|item|token) /.test(row))).toEqual([]);
    expect(world.host('a')).toMatchObject({ state: 'removed', switch: world.switchOf('a').currentIdentity });
    // Should it come back, it is wiped before anything else.
    await world.hosts({ a: shapeOf('a') });
    await world.settle();
    for (const service of ALL) expect(servers(world, service)).toEqual([]);
    expect(isWiped(world, 'a')).toBe(false);
    expectSound(world);
  });

  test.each(crashVariants(2))('spec-sole-designated-host-recovers-with-everything (%s)', async (_, everyNth) => {
    const of = await scene('a');
    const { world } = of;
    const before = new Map(HOSTS.map((host) => [host, world.switchOf(host).contents]));
    const services = world.all(SERVICE).map(({ id, doc }) => [id, doc.designated, doc.epoch]);
    const until = crashEveryNthCommit(world, everyNth);
    world.agents
      .hypervisorOf('a')
      ?.arm({ task: 'migrate', times: 1000, problem: 'too busy', fault: 'migration-failed' });
    const watch = watchSwitches(world, ...ALL);
    await ask(of, 'start', 'a');
    await until('it is marked', () => isMarked(world, 'a'));
    await until('services are degraded', () =>
      ALL.every((service) => world.service(service).designated?.degraded === true),
    );
    await ask(of, 'recover', 'a');
    await until('it is back', () => world.states('a')[0] === 'active');
    await world.settle();
    watch.stop();
    expect(world.all(SERVICE).map(({ id, doc }) => [id, doc.designated, doc.epoch])).toEqual(services);
    for (const host of HOSTS) expect(world.switchOf(host).contents).toEqual(before.get(host));
    expect(world.host('a')).not.toHaveProperty('leaving');
    expectSound(world);
  });
});
