// A move, a rebuild or a shelve, disturbed at any point: by a server that dies, by a delete, by a host that fails. The instance is at one host with its
// ports and addresses, or deleted with everything that it had.
import { describe, expect, test } from 'vitest';
import { forceDownHost, HOST } from '../../../src/hosts/index.ts';
import { degradedPorts } from '../../../src/instances/index.ts';
import { CLAIM, PORT } from '../../../src/network/index.ts';
import {
  disturbAtEachPoint,
  expectNothingLeft,
  pointsOf,
  type BuildVariant,
  type DisturbedWork,
} from '../disturbance-fixture.ts';
import { BOTH, startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

const OLD = Object.fromEntries(['h1', 'h2', 'h3', 'h4', 'h5'].map((name) => [name, { version: 1 }]));

const MOVE_VARIANTS: readonly BuildVariant[] = [
  { name: 'embedded', fixture: {}, ends: 'active' },
  { name: 'embedded on the old path', fixture: { hosts: OLD }, ends: 'active' },
  { name: 'simulated', fixture: { backEnd: 'simulated' }, ends: 'active' },
  { name: 'simulated on the old path', fixture: { backEnd: 'simulated', hosts: OLD }, ends: 'active' },
];

function expectAt(world: AcceptanceWorld, name: string, host: string | undefined): void {
  const instance = world.instance(name);
  expect(instance).toMatchObject({ state: 'active', host });
  expect(world.copies(name)).toEqual([host]);
  expect(world.claim(name)?.host).toBe(host);
  expect(world.claim(name)?.addresses).toEqual([]);
  expect(world.claim(name, 'move')).toBeUndefined();
  for (const [nic, { binding, addresses }] of world.ports(name).entries()) {
    expect(binding?.host).toBe(host);
    expect(addresses).toHaveLength(1);
    const id = instance.nics[nic]?.port ?? '';
    const there = world.network.port(id);
    if (there === undefined) continue;
    expect(there.binding?.host).toBe(host);
    expect(there.addresses.map(({ ip }) => ip)).toEqual(addresses.map(({ ip }) => ip));
  }
}

async function forceDown(world: AcceptanceWorld, id: string): Promise<void> {
  await world.commit((fleet) => forceDownHost(fleet, { id, reason: 'off', by: 'ann', nowMs: world.nowMs }));
}

/** Its host is certainly off, whichever it was. */
async function hostDies(world: AcceptanceWorld, name: string): Promise<void> {
  const { host = '' } = world.instance(name);
  await world.agents.stop(host);
  await forceDown(world, host);
}

const WORKS: readonly DisturbedWork[] = [
  { name: 'a live move', begin: (world, name) => world.move(name) },
  { name: 'a cold move', begin: (world, name) => world.move(name, { kind: 'cold' }) },
  { name: 'a rebuild', prepare: hostDies, begin: (world, name) => world.rebuild(name) },
  { name: 'shelving', begin: (world, name) => world.shelve(name) },
  {
    name: 'unshelving',
    prepare: async (world, name) => {
      await world.shelve(name);
      await world.settle();
    },
    begin: (world, name) => world.unshelve(name),
  },
];

/** The differences where hosts bind by themselves. */
function worksOf({ fixture }: BuildVariant): readonly DisturbedWork[] {
  return fixture.hosts === undefined
    ? WORKS
    : WORKS.filter(({ name }) => name === 'a live move' || name === 'a rebuild');
}

/** Hosts that were off are back, and swept. */
async function allBack(world: AcceptanceWorld): Promise<void> {
  for (const { id, doc } of world.all(HOST)) if (doc.forcedDown !== undefined) await world.comeBack(id);
  await world.settle();
}

describe.each(MOVE_VARIANTS)('$name', (way) => {
  describe.each(worksOf(way))('a server that dies during $name', (work) => {
    test.each(pointsOf(way))('%s', async (point) => {
      const before = new Map<string, readonly string[]>();
      const begin: DisturbedWork['begin'] = async (world, name) => {
        before.set(name, world.addresses(name));
        await work.begin(world, name);
      };
      const points = await disturbAtEachPoint(way, {
        point,
        work: { ...work, begin },
        disturb: (world) => world.server.die(),
        verify: async ({ world, name }) => {
          await allBack(world);
          if (work.name === 'shelving') expect(world.instance(name)).toMatchObject({ state: 'shelved' });
          else expectAt(world, name, work.name === 'unshelving' ? 'h2' : 'h4');
          expect(world.addresses(name)).toEqual(before.get(name));
          await world.remove(name);
          await world.settle();
          expectNothingLeft(world, name);
        },
      });
      if (point === 'after a commit') expect(points).toBeGreaterThan(2);
    });
  });

  describe.each(worksOf(way))('a delete during $name', (work) => {
    test.each(pointsOf(way))('%s', async (point) => {
      await disturbAtEachPoint(way, {
        point,
        work,
        disturb: (world, name) => void world.remove(name),
        verify: async ({ world, name, isDisturbed }) => {
          if (!isDisturbed) await world.remove(name);
          await world.settle();
          await allBack(world);
          expectNothingLeft(world, name);
          expect(world.all(CLAIM)).toEqual([]);
        },
      });
    });
  });

  describe('a source that is forced down during a move', () => {
    test.each(pointsOf(way))('%s', async (point) => {
      const sources = new Map<string, string>();
      await disturbAtEachPoint(way, {
        point,
        work: {
          name: 'a move',
          begin: async (world, name) => {
            sources.set(name, world.instance(name).host ?? '');
            await world.move(name);
          },
        },
        disturb: (world, name) => {
          const id = sources.get(name) ?? '';
          void world.agents.stop(id);
          void forceDown(world, id);
        },
        verify: async ({ world, name, isDisturbed }) => {
          await world.settle();
          const source = sources.get(name) ?? '';
          const { host, state } = world.instance(name);
          // It was migrated, or it is to be rebuilt elsewhere: never both.
          expect(state).toBe('active');
          if (host === source && isDisturbed) {
            await world.rebuild(name);
            await world.settle();
          }
          expect(world.instance(name)).toMatchObject({ state: 'active' });
          if (isDisturbed) expect(world.instance(name).host).not.toBe(source);
          await allBack(world);
          expectAt(world, name, world.instance(name).host);
          await world.remove(name);
          await world.settle();
          expectNothingLeft(world, name);
          expect(world.all(CLAIM)).toEqual([]);
        },
      });
    });
  });
});

describe('a move to a host that cannot connect the ports', () => {
  test('scheduling-43 goes on to the next one, and nothing is migrated to the first', async () => {
    const world = await startFixtureF({ backEnd: 'simulated' });
    await world.boot();
    world.arm({ op: 'bind', host: 'h4', outcome: 'binding-failed', times: 99 });
    await world.move('web');
    await world.settle();
    expectAt(world, 'web', 'h5');
    expect(world.performedTasks.filter(({ task, host }) => task === 'activate' && host === 'h4')).toEqual([]);
  });

  test('ends where it is when the network refuses after the migration, and is connected again there by itself', async () => {
    const world = await startFixtureF({ backEnd: 'simulated' });
    await world.boot();
    const before = world.addresses('web');
    world.arm({ op: 'activate', outcome: 'binding-failed', times: 99 });
    await world.move('web');
    await world.settle();
    const { fault, ...web } = world.instance('web');
    expect(web).toMatchObject({ state: 'active', host: 'h5' });
    // Why it was not moved on; that it is not connected is derived from its ports.
    expect(fault?.message).toMatch(
      /^the back end answered 200 binding_failed\. No other host fits\. 2 of 5 hosts: excluded: tried before/,
    );
    // Its port was left unbound, and was bound again without a request.
    expect(world.performedTasks.some(({ task }) => task === 'activate')).toBe(true);
    expect(degradedPorts(world.fleet, { doc: web })).toEqual([]);
    expect(world.copies('web')).toEqual(['h5']);
    expect(world.addresses('web')).toEqual(before);
  });
});

test.each(BOTH)('a move that finds no other host in its segment stays, and says why (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.boot();
  for (const id of ['h4', 'h5']) await forceDown(world, id);
  await world.move('web');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
  expect(world.instance('web').fault?.report?.stages.map(({ cause }) => cause)).toContain('segment-unreachable');
  expectAt(world, 'web', 'h2');
  expect(world.all(PORT)).toHaveLength(1);
});
