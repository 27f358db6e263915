// What an agent says of the copies of connections: in the words of the view that requests them, which may be of the version before.
import { expect, test } from 'vitest';
import { ConntrackSyncWorld } from './conntrack-sync-fixture.ts';

/** What two hosts say at each step of a handover, with views in the words of today or in those of 0.1.0. */
async function copiesSaid(views: 'glossary' | 'former'): Promise<readonly string[]> {
  const world = await ConntrackSyncWorld.start(['c1', 'c2']);
  await world.designate('c1');
  await world.untilConverged('c1');
  const sent: string[] = [];
  for (const name of ['c1', 'c2']) {
    const { link } = world.host(name).testHost;
    const [view, deposit, collect] = [link.view.bind(link), link.deposit.bind(link), link.collect.bind(link)];
    // A server of the version before ignores which words the agent knows.
    link.view = (to, { words, ...request }, signal) =>
      view(to, { ...request, ...(views === 'glossary' && words !== undefined && { words }) }, signal);
    link.deposit = (to, left) => {
      sent.push(`${name} leaves ${left.phase}`);
      return deposit(to, left);
    };
    link.collect = (to, request, signal) => {
      sent.push(`${name} fetches ${request.phase}`);
      return collect(to, request, signal);
    };
  }
  // The polls that wait already were begun before.
  await world.clock.pass(60_000);
  for (const phase of ['syncing', 'switched', 'retiring', 'resyncing'] as const) {
    await world.setHandoverPhase('c1', 'c2', phase);
    await world.untilConverged('c1', 'c2');
  }
  return [...new Set(sent)].toSorted();
}

test('a-server-of-the-version-before-is-told-in-its-words-which-copy-it-is', async () => {
  expect(await copiesSaid('former')).toEqual([
    'c1 leaves reseeding',
    'c1 leaves seeding',
    'c2 fetches reseeding',
    'c2 fetches seeding',
  ]);
});

test('a-server-of-today-is-told-in-the-words-of-today', async () => {
  expect(await copiesSaid('glossary')).toEqual([
    'c1 leaves resyncing',
    'c1 leaves syncing',
    'c2 fetches resyncing',
    'c2 fetches syncing',
  ]);
});
