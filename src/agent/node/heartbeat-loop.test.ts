// How soon an agent reports what changed, and how often.
import { expect, test } from 'vitest';
import { peersOn, startSwitchWorld, type SwitchHost, type SwitchWorld } from './switch/switch-world-fixture.ts';

interface HeartbeatWorld extends SwitchWorld {
  readonly c1: SwitchHost;
  /** When it sent a heartbeat. */
  readonly beatsMs: number[];
  /** The peers with BFD down. */
  readonly bfdDown: Set<string>;
}

async function startHeartbeatWorld(): Promise<HeartbeatWorld> {
  const bfdDown = new Set<string>();
  const world = await startSwitchWorld(['c1', 'c2'], { switch: { isBfdUp: (peer) => !bfdDown.has(peer) } });
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
  return { ...world, c1, beatsMs, bfdDown };
}

const moveC2 = ({ plane }: SwitchWorld, to: number): Promise<void> =>
  plane.edit('c2', { tunnelAddress: `172.16.1.${to}` });

test('convergence-is-reported-once-and-soon', async () => {
  const world = await startHeartbeatWorld();
  const { clock, beatsMs, plane } = world;
  await moveC2(world, 1);
  await clock.pass(200);
  const { gateway, journal } = plane.leader;
  expect(gateway.hasConverged('c1', journal.fleet.revision)).toBe(true);
  expect(beatsMs).toHaveLength(1);
});

test('what-changes-again-and-again-is-reported-a-few-times-in-a-second-and-to-the-end', async () => {
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

/** What c1 says of BFD, once per report that it sends, to a server with these features. */
async function sendBfdDown(serverFeatures?: string[]): Promise<readonly unknown[]> {
  const { c1, clock, plane, bfdDown } = await startHeartbeatWorld();
  const { link } = c1.testHost;
  link.tap = async (name, pass) => {
    const answer = await pass();
    if (name !== 'heartbeat' || serverFeatures === undefined || !('answer' in answer)) return answer;
    return { ...answer, answer: { ...answer.answer, features: serverFeatures } };
  };
  await clock.pass(10_000);
  link.beats.length = 0;
  bfdDown.add('c2');
  await clock.pass(30_000);
  expect(plane.leader.gateway.reports.bfdStatus('c1', 'c2')).toBe('down');
  return link.beats.flatMap(({ report }) => {
    if (report === undefined) return [];
    const { facts: _facts, strays: _strays, problems: _problems, switch: _switch, ...rest } = report;
    return [rest];
  });
}

test('a-server-of-0.1.0-gets-the-peers-that-are-down-by-the-name-that-it-knows', async () => {
  expect(await sendBfdDown(['conditions', 'process'])).toEqual([{ unheardPeers: ['c2'] }]);
});

test('a-server-of-this-version-gets-the-new-name-and-once', async () => {
  expect(await sendBfdDown()).toEqual([{ bfdDownPeers: ['c2'] }]);
});
