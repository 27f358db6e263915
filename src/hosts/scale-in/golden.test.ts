// Whole scale-ins as sequences: a world, the real planner and faked movers, until nothing changes. In a fixed order the trace is a golden
// snapshot; seeds draw the order of everything else. Budgets hold at each step, and a second plan at the end is empty.
import { describe, expect, test } from 'vitest';
import { put, type Change } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { isOpen, ITEM } from '../../operations/index.ts';
import { HOST } from '../model.ts';
import { EVACUATORS, guests, activeHosts, posts, ScaleInWorld } from './scale-in-fixture.ts';
import { DRAIN_MOVES, EVERY_MOVE, movesOff } from './moves.ts';

/** What each leaving host is, has, and waits for. */
function line(world: ScaleInWorld, operation: string, hosts: readonly string[]): string {
  return hosts
    .map((host) => {
      const { state } = world.host(host) ?? {};
      const left = EVACUATORS.reduce((sum, one) => sum + one.inventory(world.fleet, host).length, 0);
      const reason = world.item(operation, host)?.reason?.code;
      return `${host} ${state} ${left}${reason === undefined ? '' : ` (${reason})`}`;
    })
    .join(' | ');
}

test('drain-two-of-four-in-a-fixed-order', async () => {
  const world = await ScaleInWorld.of(
    ...activeHosts('c1', 'c2', 'c3', 'c4'),
    ...['a', 'b', 'c', 'd', 'e'].map((name) => guests.put(name, { host: 'c1' })),
    ...['f', 'g'].map((name) => guests.put(name, { host: 'c2' })),
    posts.put('nat', { host: 'c1', presence: ['c1', 'c2', 'c3'] }),
    posts.put('dhcp', { host: 'c2', presence: ['c2', 'c4'] }),
  );
  await world.budget({ movesPerHostAtOnce: 2, movesAtOnce: 3 });
  const { operation = '' } = await world.commit(world.starting(['c1', 'c2']));
  const lines: string[] = [];
  for (let tick = 0; tick < 12; tick += 1) {
    await world.tick();
    const seen = line(world, operation, ['c1', 'c2']);
    if (lines.at(-1) !== seen) lines.push(seen);
  }
  expect(lines).toMatchInlineSnapshot(`
    [
      "c1 draining 5 (handovers-under-way) | c2 draining 2 (handovers-under-way)",
      "c1 draining 5 (moves-under-way) | c2 draining 2 (moves-under-way)",
      "c1 draining 3 (moves-under-way) | c2 draining 1 (moves-under-way)",
      "c1 draining 1 (moves-under-way) | c2 draining 0 (moves-under-way)",
      "c1 draining 1 (moves-under-way) | c2 drained 0",
      "c1 draining 0 (moves-under-way) | c2 drained 0",
      "c1 drained 0 | c2 drained 0",
    ]
  `);
  expect(world.driver.moved).toMatchInlineSnapshot(`
    [
      "dhcp",
      "nat",
      "a",
      "b",
      "f",
      "c",
      "d",
      "g",
      "e",
    ]
  `);
  expect(world.violations).toEqual([]);
});

/** A small generator: the same seed draws the same. */
function drawing(seed: number): (below: number) => number {
  let state = (seed + 1) * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

const HOSTS = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];
const LEAVERS = ['c1', 'c2', 'c3'];
const BUDGET = { movesPerHostAtOnce: 2, movesAtOnce: 4 };

function inhabitants(draw: (below: number) => number): Change[] {
  const at = (): string => HOSTS[draw(HOSTS.length)] as string;
  const many = Array.from({ length: 6 + draw(14) }, (_, nth) => guests.put(`g${nth}`, { host: at() }));
  const services = Array.from({ length: draw(5) }, (_, nth) => {
    const presence = [...new Set([at(), at(), at()])];
    return posts.put(`p${nth}`, { host: presence[0] as string, presence });
  });
  return [...many, ...services];
}

/** Something that happens beside the drain. */
async function happens(world: ScaleInWorld, draw: (below: number) => number): Promise<void> {
  const host = HOSTS[draw(HOSTS.length)] as string;
  switch (draw(8)) {
    case 0:
      return world.restart();
    case 1:
      world.driver.held = !world.driver.held;
      return undefined;
    case 2:
      world.driver.failures.set(`g${draw(20)}`, 1 + draw(2));
      return undefined;
    case 3: {
      const { state } = world.host(host)?.connection ?? {};
      return world.connect(host, state === 'up' ? 'down' : 'up');
    }
    case 4:
      await world.commit(() => accept([guests.put(`late${draw(9)}`, { host })], null));
      return undefined;
    case 5:
      await world.commit(world.starting(LEAVERS.slice(draw(2))));
      return undefined;
    default:
      return undefined;
  }
}

function expectWithinBudgets(world: ScaleInWorld): void {
  expect(world.fleet.countOf(DRAIN_MOVES, EVERY_MOVE)).toBeLessThanOrEqual(BUDGET.movesAtOnce);
  for (const host of LEAVERS) expect(movesOff(world.fleet, host)).toBeLessThanOrEqual(BUDGET.movesPerHostAtOnce);
}

async function played(seed: number): Promise<ScaleInWorld> {
  const draw = drawing(seed);
  const world = await ScaleInWorld.of(...activeHosts(...HOSTS), ...inhabitants(draw));
  await world.budget(BUDGET);
  await world.commit(world.starting(LEAVERS));
  for (let step = 0; step < 25; step += 1) {
    if (seed > 0) await happens(world, draw);
    await world.tick();
    expectWithinBudgets(world);
  }
  world.driver.held = false;
  world.driver.failures.clear();
  for (const host of HOSTS) if (world.host(host)?.connection.state !== 'up') await world.connect(host, 'up');
  for (let tick = 0; tick < 60; tick += 1) {
    await world.tick();
    expectWithinBudgets(world);
  }
  return world;
}

describe('in any order', () => {
  test.each(Array.from({ length: 100 }, (_, seed) => seed))('drain-of-three-of-six, seed %i', async (seed) => {
    const world = await played(seed);
    expect(world.violations).toEqual([]);
    expect(world.states(...LEAVERS)).toBe('c1 drained, c2 drained, c3 drained');
    for (const host of LEAVERS) expect(guests.on(world.fleet, host)).toEqual([]);
    // A second plan is empty: nothing is open, and a repeated request changes nothing.
    expect([...world.fleet.all(ITEM)].filter(({ doc }) => isOpen(doc))).toEqual([]);
    const { revision } = world.fleet;
    await world.commit(world.starting(LEAVERS));
    await world.tick();
    expect(world.fleet.revision).toBe(revision);
  });
});

test('the-result-does-not-depend-on-the-order-of-names', async () => {
  const ends: string[] = [];
  for (const hosts of [LEAVERS, LEAVERS.toReversed(), ['c2', 'c3', 'c1', 'c2']]) {
    const world = await ScaleInWorld.of(...activeHosts(...HOSTS), ...inhabitants(drawing(7)));
    await world.commit(world.starting(hosts));
    await world.settle();
    const everything = HOSTS.map((host) => `${host}: ${guests.on(world.fleet, host).join(' ')}`);
    ends.push([...everything, world.states(...HOSTS)].join('\n'));
  }
  expect(new Set(ends).size).toBe(1);
});

test('never: a host takes a step that its table does not have', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c1'));
  const doc = world.host('c1');
  await world.commit(() => accept([put(HOST, 'c1' as never, { ...doc, state: 'finalizing' } as never)], null));
  expect(world.violations).toEqual([
    expect.stringContaining('host c1: active to finalizing'),
    expect.stringContaining('host c1 is finalizing'),
  ]);
});
