// Hosts whose switch is out of control while the agent is connected: candidates for nothing, and their services stay until their data path is
// known to be down.
import { describe, expect, test } from 'vitest';
import { CONDITIONS } from '../hosts/index.ts';
import {
  fitHost,
  LEAVING,
  outOfControl,
  routed,
  portOn,
  servedBy,
  service,
  ElectionWorld,
} from './election-fixture.ts';
import { moveService } from './move.ts';

const NAT = 'nat:r1';
const { moveAfterMs } = CONDITIONS.defaultValue;

const hostOf = ({ fleet }: ElectionWorld, id = NAT): string | undefined => service(fleet, id)?.designated?.host;

async function pass(world: ElectionWorld, ms: number): Promise<void> {
  for (const untilMs = world.nowMs + ms; world.nowMs < untilMs;) {
    await world.reconcile();
    await world.pass();
  }
}

/** Three hosts; the one that serves NAT has no control of its switch. */
async function uncontrolled(
  facts: Parameters<typeof outOfControl>[1] = {},
): Promise<{ world: ElectionWorld; at: string }> {
  const world = await servedBy('a', 'b', 'c');
  const at = hostOf(world) ?? '';
  await world.edit(at, outOfControl(world.nowMs, facts));
  return { world, at };
}

describe('a host whose switch is out of control', () => {
  test('keeps-its-services-while-its-data-path-is-not-known-to-be-gone', async () => {
    const { world, at } = await uncontrolled();
    const epoch = service(world.fleet, NAT)?.epoch;
    await pass(world, moveAfterMs * 3);
    expect([hostOf(world), service(world.fleet, NAT)?.epoch]).toEqual([at, epoch]);
    expect(world.operations()).toEqual([]);
  });

  test('loses-them-after-a-grace-period-when-its-peers-see-its-bfd-down', async () => {
    const { world, at } = await uncontrolled();
    world.bfdDownUnanimously.add(at);
    await pass(world, moveAfterMs - 5000);
    expect(hostOf(world)).toBe(at);
    await pass(world, 15_000);
    expect(hostOf(world)).not.toBe(at);
    expect(service(world.fleet, NAT)?.why?.cause).toBe('data-path-lost');
    expect(world.violations).toEqual([]);
  });

  test('loses-them-after-a-grace-period-when-it-says-that-it-cannot-serve', async () => {
    const { world, at } = await uncontrolled({ code: 'not-running', cannotServe: true });
    await pass(world, moveAfterMs + 15_000);
    expect(hostOf(world)).not.toBe(at);
  });

  test('keeps-them-when-it-obeys-again-in-time', async () => {
    const { world, at } = await uncontrolled({ cannotServe: true });
    await pass(world, moveAfterMs - 10_000);
    await world.change(at, ({ degraded: _, ...doc }) => doc);
    await pass(world, moveAfterMs * 2);
    expect(hostOf(world)).toBe(at);
  });

  test('is-chosen-for-nothing-new', async () => {
    const world = await servedBy('a');
    await world.edit('a', outOfControl(world.nowMs));
    await world.put(fitHost('b'), ...routed('r2', ['s2']), portOn('a', 's2'), portOn('b', 's2'));
    await world.settle();
    expect(hostOf(world, 'nat:r2')).toBe('b');
    expect(service(world.fleet, 'nat:r2')?.why?.rejected).toContainEqual({
      host: 'a',
      because: 'switch-out-of-control',
    });
  });

  test('is-no-standby', async () => {
    const world = await servedBy('a', 'b', 'c');
    const standby = service(world.fleet, NAT)?.standby ?? '';
    await world.edit(standby, outOfControl(world.nowMs));
    await world.settle();
    expect(service(world.fleet, NAT)?.standby).not.toBe(standby);
  });

  test('that-is-to-leave-keeps-them-because-it-could-not-be-told-to-stop', async () => {
    const { world, at } = await uncontrolled();
    await world.edit(at, LEAVING);
    await pass(world, 60_000);
    expect(hostOf(world)).toBe(at);
    await world.change(at, ({ degraded: _, ...doc }) => doc);
    await world.settle();
    expect(hostOf(world)).not.toBe(at);
    expect(world.wrong()).toEqual([]);
  });

  test('does-not-handover-what-was-not-switched-yet, and-does-when-it-obeys', async () => {
    const world = await servedBy('a', 'b', 'c');
    const at = hostOf(world) ?? '';
    for (const name of ['a', 'b', 'c']) world.views.behind.add(name);
    await world.edit(at, LEAVING);
    await world.reconcile();
    await world.until(NAT, 'preparing');
    await world.edit(at, outOfControl(world.nowMs));
    world.views.behind.clear();
    await pass(world, 30_000);
    expect(hostOf(world)).toBe(at);
    expect(world.open().filter((line) => line.startsWith(NAT))).toEqual([`${NAT} prepare waiting held-out-of-control`]);
    await world.change(at, ({ degraded: _, ...doc }) => doc);
    await world.settle();
    expect(hostOf(world)).not.toBe(at);
    expect(world.wrong()).toEqual([]);
  });

  test('never: a handover that it holds uses the budget of others', async () => {
    const world = await ElectionWorld.of(
      ['a', 'b', 'c', 'd', 'e'].map((name) => fitHost(name)),
      routed('r1', ['s1']),
      routed('r2', ['s2']),
      ['a', 'b', 'c'].map((name) => portOn(name, 's1')),
      ['d', 'e'].map((name) => portOn(name, 's2')),
    );
    await world.setting({ handoversAtOnce: 1 });
    await world.settle();
    const [at, other] = [hostOf(world) ?? '', hostOf(world, 'nat:r2') ?? ''];
    for (const name of ['a', 'b', 'c']) world.views.unready.set(`${name} ${NAT}`, 'test');
    await world.commit((fleet) => moveService(fleet, { id: NAT, ...world.commandContext() }));
    await world.edit(at, outOfControl(world.nowMs));
    await pass(world, 10_000);
    expect(world.open()).toEqual([`${NAT} prepare waiting held-out-of-control`]);
    await world.edit(other, LEAVING);
    await pass(world, 30_000);
    expect(hostOf(world, 'nat:r2')).not.toBe(other);
  });

  test('holds-up-no-handover-of-others', async () => {
    const world = await servedBy('a', 'b', 'c', 'd');
    const [at, standby] = [hostOf(world) ?? '', service(world.fleet, NAT)?.standby];
    const other = ['a', 'b', 'c', 'd'].find((name) => name !== at && name !== standby) ?? '';
    world.views.behind.add(other);
    await world.edit(other, outOfControl(world.nowMs));
    await world.edit(at, LEAVING);
    await world.settle();
    expect(hostOf(world)).not.toBe(at);
    expect(world.open()).toEqual([]);
  });

  test('is-not-asked-to-move-one-by-hand', async () => {
    const { world, at } = await uncontrolled();
    const refused = moveService(world.fleet, { id: NAT, ...world.commandContext() });
    expect(refused).toMatchObject({ kind: 'refuse', refusal: { code: 'switch-out-of-control', facts: { host: at } } });
  });

  test('whose-instance-runtime-fails-does-services-as-before', async () => {
    const world = await servedBy('a');
    await world.edit('a', outOfControl(world.nowMs, { type: 'instance-runtime' }));
    await world.put(...routed('r2', ['s2']), portOn('a', 's2'));
    await world.settle();
    expect(hostOf(world, 'nat:r2')).toBe('a');
  });
});
