// The whole sequence of an operator who takes three hosts out and brings one of them back, by the three remote procedures: once undisturbed, and with
// servers that die repeatedly.
import { describe, expect, test } from 'vitest';
import { SERVICE } from '../../../src/election/index.ts';
import { PORT } from '../../../src/network/index.ts';
import { crashEveryNthCommit } from './server-crashes-fixture.ts';
import { HttpApi } from './http-fixture.ts';
import { expectSound, isWiped, isMarked, sendsTo, servers, traces, tunnels } from './switches-fixture.ts';
import { scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const ROUTE = 'subnet-route:sub';
const LEAVERS = ['a', 'b', 'c'];
const STAYERS = ['d', 'e', 'f', 'g'];
const ON = { one: 'a', two: 'a', three: 'b', four: 'c', five: 'd', six: 'e' } as const;

/** Instances on a, b and c, and on two others; a serves everything. */
async function startPopulated(): Promise<ScaleInAcceptanceWorld> {
  const world = await scaleInWorld({ dhcp: true });
  for (const [name, host] of Object.entries(ON)) await world.place(name, host);
  await world.settle();
  expect([NAT, ROUTE, 'dhcp:sub'].map((service) => world.designatedHostOf(service))).toEqual(['a', 'a', 'a']);
  return world;
}

function addresses(world: ScaleInAcceptanceWorld): Record<string, string[]> {
  return Object.fromEntries(Object.keys(ON).map((name) => [name, world.addresses(name)]));
}

const cannotMove = { task: 'migrate', problem: 'the memory changes too fast', fault: 'migration-failed' } as const;

describe.each([
  ['undisturbed', undefined],
  ['every 3rd commit', 3],
  ['every 5th commit', 5],
  ['every 8th commit', 8],
  ['every 13th commit', 13],
] as const)('servers die: %s', (_, everyNth) => {
  test('scale-in-sequence: start a b c, a and c empty, b fails, end a c, recover b', async () => {
    const world = await startPopulated();
    const http = await HttpApi.start(world);
    const had = addresses(world);
    const b = world.agents.hypervisorOf('b');
    b?.arm({ ...cannotMove, times: 1000 });
    const until = crashEveryNthCommit(world, everyNth);

    expect(await http.rpc('start', LEAVERS)).toMatchObject({ status: 200 });
    expect(world.states(...LEAVERS)).toEqual(['draining', 'draining', 'draining']);
    await until('a and c are empty', () => world.states('a', 'c').every((state) => state === 'drained'));
    const { operation = '' } = world.host('b').leaving ?? {};
    await until('b says why not', () => world.item(operation, 'b').reason?.code === 'move-failed');
    expect(world.states('b')).toEqual(['draining']);
    expect(world.instance('three').host).toBe('b');
    for (const name of ['one', 'two', 'four']) expect(LEAVERS).not.toContain(world.instance(name).host);

    for (const host of ['a', 'c']) await world.agents.stop(host);
    await until('they are gone', () => ['a', 'c'].every((host) => world.host(host).connection.state === 'down'));
    expect(await http.rpc('end', ['a', 'c'])).toMatchObject({ status: 200 });
    expect(await http.rpc('recover', ['b'])).toMatchObject({ status: 200 });
    await until('a and c are removed', () => world.states('a', 'c').every((state) => state === 'removed'));
    await until('b is back', () => world.states('b')[0] === 'active');
    b?.disarm();
    await world.settle();

    expect(world.host('b')).not.toHaveProperty('leaving');
    expect(isMarked(world, 'b')).toBe(false);
    expect(tunnels(world, 'b')).toEqual(STAYERS);
    for (const host of ['b', ...STAYERS])
      for (const removed of ['a', 'c']) expect(traces(world, host, removed)).toEqual([]);
    expect(addresses(world)).toEqual(had);
    for (const name of Object.keys(ON)) expect(world.copies(name)).toEqual([world.instance(name).host]);
    expect(world.copies('three')).toEqual(['b']);
    for (const { id, doc } of world.all(SERVICE)) {
      expect(STAYERS).toContain(doc.designated?.host);
      expect(servers(world, id).filter((host) => host !== 'a' && host !== 'c')).toEqual([doc.designated?.host]);
    }
    for (const { doc } of world.all(PORT)) expect(['a', 'c']).not.toContain(doc.binding?.host);
    expectSound(world);

    // It counts again: the next choice may be this host.
    await world.net('m');
    await world.subnet('sub-m', 'm', '10.9.0.0/24');
    await world.router('next', ['sub-m']);
    await world.place('seven', 'b', 'm');
    await world.settle();
    expect(world.designatedHostOf('nat:next')).toBe('b');
    expect(sendsTo(world, 'b')).toEqual(
      [...new Set(world.all(SERVICE).flatMap(({ id }) => elsewhere(world, id)))].sort(),
    );
    expect(isWiped(world, 'b')).toBe(false);
    expectSound(world);
  });
});

/** Where b sends packets for a service of network n. A route is announced outside, and no host sends for it. */
function elsewhere(world: ScaleInAcceptanceWorld, service: string): string[] {
  const at = world.designatedHostOf(service);
  return at === undefined || at === 'b' || service.startsWith('subnet-route:') ? [] : [at];
}
