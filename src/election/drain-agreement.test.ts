// Drains decide by the same function as elections, and know less: they have no BFD reports. Whatever state hosts are in, the two must settle
// together: neither reverts what the other has just committed.
import { expect, test } from 'vitest';
import { beginEvacuation, CONDITIONS, HOST, isTombstoned, planEvacuation } from '../hosts/index.ts';
import { accept } from '../journal/index.ts';
import { fitHost, LEAVING, outOfControl, portOn, routed, service, ElectionWorld } from './election-fixture.ts';
import { designationEvacuator as evacuator } from './evacuator.ts';
import { SERVICE, type Service } from './model.ts';

const SUBNETS = ['s1', 's2'];
/** Longer than the waits for a late host and for a switch out of control. */
const TICKS = CONDITIONS.defaultValue.moveAfterMs / 1000 + 90;
const NEAR_THE_END = 40;
/** A handover that is not ready gets another target after a minute: that is a commit or two. */
const COMMITS_MAX = 4;

/** States of a host, applied to the world and to the fleet. */
const STATES: Readonly<Record<string, (world: ElectionWorld, host: string) => Promise<void>>> = {
  fine: async () => undefined,
  leaving: (world, host) => world.edit(host, LEAVING),
  suspect: (world, host) => world.connect(host, 'suspect'),
  down: (world, host) => world.connect(host, 'down'),
  'bfd-down': async (world, host) => void world.bfdDownByMajority.add(host),
  'down-with-bfd-up': async (world, host) => {
    world.bfdUp.add(host);
    await world.connect(host, 'down');
  },
  'down-with-bfd-down': async (world, host) => {
    world.bfdDownByMajority.add(host);
    await world.connect(host, 'down');
  },
  'out-of-control': (world, host) => world.edit(host, outOfControl(world.nowMs)),
  'data-path-lost': async (world, host) => {
    world.bfdDownUnanimously.add(host);
    await world.edit(host, outOfControl(world.nowMs));
  },
  'cannot-serve': (world, host) => world.edit(host, outOfControl(world.nowMs, { cannotServe: true })),
  'out-of-control-with-bfd-down': async (world, host) => {
    world.bfdDownByMajority.add(host);
    await world.edit(host, outOfControl(world.nowMs));
  },
  'forced-down': (world, host) => world.edit(host, { forcedDown: { reason: 'off', by: 'ann', atMs: 0 } }),
  'without-address': (world, host) => world.change(host, ({ tunnelAddress: _, ...doc }) => doc),
};
const NAMES = Object.keys(STATES);

/** Services of a, which is to leave; b is a candidate, and so is c where there is one. */
async function served(others: readonly string[], rules: Partial<Service>): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(
    fitHost('a'),
    routed('r1', SUBNETS),
    SUBNETS.map((one) => portOn('a', one)),
  );
  await world.settle();
  for (const { id } of world.fleet.all(SERVICE)) await world.say(id, rules);
  await world.put(...others.flatMap((name) => [fitHost(name), ...SUBNETS.map((one) => portOn(name, one))]));
  await world.settle();
  expect(service(world.fleet, 'nat:r1')?.designated?.host).toBe('a');
  return world;
}

/** The next step of the drain of each leaving host; commits nothing when there is none. */
async function drain(world: ElectionWorld): Promise<void> {
  const leaving = [...world.fleet.all(HOST)].filter(({ doc }) => isTombstoned(doc));
  for (const { id } of leaving) {
    await world.commit((fleet) => {
      const leavers = [{ host: id, tenants: evacuator.inventory(fleet, id) }];
      const planned = planEvacuation(fleet, evacuator, leavers, world);
      const started = beginEvacuation(fleet, evacuator, planned, world.commandContext());
      if ('code' in started) throw new Error(started.code);
      return accept(started.changes, null);
    });
  }
}

/** Both run at every tick, the drain first. Counts commits to services near the end. */
async function commitsNearTheEnd(world: ElectionWorld): Promise<number> {
  let [tick, commits] = [0, 0];
  const end = world.journal.onCommit(({ applied }) => {
    if (tick >= TICKS - NEAR_THE_END && applied.some(({ kind }) => kind === SERVICE.name)) commits += 1;
  });
  for (; tick < TICKS; tick += 1) {
    await drain(world);
    await world.reconcile();
    await world.pass();
  }
  end();
  return commits;
}

const RULES = [
  { exclusion: 'soft', onControlLoss: 'move' },
  { exclusion: 'hard', onControlLoss: 'hold' },
] as const;

async function look(a: string, b: string, { others, behind, rules }: Variant): Promise<string[]> {
  const world = await served(others, rules);
  // Only one at a time: the others have their turn for as long as it waits.
  await world.setting({ handoversAtOnce: 1 });
  for (const name of behind) world.views.behind.add(name);
  await STATES[b]?.(world, 'b');
  await STATES[a]?.(world, 'a');
  await world.edit('a', LEAVING);
  const commits = await commitsNearTheEnd(world);
  const wrong = [...world.violations, ...(commits > COMMITS_MAX ? [`${commits} commits: ${world.shown()}`] : [])];
  const said = JSON.stringify({ a, b, others, behind, ...rules });
  return wrong.map((one) => `${said}: ${one}`);
}

interface Variant {
  readonly others: readonly string[];
  readonly behind: readonly string[];
  readonly rules: (typeof RULES)[number];
}

const VARIANTS: readonly Variant[] = [
  { others: ['b', 'c'], behind: [], rules: RULES[0] },
  { others: ['b', 'c'], behind: ['b', 'c'], rules: RULES[0] },
  { others: ['b'], behind: [], rules: RULES[0] },
  { others: ['b'], behind: ['b'], rules: RULES[0] },
  { others: ['b', 'c'], behind: [], rules: RULES[1] },
];

test.each(NAMES.filter((name) => name !== 'leaving'))(
  'a drain and elections settle when the leaving host is %s',
  async (a) => {
    const wrong: string[] = [];
    for (const b of NAMES) for (const variant of VARIANTS) wrong.push(...(await look(a, b, variant)));
    expect(wrong).toEqual([]);
  },
);
