// Hosts that are told to leave: only ones that may go are told, each time they are, and who does not answer does not keep force.
import { expect, test } from 'vitest';
import { accept } from '../journal/index.ts';
import { retryOperation } from '../operations/index.ts';
import { guests, hostIn, hostsNamed, KINDS, World } from './scale-in-fixture.ts';

const force = { reason: 'the machine is scrap' };
const DAY_MS = 24 * 3_600_000;

test('never: a host full of guests is told to leave because an old removal is retried', async () => {
  const world = await World.of(...hostsNamed('c2'), hostIn('c1', 'drained'));
  await world.connect('c1', 'suspect');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  world.clock.now += DAY_MS + 1;
  await world.settle();
  expect(world.operationState(operation)).toBe('failed');
  await world.connect('c1', 'up');
  await world.commit(world.recovering(['c1']));
  await world.settle();
  await world.commit(() => accept([guests.put('g', { host: 'c1', presence: ['c1'] })], null));
  await world.commit(world.starting(['c1'], { drain: false }));
  await world.tick();
  await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
  await world.settle();
  expect(world.left).toEqual([]);
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'lives-here', tenant: 'g' } });
  expect(world.host('c1')).toMatchObject({ state: 'draining', connection: { state: 'up' }, credential: 't-c1' });
});

test('one-that-could-not-leave-is-not-asked-again-once-something-lives-there', async () => {
  const world = await World.of(...hostsNamed('c2'), hostIn('c1', 'drained'));
  world.unable.add('c1');
  const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
  await world.tick();
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'waiting', reason: { code: 'not-left' } });
  await world.commit(() => accept([guests.put('late', { host: 'c1', presence: ['c1'] })], null));
  await world.settle();
  expect(world.left).toEqual(['leave c1']);
  expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'lives-here' } });
});
