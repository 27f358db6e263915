// A server that dies at any point of a build is followed by one that continues with the same ports; a host that dies is replaced by another
// one.
import { describe, expect, test } from 'vitest';
import { forceDownHost } from '../../../src/hosts/index.ts';
import { PORT } from '../../../src/network/index.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import {
  disturbAtEachPoint,
  expectNothingLeft,
  pointsOf,
  BUILD_VARIANTS,
  type DisturbancePoint,
  type BuildVariant,
} from '../disturbance-fixture.ts';
import { BOTH, startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

function expectSamePort(world: AcceptanceWorld, name: string, { ends }: BuildVariant): void {
  expect(world.instance(name).state).toBe(ends);
  const chapters = world.versionsOf('port', `${name}-p0`);
  const made = chapters.filter((port) => port !== undefined);
  expect(new Set(made.map((port) => port['mac'])).size).toBe(1);
  expect(new Set(made.map((port) => port['instance']))).toEqual(new Set([name]));
  if (ends === 'error') return;
  expect(world.instance(name).nics.map(({ port }) => port)).toEqual([`${name}-p0`, `${name}-user`]);
  expect(world.copies(name)).toEqual([world.instance(name).host]);
  for (const { binding, addresses } of world.ports(name)) {
    expect(binding?.host).toBe(world.instance(name).host);
    expect(addresses).toHaveLength(1);
  }
}

/** How often ports were created. A server that dies with the answer repeats the order, and finds the ports. */
function expectMadeOnce(
  world: AcceptanceWorld,
  name: string,
  point: DisturbancePoint,
  { faults = [] }: BuildVariant,
): void {
  const creates = world.calls(name).filter((call) => call.includes('conductor create'));
  expect(creates.filter((call) => call.endsWith('applied')).length).toBeLessThanOrEqual(1);
  if (point !== 'after an order' && !faults.some(({ op }) => op === 'create'))
    expect(creates.length).toBeLessThanOrEqual(1);
}

describe.each(BUILD_VARIANTS)('a server that dies during a build ($name)', (way) => {
  test.each(pointsOf(way))('%s', async (point) => {
    const points = await disturbAtEachPoint(way, {
      point,
      disturb: (world) => world.server.die(),
      verify: async ({ world, name }) => {
        expectSamePort(world, name, way);
        expectMadeOnce(world, name, point, way);
        await world.remove(name);
        await world.settle();
        expectNothingLeft(world, name);
      },
    });
    if (point === 'after a commit') expect(points).toBeGreaterThan(2);
    else if (way.name === 'simulated') expect(points).toBe(2);
  });
});

describe.each(BOTH)('a host that fails is followed by another with the same ports (%s)', (backEnd) => {
  const networks = [{ network: 'n' }, { port: 'mine' }];

  async function building(): Promise<AcceptanceWorld> {
    const world = await startFixtureF({ backEnd, machine: { durations: { build: 600_000 } } });
    await world.userPort('mine', 'n');
    await world.create({ networks });
    await world.until('the host builds', () => world.performedTasks.length > 0);
    return world;
  }

  function expectElsewhere(world: AcceptanceWorld, macs: readonly string[], fault: string): void {
    const web = world.instance('web');
    expect(web).toMatchObject({ state: 'active', host: 'h3', nics: [{ port: 'web-p0' }, { port: 'mine' }] });
    expect(web.attempts).toMatchObject([
      { host: 'h2', fault, excludes: 'host' },
      { host: 'h3', pools: ['segment:seg2', 'segment:seg2'] },
    ]);
    expect(world.ports('web').map(({ mac }) => mac)).toEqual(macs);
    // The addresses that they had for the first host are free again.
    expect(world.addresses('web').every((ip) => ip.startsWith('10.2.'))).toBe(true);
    expect(world.free('segment:seg0')).toBe(253);
  }

  test('it cannot build', async () => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('mine', 'n');
    world.arm({ op: 'spawn', host: 'h2', outcome: 'spawn-failed' });
    await world.boot({ networks });
    const macs = ['web-p0', 'mine'].map((id) => world.versionsOf('port', id)[0]?.['mac'] as string);
    expectElsewhere(world, macs, 'spawn-failed');
    expect(world.copies('web')).toEqual(['h3']);
  });

  test('it has no room after all', async () => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('mine', 'n');
    world.arm({ op: 'spawn', host: 'h2', outcome: 'resources-gone' });
    await world.boot({ networks });
    const macs = ['web-p0', 'mine'].map((id) => world.versionsOf('port', id)[0]?.['mac'] as string);
    expectElsewhere(world, macs, 'resources-gone');
  });

  test('not while it is only silent: it may run it yet, and does when it is back', async () => {
    const world = await building();
    const operation = world.all(OPERATION).find(({ doc }) => doc.kind === 'instance-build')?.id ?? '';
    await world.agents.stop('h2');
    await world.until('it is down', () => world.host('h2').connection.state === 'down');
    await world.until('the build waits', () => world.item(operation, 'web').state === 'waiting');
    expect(world.item(operation, 'web').reason).toMatchObject({ code: 'host-silent', host: 'h2' });
    expect(world.instance('web')).toMatchObject({ state: 'building', host: 'h2' });
    world.agents.start('h2');
    await world.until('it runs', () => world.instance('web').state === 'active');
    expect(world.copies('web')).toEqual(['h2']);
    expect(world.instance('web').attempts).toHaveLength(1);
  });

  test('it says that it failed, and runs it all the same: it is destroyed there first', async () => {
    const world = await startFixtureF({ backEnd });
    const odd = { task: 'build', times: 1, problem: 'odd', fault: 'spawn-failed', after: true } as const;
    world.agents.hypervisorOf('h2')?.arm(odd);
    await world.userPort('mine', 'n');
    await world.create({ networks });
    await world.until('it runs', () => world.instance('web').state === 'active');
    expect(world.copies('web')).toEqual(['h3']);
    const order = world.tasks().filter((task) => task.includes('web'));
    expect(order).toEqual(['build web on h2', 'destroy web on h2', 'build web on h3']);
  });

  test('it is forced down', async () => {
    const world = await building();
    const macs = world.ports('web').map(({ mac }) => mac);
    await world.agents.stop('h2');
    await world.commit((fleet) => forceDownHost(fleet, { id: 'h2', reason: 'burnt', by: 'ann', nowMs: world.nowMs }));
    await world.until('the next one runs it', () => world.instance('web').state === 'active');
    expectElsewhere(world, macs, 'host-lost');
  });

  test('an image that cannot be used is not tried elsewhere', async () => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('mine', 'n');
    world.arm({ op: 'spawn', host: 'h2', outcome: 'bad-image' });
    const web = await world.boot({ networks });
    expect(web).toMatchObject({ state: 'error', nics: [], fault: { code: 'bad-image' } });
    expect(web.attempts).toHaveLength(1);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    expect(world.port('mine').addresses).toEqual([]);
  });

  test('a host that was requested by name is tried once', async () => {
    const world = await startFixtureF({ backEnd });
    world.arm({ op: 'spawn', host: 'h4', outcome: 'spawn-failed' });
    const web = await world.boot({ place: { onlyHost: 'h4' } });
    expect(web).toMatchObject({ state: 'error', fault: { code: 'attempts-exhausted' } });
    expect(web.attempts.map(({ host }) => host)).toEqual(['h4']);
    expect(world.all(PORT)).toEqual([]);
  });
});
