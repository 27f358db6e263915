// How soon an agent tells of what changed, and how often.
import { expect, test } from 'vitest';
import { peersOn, startSwitchWorld, type SwitchHost, type SwitchWorld } from './switch/switch-world-fixture.ts';

interface HeartbeatWorld extends SwitchWorld {
  readonly c1: SwitchHost;
  /** When it sent a heartbeat. */
  readonly beatsMs: number[];
}

async function startHeartbeatWorld(): Promise<HeartbeatWorld> {
  const world = await startSwitchWorld(['c1', 'c2']);
  const [c1] = world.hosts as [SwitchHost];
  await world.clock.until('it has its tunnel', () => peersOn(c1).length === 1);
  const beatsMs: number[] = [];
  c1.testHost.link.tap = (name, pass) => {
    if (name === 'heartbeat') beatsMs.push(world.clock.nowMs());
    return pass();
  };
  // Quiet, and right after a heartbeat that came by itself.
  await world.clock.pass(20_000);
  await world.clock.until('a heartbeat', () => beatsMs.at(-1) === world.clock.nowMs());
  await world.clock.pass(1000);
  beatsMs.length = 0;
  return { ...world, c1, beatsMs };
}

const moveC2 = ({ plane }: SwitchWorld, to: number): Promise<void> =>
  plane.edit('c2', { tunnelAddress: `172.16.1.${to}` });

test('that-it-is-in-line-is-told-once-and-soon', async () => {
  const world = await startHeartbeatWorld();
  const { clock, beatsMs, plane } = world;
  await moveC2(world, 1);
  await clock.pass(200);
  const { gateway, journal } = plane.leader;
  expect(gateway.hasConverged('c1', journal.fleet.revision)).toBe(true);
  expect(beatsMs).toHaveLength(1);
});

test('what-changes-again-and-again-is-told-of-a-few-times-in-a-second-and-to-the-end', async () => {
  const world = await startHeartbeatWorld();
  const { clock, beatsMs, plane } = world;
  const changes = 100;
  for (let nth = 1; nth <= changes; nth += 1) {
    await moveC2(world, nth);
    await clock.pass(10);
  }
  expect(beatsMs.length).toBeGreaterThan(3);
  expect(beatsMs.length).toBeLessThan(changes / 4);
  await clock.pass(400);
  const { gateway, journal } = plane.leader;
  expect(gateway.hasConverged('c1', journal.fleet.revision)).toBe(true);
});
