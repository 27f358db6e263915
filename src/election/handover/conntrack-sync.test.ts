// Conntrack sync in a handover, before the switch and after it: a host that cannot take part, or does not finish, does not keep the service
// where it is.
import { describe, expect, test } from 'vitest';
import { explainer } from '../../operations/index.ts';
import { fitHost, LEAVING, portOn, routed, service, ElectionWorld } from '../election-fixture.ts';
import { cancel, startLeaving, NAT, served, stateOf, WHOLE_WAY } from './handover-fixture.ts';
import type { Service } from '../model.ts';
import { moveService } from '../move.ts';
import { electionSentences } from '../sentences.ts';
import { whySentences } from '../why.ts';

const phaseOf = (world: ElectionWorld): string | undefined => service(world.fleet, NAT)?.handover?.phase;

async function passes(world: ElectionWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) await world.pass();
}

/** In the phase of a handover from a to x, with these hosts behind from then on. */
async function during(phase: string, ...behind: readonly string[]): Promise<ElectionWorld> {
  const world = await startLeaving();
  await world.until(NAT, phase);
  for (const name of behind) world.views.behind.add(name);
  return world;
}

describe('who does it', () => {
  test.each<readonly [string, Parameters<typeof fitHost>[1]]>([
    ['an-agent-that-is-too-old', { serviceVersion: 4 }],
    ['one-that-is-of-today', {}],
  ])('%s', async (_name, facts) => {
    const world = await served();
    await world.put(fitHost('x', facts), fitHost('a', LEAVING));
    await world.settle();
    expect(world.views.log.some((line) => line.includes('sync'))).toBe(facts?.serviceVersion === undefined);
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
    expect(stateOf(world)).toBe('clear done');
    expect(world.wrong()).toEqual([]);
  });

  test('only-what-translates-has-connections', async () => {
    const world = await served();
    const move = { id: 'subnet-route:s1', host: 'y', ...world.commandContext() };
    await world.commit((fleet) => moveService(fleet, move));
    await world.settle();
    expect(world.views.log).toEqual(['prepare y', 'switch a x y', 'retire b', 'clear b']);
  });

  test('an-old-host-that-is-held-on-to-and-silent-is-not-asked', async () => {
    const world = await served();
    await world.say(NAT, { onControlLoss: 'hold' });
    world.bfdUp.add('a');
    await world.commit((fleet) => moveService(fleet, { id: NAT, host: 'x', ...world.commandContext() }));
    world.views.behind.add('x');
    await world.pass();
    await world.silent('a');
    world.views.behind.clear();
    await world.settle();
    expect(world.views.log).toEqual(['prepare x', 'switch b x y']);
    expect(stateOf(world)).toBe('clear done');
  });
});

describe('the wait for it is short', () => {
  test.each(['a', 'x'])('before-the-switch: %s', async (late) => {
    const world = await during('syncing', late);
    await passes(world, 9);
    expect(stateOf(world)).toBe('sync waiting hosts-behind');
    expect(service(world.fleet, NAT)?.designated?.host).toBe('a');
    await passes(world, 4);
    expect(service(world.fleet, NAT)?.designated?.host).toBe('x');
    world.views.behind.clear();
    await world.settle();
    expect(stateOf(world)).toBe('clear done connections-not-copied');
    const { reason } = world.items()[0]!;
    expect(reason).toEqual({ code: 'connections-not-copied', service: NAT, uncopied: [late] });
    expect(world.operations().map(({ state }) => state)).toEqual(['succeeded']);
    expect(world.wrong()).toEqual([]);
  });

  test('after-the-switch, and whoever has not done it is not asked any more', async () => {
    const world = await during('resyncing', 'x');
    await world.setting({ handoverDrainMs: 3000 });
    await passes(world, 9);
    expect(stateOf(world)).toBe('resync waiting hosts-behind');
    await passes(world, 3);
    expect(stateOf(world)).toBe('drain waiting handover-drains');
    expect(phaseOf(world)).toBe('draining');
    // Later waits do not replace this reason.
    world.views.behind.add('a');
    await passes(world, 5);
    expect(stateOf(world)).toBe('clear waiting hosts-behind');
    world.views.behind.clear();
    await world.settle();
    expect(stateOf(world)).toBe('clear done connections-not-copied');
    expect(explainer([electionSentences])(world.items()[0]!.reason!)).toMatchInlineSnapshot(
      `"Connections of nat:r1 were not copied to its new host in time: x did not report its part as done. Connections that were open then may be cut."`,
    );
  });

  test('whoever-gets-on-in-time-is-waited-for', async () => {
    const world = await during('syncing', 'a');
    await passes(world, 7);
    world.views.behind.clear();
    await world.settle();
    expect(world.views.log).toEqual(WHOLE_WAY);
    expect(stateOf(world)).toBe('clear done');
  });
});

describe('while connections are copied before the switch', () => {
  test('a-target-that-dies-is-replaced-and-the-next-one-gets-them-too', async () => {
    const world = await during('syncing', 'x');
    await world.pass();
    await world.silent('x');
    await world.pass();
    expect(world.shown()).toBe('nat:r1 a (a to y, preparing), subnet-route:s1 b');
    await world.settle();
    expect(world.views.log).toEqual([
      'prepare x',
      'prepare y',
      'sync a y',
      'switch b y',
      'retire a',
      'resync a y',
      'redirect a',
      'clear a',
    ]);
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
    expect(stateOf(world)).toBe('clear done');
    expect(world.wrong()).toEqual([]);
  });

  test('the-old-host-dies-and-the-one-that-is-built-is-elected', async () => {
    const world = await during('syncing', 'x');
    await world.silent('a', 'down');
    await world.reconcile();
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
    await world.settle();
    expect(stateOf(world)).toBe('sync done elected-anew');
    expect(world.wrong()).toEqual([]);
  });

  test('held-elections-hold-it', async () => {
    const world = await during('syncing');
    await world.setting({ held: true });
    await passes(world, 30);
    expect(stateOf(world)).toBe('sync waiting elections-held');
    await world.setting({ held: false });
    await world.settle();
    expect(stateOf(world)).toBe('clear done');
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  });

  test('a-cancel-leaves-it-with-the-old-host', async () => {
    const world = await served();
    await world.commit((fleet) => moveService(fleet, { id: NAT, host: 'y', ...world.commandContext() }));
    await world.until(NAT, 'syncing');
    world.views.behind.add('y');
    await cancel(world);
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });

  test('one-that-was-requested-and-is-impossible-by-now-is-abandoned', async () => {
    const world = await served();
    await world.commit((fleet) => moveService(fleet, { id: NAT, host: 'y', ...world.commandContext() }));
    await world.until(NAT, 'syncing');
    world.views.behind.add('y');
    await world.pass();
    await world.put(fitHost('y', LEAVING));
    await world.settle();
    expect(stateOf(world)).toBe('sync failed target-unfit');
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });

  test('at-the-deadline-the-old-host-keeps-it', async () => {
    const world = await served();
    await world.commit((fleet) =>
      moveService(fleet, { id: NAT, host: 'x', ...world.commandContext(), deadlineMs: 8000 }),
    );
    await world.until(NAT, 'syncing');
    world.views.behind.add('x');
    await passes(world, 12);
    expect(stateOf(world)).toBe('sync failed deadline-passed');
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  });
});

describe('while they are copied again', () => {
  test('the-new-host-dies-and-the-old-one-goes-on-and-hands-over-to-another', async () => {
    const world = await during('resyncing', 'a');
    await world.pass();
    await world.silent('x');
    await world.reconcile();
    expect(whySentences(service(world.fleet, 'nat:r1') as Service)[0]).toMatch(
      /^Its host was out of contact: a was chosen.*, although it is leaving, because it still had the connections[.]$/,
    );
    world.views.behind.clear();
    await world.settle();
    // The old host has the connections: it continues to serve, and copies them anew to the next host.
    expect(stateOf(world)).toBe('clear done; resync done elected-anew');
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });

  test('the-old-host-dies-and-is-not-waited-for', async () => {
    const world = await during('resyncing', 'a');
    await world.pass();
    await world.silent('a');
    await world.settle();
    expect(stateOf(world)).toBe('clear done connections-not-copied');
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });

  test('a-cancel-leaves-it-with-the-new-host', async () => {
    const world = await during('resyncing', 'a');
    await cancel(world);
    world.views.behind.clear();
    await world.settle();
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });
});

test('a-server-that-takes-over-while-they-are-copied-goes-on', async () => {
  const world = await ElectionWorld.of(
    ['a', 'b', 'x', 'y'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    ['a', 'b', 'x', 'y'].map((name) => portOn(name, 's1')),
  );
  await world.settle();
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  for (const phase of ['syncing', 'resyncing']) {
    await world.until(NAT, phase);
    await world.restart();
  }
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(stateOf(world)).toBe('clear done');
  expect(world.wrong()).toEqual([]);
});
