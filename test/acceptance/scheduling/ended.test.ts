// An instance that ends by itself on its host: its agent starts it again, and the control plane shows it. Without a server that confirms its view
// nothing is started: the instance may run elsewhere by then.
import { describe, expect, test } from 'vitest';
import { ALARM, alarmId } from '../../../src/alarms/index.ts';
import { forceDownHost } from '../../../src/hosts/index.ts';
import { startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

async function withOne(): Promise<{ readonly world: AcceptanceWorld; readonly host: string }> {
  const world = await startFixtureF();
  await world.create({ name: 'web' });
  await world.until('it runs', () => world.instance('web').state === 'active');
  await world.settle();
  return { world, host: world.instance('web').host ?? '' };
}

const end = (world: AcceptanceWorld, host: string): Promise<void> | undefined =>
  world.agents.hypervisorOf(host)?.end('web', world.nowMs);
const powerOf = (world: AcceptanceWorld, host: string): string | undefined =>
  world.agents.hypervisorOf(host)?.instance('web')?.state;
const alarm = (world: AcceptanceWorld): unknown => world.fleet.get(ALARM, alarmId('instance-ended', 'web'))?.doc;

describe('an instance that ends by itself', () => {
  test('runs-again-at-once, and-its-document-says-that-it-ended', async () => {
    const { world, host } = await withOne();
    const { revision } = world.fleet;
    await end(world, host);
    await world.until('it runs again', () => powerOf(world, host) === 'running');
    const startedMs = world.nowMs;
    await world.until('that is known', () => world.instance('web').ended?.runsAgain === true);
    expect(world.nowMs - startedMs).toBeLessThan(6000);
    expect(world.instance('web')).toMatchObject({ state: 'active', host, ended: { host, times: 1 } });
    expect(world.copies('web')).toEqual([host]);
    const told = world.documentVersions.filter(
      ({ kind, id, revision: at }) => kind === 'instance' && id === 'web' && at > revision,
    );
    expect(told.length).toBeGreaterThan(0);
    expect(told.at(-1)?.doc).toMatchObject({ changedBy: 'agents' });
    expect(alarm(world)).toBeUndefined();
  });

  test('and-cannot-be-started-raises-an-alarm-until-it-can', async () => {
    const { world, host } = await withOne();
    const hypervisor = world.agents.hypervisorOf(host);
    hypervisor?.arm({ task: 'start', fault: 'busy', problem: 'busy', times: 5 });
    await end(world, host);
    await world.until('there is an alarm', () => alarm(world) !== undefined);
    expect(world.instance('web').ended).toMatchObject({ host, times: 1, runsAgain: false });
    await world.until('it runs again', () => powerOf(world, host) === 'running');
    await world.until('there is none any more', () => alarm(world) === undefined);
    expect(world.instance('web').ended).toMatchObject({ times: 1, runsAgain: true });
  });

  test('while-no-server-answers-is-started-when-one-confirms-that-it-runs-there', async () => {
    const { world, host } = await withOne();
    await world.agents.stop(host);
    await end(world, host);
    world.server.die();
    world.agents.start(host);
    await world.clock.pass(60_000);
    expect(powerOf(world, host)).toBe('ended');
    await world.restart();
    await world.until('it runs again', () => powerOf(world, host) === 'running');
  });

  test('never: it is started where it was rebuilt elsewhere meanwhile', async () => {
    const { world, host } = await withOne();
    await world.agents.stop(host);
    await end(world, host);
    await world.commit((fleet) => forceDownHost(fleet, { id: host, reason: 'off', by: 'ann', nowMs: world.nowMs }));
    await world.rebuild('web');
    await world.until(
      'it runs elsewhere',
      () => world.instance('web').host !== host && world.instance('web').state === 'active',
    );
    const states = new Set<string | undefined>();
    world.agents.start(host);
    for (let nth = 0; nth < 60; nth += 1) {
      states.add(powerOf(world, host));
      await world.clock.pass(1000);
    }
    expect(states.has('running')).toBe(false);
  });
});
