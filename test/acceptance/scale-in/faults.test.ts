// Leaving hosts in trouble: down, forced, or too slow.
import { describe, expect, test } from 'vitest';
import { expectSound, isWiped, isMarked, servers, traces, tunnels } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const cannotMove = { task: 'migrate', times: 1000, problem: 'too busy', fault: 'migration-failed' } as const;

function reasonOf(world: ScaleInAcceptanceWorld, host: string): string | undefined {
  return world.item(world.host(host).leaving?.operation ?? '', host).reason?.code;
}

describe('a host that is down while it leaves', () => {
  /** It has an instance, its agent is silent, and it is to be removed. */
  async function down(): Promise<ScaleInAcceptanceWorld> {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    await world.place('two', 'd');
    await world.settle();
    await world.disconnect('a');
    await world.settle();
    await world.start(['a']);
    await world.until('it says why it waits', () => reasonOf(world, 'a') === 'host-down');
    return world;
  }

  test('scale-in-host-down: waits until it is forced down, then everything is rebuilt elsewhere', async () => {
    const world = await down();
    const had = world.addresses('one');
    await world.restart();
    await world.clock.pass(3_600_000);
    expect(reasonOf(world, 'a')).toBe('host-down');
    expect(world.instance('one').host).toBe('a');
    await world.forceDown('a');
    await world.untilState('drained', 'a');
    expect(world.instance('one')).toMatchObject({ state: 'active' });
    expect(world.instance('one').host).not.toBe('a');
    expect(world.addresses('one')).toEqual(had);
    await world.end(['a']);
    await world.untilState('removed', 'a');
    await world.settle();
    for (const host of HOSTS.slice(1)) expect(traces(world, host, 'a')).toEqual([]);
    expect(servers(world, NAT)).toContain(world.designatedHostOf(NAT));
    expectSound(world);
  });

  test('scale-in-host-down: reporting again after that, it is not trusted and its switch is wiped', async () => {
    const world = await down();
    await world.forceDown('a');
    await world.untilState('drained', 'a');
    expect(isWiped(world, 'a')).toBe(false);
    await world.restart();
    world.agents.start('a');
    await world.until('it is distrusted', () => world.host('a').quarantined?.because === 'operator-fenced');
    await world.until('it is wiped', () => isWiped(world, 'a'));
    await world.settle();
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).not.toContain('a');
    expect((await world.recoverRefused(['a'])).code).toBe('wrong-state');
    await world.reAdmit('a');
    await world.recover(['a']);
    await world.untilState('active', 'a');
    await world.settle();
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).toContain('a');
    expect(world.copies('one')).toEqual([world.instance('one').host]);
    expectSound(world);
  });
});

test('scale-in-force: is removed whatever lives there, is ordered to leave first, and the reason is kept', async () => {
  const world = await scaleInWorld();
  await world.place('one', 'a');
  await world.place('two', 'd');
  await world.settle();
  const had = world.addresses('one');
  await world.start(['a'], { drain: false });
  await world.end(['a'], { force: { reason: 'it burns' } });
  await world.restart();
  await world.untilState('removed', 'a');
  await world.settle();
  expect(world.host('a').leaving?.forced).toMatchObject({ reason: 'it burns', by: 'ann' });
  expect(isWiped(world, 'a')).toBe(true);
  expect(world.instance('one')).toMatchObject({ state: 'error', fault: { code: 'host-removed' } });
  await world.rebuild('one');
  await world.settle();
  expect(world.instance('one')).toMatchObject({ state: 'active' });
  expect(world.addresses('one')).toEqual(had);
  expect(world.designatedHostOf(NAT)).toBe('d');
  expectSound(world);
});

test('scale-in-deadline: no move begins after it, the host stays with that reason, and another start continues', async () => {
  const world = await scaleInWorld();
  await world.place('one', 'a');
  await world.settle();
  const machine = world.agents.hypervisorOf('a');
  machine?.arm(cannotMove);
  const { operation = '' } = await world.start(['a'], { deadlineMs: 60_000 });
  await world.until('it is over', () => world.operationDoc(operation).state === 'failed');
  expect(world.item(operation, 'a')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
  await world.settle();
  const { length } = world.performedTasks;
  await world.clock.pass(3_600_000);
  expect(world.performedTasks).toHaveLength(length);
  expect(world.states('a')).toEqual(['draining']);
  expect(isMarked(world, 'a')).toBe(true);
  machine?.disarm();
  const again = await world.start(['a']);
  expect(again.operation).not.toBe(operation);
  await world.untilState('drained', 'a');
  await world.settle();
  expect(world.instance('one').host).not.toBe('a');
  expectSound(world);
});
