// A PostgreSQL store that was damaged, or that lost commits, behind the back of its servers: named at the next start, and gone on with
// only after exactly that loss was accepted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder, run, startServer, type Ended } from '../cli/muster.ts';
import { freshDatabase, postgresSuite, sql } from '../postgres/suite.ts';

interface Site {
  readonly data: string;
  readonly store: string;
}

const SITES = ['north', 'south', 'west'];

/** A server that made three sites and was stopped. */
async function stoppedServer(url: string): Promise<Site> {
  const site = { data: join(newFolder(), 'data'), store: await freshDatabase(url) };
  const server = await startServer(site.data, '--store', site.store);
  await server.said(/recorded which keys/);
  for (const name of SITES) await server.json('sites', 'create', name);
  await server.stop();
  return site;
}

const started = ({ data, store }: Site, ...more: readonly string[]): Promise<Ended> =>
  run(['serve', '--data', data, '--store', store, '--listen', '127.0.0.1:0', ...more]);

const acceptedBy = (refused: Ended): number => Number(/--accept-loss (\d+)/.exec(refused.err)?.[1]);

/** Starts with the loss accepted; answers what there is then, and how it was put on record. */
async function restart({ data, store }: Site, revision: number) {
  const server = await startServer(data, '--store', store, '--accept-loss', String(revision));
  await server.said(/integrity: loss-accepted/);
  let alarms: { id: string; sentence: string }[] = [];
  while (alarms.length === 0) alarms = await server.json('alarms');
  const sites = await server.json<{ name: string }[]>('sites', 'list');
  const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`;
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: { authorization } })).text();
  await server.stop();
  return { alarms, sites: sites.map(({ name }) => name).toSorted(), metrics, log: server.err() };
}

async function expectWholeAgain(site: Site): Promise<void> {
  expect(await run(['verify', '--store', site.store])).toMatchObject({ code: 0 });
  // The loss is on record: neither a second consent is needed, nor is one taken.
  expect((await started(site, '--accept-loss', '3')).err).toContain('nothing is lost');
  const server = await startServer(site.data, '--store', site.store);
  expect(await server.muster('sites', 'create', 'later')).toMatchObject({ code: 0 });
  await server.stop();
}

postgresSuite('a damaged PostgreSQL store', (postgres) => {
  test('a document: named with its revision, refused, accepted by its revision only, taken from the log', async () => {
    const site = await stoppedServer(postgres.url);
    const change = `UPDATE muster.resource SET body = replace(body, 'south', 'sowth') WHERE kind = 'site' AND id = 'south'`;
    await sql(site.store, change);
    const refused = await started(site);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/is damaged: the document site\/south of revision \d+ is damaged\./);
    expect(refused.err).not.toContain(new URL(site.store).password);
    const revision = acceptedBy(refused);
    for (const wrong of [revision - 1, revision + 1, 1]) {
      expect(await started(site, '--accept-loss', String(wrong))).toMatchObject({ code: 1, err: refused.err });
    }
    const after = await restart(site, revision);
    expect(after.sites).toEqual(['central', ...SITES]);
    expect(after.alarms).toMatchObject([{ id: `loss-accepted:${revision}` }]);
    expect(after.alarms[0]?.sentence).toContain('site/south');
    expect(after.metrics).toContain('muster_integrity_findings_total{code="loss-accepted"} 1');
    expect(after.log).toContain('site/south: taken from the commit of revision');
    await expectWholeAgain(site);
  });

  test('a log without its end: the missing revisions are named, and accepted by the revision of the head only', async () => {
    const site = await stoppedServer(postgres.url);
    const [head] = await sql<{ revision: number }>(site.store, 'SELECT revision::int FROM muster.head');
    const last = head?.revision ?? 0;
    await sql(site.store, 'DELETE FROM muster.commit_log WHERE revision > $1', [last - 2]);
    const refused = await started(site);
    expect(refused.err).toContain(`the commits of revisions ${last - 1} to ${last} are missing from the log`);
    expect(acceptedBy(refused)).toBe(last);
    expect((await started(site, '--accept-loss', String(last - 2))).err).toBe(refused.err);
    const after = await restart(site, last);
    // Documents are kept as they are: only the history of their last changes is gone.
    expect(after.sites).toEqual(['central', ...SITES]);
    expect(after.alarms[0]?.sentence).toContain(`${last - 1} to ${last}`);
    await expectWholeAgain(site);
  });

  test('an older copy of the database in its place: the lost revisions are named and put on record', async () => {
    const site = await stoppedServer(postgres.url);
    const copy = new URL(site.store);
    copy.pathname += '_old';
    await sql(
      postgres.url,
      `CREATE DATABASE ${copy.pathname.slice(1)} TEMPLATE ${new URL(site.store).pathname.slice(1)}`,
    );
    const server = await startServer(site.data, '--store', site.store);
    await server.json('sites', 'create', 'lost');
    await server.stop();
    const old = { ...site, store: copy.href };
    const refused = await started(old);
    expect(refused.err).toMatch(/has lost commits: revisions? .* acknowledged, and it ends at \d+/);
    const revision = acceptedBy(refused);
    expect((await started(old, '--accept-loss', String(revision + 1))).err).toBe(refused.err);
    const after = await restart(old, revision);
    expect(after.sites).toEqual(['central', ...SITES]);
    expect(after.alarms[0]?.sentence).toContain(String(revision + 1));
    await expectWholeAgain(old);
  });
});
