// One service that its target cannot prepare: it alone waits, reports why, and its alarm ends when the host recovers.
import { describe, expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { explainer } from '../../operations/index.ts';
import { fitHost, LEAVING, portOn, routed, service, openWithOneCandidate, ElectionWorld } from '../election-fixture.ts';
import { designationEvacuator } from '../evacuator.ts';
import { moveService } from '../move.ts';
import { serviceRoutes } from '../routes.ts';
import { electionSentences } from '../sentences.ts';
import { findUnreadyServices } from './unready-services.ts';

const SICK = 'nat:r1';
const SILENT = 'next hop 203.0.113.1 does not answer';

/** Two services at a, which leaves; only x is a candidate, and x cannot prepare one of them. */
async function leavingWithSickService(): Promise<ElectionWorld> {
  const world = await openWithOneCandidate();
  world.views.unready.set(`x ${SICK}`, SILENT);
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  return world;
}

const alarms = (world: ElectionWorld): string[] => [...world.fleet.all(ALARM)].map(({ id }): string => id);

async function passes(world: ElectionWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) await world.pass();
}

test('never: a healthy service waits for a sick one beyond its own steps', async () => {
  const world = await leavingWithSickService();
  await passes(world, 8);
  expect(service(world.fleet, 'subnet-route:s1')).toMatchObject({ designated: { host: 'x' } });
  expect(world.shown()).toContain('nat:r1 a (a to x, preparing)');
  expect(world.open()).toEqual([`${SICK} prepare waiting service-not-ready`]);
});

test('never: a sick service uses the budget of a healthy one', async () => {
  const world = await ElectionWorld.of(
    fitHost('a'),
    fitHost('x', { baseWeight: -9 }),
    routed('r1', ['s1']),
    portOn('a', 's1'),
    portOn('x', 's1'),
  );
  await world.setting({ handoversAtOnce: 1 });
  await world.settle();
  world.views.unready.set(`x ${SICK}`, SILENT);
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a (a to x, preparing), subnet-route:s1 a');
  for (let look = 0; look < 4; look += 1) {
    await passes(world, 4);
    await world.reconcile();
  }
  expect(service(world.fleet, 'subnet-route:s1')).toMatchObject({ designated: { host: 'x' } });
  expect(world.open()).toEqual([`${SICK} prepare waiting service-not-ready`]);
});

test('the-reason-of-the-agent-reaches-the-operation-and-an-alarm, which is cleared when the service is ready', async () => {
  const world = await leavingWithSickService();
  await passes(world, 5);
  expect(alarms(world)).toEqual([]);
  await passes(world, 30);
  const { reason } = world.items().find(({ target }) => target.id === SICK)!;
  expect(explainer([electionSentences])(reason!)).toBe(
    'nat:r1 cannot be provided by x yet: next hop 203.0.113.1 does not answer. a serves meanwhile.',
  );
  expect(alarms(world)).toEqual([`service-not-ready:${SICK}`]);
  world.views.unready.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 x');
  expect(alarms(world)).toEqual([]);
  expect(world.wrong()).toEqual([]);
});

test('services-why-shows-the-reason-of-the-agent-and-the-host-that-lacks-something', async () => {
  const world = await leavingWithSickService();
  await passes(world, 8);
  const why = serviceRoutes.find(({ path }) => path.endsWith('/:id/why'))!;
  const call = { params: { id: SICK } } as unknown as Parameters<typeof why.handle>[0];
  const context = { journal: { fleet: world.fleet } } as unknown as Parameters<typeof why.handle>[1];
  const answered = (await why.handle(call, context)) as { readonly body: { readonly sentences: readonly string[] } };
  expect(answered.body.sentences).toContain(
    'nat:r1 cannot be provided by x yet: next hop 203.0.113.1 does not answer. a serves meanwhile.',
  );
  const { operation } = world.items().find(({ target }) => target.id === SICK)!;
  expect(findUnreadyServices(world.fleet, 'x')).toEqual([{ service: SICK, because: SILENT, operation }]);
  expect(findUnreadyServices(world.fleet, 'a')).toEqual([]);
  world.views.unready.clear();
  await world.settle();
  expect(findUnreadyServices(world.fleet, 'x')).toEqual([]);
});

test('never: a host that comes back is left for another target', async () => {
  const world = await leavingWithSickService();
  await world.put(fitHost('y'), portOn('y', 's1'));
  const targets = new Set<string | undefined>();
  world.journal.onCommit(() => targets.add(service(world.fleet, SICK)?.handover?.to));
  // Late enough that another host would be tried with the next look.
  await passes(world, 58);
  await world.edit('a', { state: 'recovering' });
  targets.clear();
  await passes(world, 20);
  expect([...targets]).toEqual([undefined]);
  expect(service(world.fleet, SICK)).toMatchObject({ designated: { host: 'a' } });
});

test('a-host-that-comes-back-ends-what-is-not-switched-at-once-and-no-other-is-tried', async () => {
  const world = await leavingWithSickService();
  await world.put(fitHost('y'), portOn('y', 's1'));
  await passes(world, 20);
  await world.edit('a', { state: 'recovering' });
  await passes(world, 2);
  expect(world.open()).toEqual([]);
  expect(service(world.fleet, SICK)).toMatchObject({ designated: { host: 'a' } });
  expect(service(world.fleet, SICK)?.handover).toBeUndefined();
  const ended = world.items().find(({ target }) => target.id === SICK)!;
  expect([ended.state, ended.reason?.code]).toEqual(['done', 'host-stays']);
  expect(alarms(world)).toEqual([]);
});

describe('a host that comes back waits', () => {
  const holds = (world: ElectionWorld): boolean | undefined => designationEvacuator.holdsRecover?.(world.fleet, 'a');

  test('until-what-began-because-it-left-has-ended, which-is-at-once', async () => {
    const world = await leavingWithSickService();
    await passes(world, 20);
    await world.edit('a', { state: 'recovering' });
    expect(holds(world)).toBe(true);
    await passes(world, 2);
    expect(holds(world)).toBe(false);
  });

  test('until-what-is-switched-has-ended, and not for a move of its own whose target lacks something', async () => {
    const world = await leavingWithSickService();
    await world.edit('a', { state: 'recovering' });
    await passes(world, 5);
    await world.commit((fleet) => moveService(fleet, { id: SICK, host: 'x', ...world.commandContext() }));
    await passes(world, 30);
    expect(service(world.fleet, SICK)?.handover).toMatchObject({ phase: 'preparing', to: 'x' });
    expect(holds(world)).toBe(false);
    world.views.unready.clear();
    await world.until(SICK, 'switched');
    expect(holds(world)).toBe(true);
    await world.settle();
    expect(holds(world)).toBe(false);
  });
});

test('with-another-host-it-goes-there-after-a-minute', async () => {
  const world = await leavingWithSickService();
  await world.put(fitHost('y'), portOn('y', 's1'));
  await passes(world, 75);
  await world.settle();
  expect(service(world.fleet, SICK)).toMatchObject({ designated: { host: 'y' } });
  expect(alarms(world)).toEqual([]);
});

test('the-alarm-names-the-host-that-is-tried-now', async () => {
  const world = await leavingWithSickService();
  await world.put(fitHost('y'), portOn('y', 's1'));
  world.views.unready.set(`y ${SICK}`, 'next hop 203.0.113.1 does not answer y either');
  await passes(world, 40);
  expect([...world.fleet.all(ALARM)].map(({ doc }) => doc.reason)).toMatchObject([{ host: 'x', because: SILENT }]);
  // Also while the other target has just been chosen and has not reported yet.
  for (let pass = 0; pass < 60; pass += 1) {
    await world.pass();
    expect(alarms(world)).toEqual([`service-not-ready:${SICK}`]);
  }
  const { reason } = world.items().find(({ target }) => target.id === SICK)!;
  expect(reason).toMatchObject({ code: 'service-not-ready', host: 'y' });
  expect([...world.fleet.all(ALARM)].map(({ doc }) => doc.reason)).toEqual([reason]);
});

test('a-target-that-is-not-ready-is-passed-over-for-one-that-would-not-be-chosen-before-it', async () => {
  const world = await leavingWithSickService();
  await world.put(fitHost('y', { baseWeight: -90 }), portOn('y', 's1'));
  await passes(world, 75);
  await world.settle();
  expect(service(world.fleet, SICK)).toMatchObject({ designated: { host: 'y' } });
});
