// Moves between hosts whose runtimes require the one-time secret that the target prepared: it gets from one agent to the other, it is in no commit, and
// a server that dies on the way loses the move at most, never the instance.
import { expect, test } from 'vitest';
import { disturbAtEachPoint } from '../disturbance-fixture.ts';
import { startFixtureF } from '../reference-fixture.ts';

const SECRET = 'one-time-secret';
const FIXTURE = { machine: { handoverFor: (id: string) => ({ line: '192.0.2.4:7000', secret: `${SECRET} ${id}` }) } };

test.each(['live', 'cold'] as const)('a %s move hands the secret to the source, past the journal', async (kind) => {
  const world = await startFixtureF(FIXTURE);
  const committed: string[] = [];
  world.onCommit((applied) => void committed.push(JSON.stringify(applied)));
  await world.boot({ name: 'web', networks: [{ network: 'n' }] });
  await world.move('web', { kind });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  expect(world.copies('web')).toEqual(['h4']);
  const migrated = world.performedTasks.filter(({ task }) => task === 'migrate');
  expect(migrated.map(({ host, args }) => [host, args['handover']])).toEqual([
    ['h2', { line: '192.0.2.4:7000', secret: `${SECRET} web` }],
  ]);
  expect(committed.length).toBeGreaterThan(5);
  expect(committed.filter((text) => text.includes(SECRET))).toEqual([]);
});

test('a server that dies at any commit of such a move leaves one instance that runs', async () => {
  const points = await disturbAtEachPoint(
    { name: 'embedded', fixture: FIXTURE, ends: 'active' },
    {
      point: 'after a commit',
      work: { name: 'a live move', begin: (world, name) => world.move(name) },
      disturb: (world) => world.server.die(),
      verify: async ({ world, name }) => {
        const { state, host } = world.instance(name);
        expect([state, world.copies(name)]).toEqual(['active', [host]]);
        await world.remove(name);
        await world.settle();
      },
    },
  );
  expect(points).toBeGreaterThan(2);
});
