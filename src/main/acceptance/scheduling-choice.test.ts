import { expect, test } from 'vitest';
import { fixtureF } from './reference-fixture.ts';

test('scheduling-1 x', async () => {
  const world = await fixtureF();
  await world.userPort('mine', 'n');
  const t = world.nowMs;
  const web = await world.boot({ networks: [{ port: 'mine' }] });
  console.log(world.nowMs - t, JSON.stringify(web), JSON.stringify(world.ports('web')), world.tasks(), world.copies('web'));
  expect(web.state).toBe('active');
});
test('scheduling-1 y', async () => {
  const world = await fixtureF({ backEnd: 'simulated' });
  await world.userPort('mine', 'n');
  const t = world.nowMs;
  const web = await world.boot({ networks: [{ port: 'mine' }] });
  console.log(world.nowMs - t, JSON.stringify(web), JSON.stringify(world.ports('web')), world.tasks(), world.calls());
  expect(web.state).toBe('active');
});
