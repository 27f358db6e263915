// What an agent says of the copies of connections, to servers that may be of the version before.
import { expect, test } from 'vitest';
import { ConntrackSyncWorld } from './conntrack-sync-fixture.ts';

test('a-server-of-the-version-before-is-told-in-its-words-which-copy-it-is', async () => {
  const world = await ConntrackSyncWorld.start(['c1', 'c2']);
  await world.designate('c1');
  await world.untilConverged('c1');
  const sent: string[] = [];
  for (const name of ['c1', 'c2']) {
    const { link } = world.host(name).testHost;
    const [deposit, collect] = [link.deposit.bind(link), link.collect.bind(link)];
    link.deposit = (to, left) => {
      sent.push(`${name} leaves ${left.phase}`);
      return deposit(to, left);
    };
    link.collect = (to, ask, signal) => {
      sent.push(`${name} fetches ${ask.phase}`);
      return collect(to, ask, signal);
    };
  }
  for (const phase of ['syncing', 'switched', 'retiring', 'resyncing'] as const) {
    await world.setHandoverPhase('c1', 'c2', phase);
    await world.untilConverged('c1', 'c2');
  }
  expect([...new Set(sent)].toSorted()).toEqual([
    'c1 leaves reseeding',
    'c1 leaves seeding',
    'c2 fetches reseeding',
    'c2 fetches seeding',
  ]);
});
