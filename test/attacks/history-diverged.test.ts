// A standby that lagged is really promoted: the server that had seen more commits reports it, with the range that was lost, and
// continues with what is there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder, startServer } from '../cli/muster.ts';
import { primaryAndStandby, stopReceiving, untilReplayed } from '../postgres/standby-pair.ts';
import { postgresSuite, sql } from '../postgres/suite.ts';

const headOf = async (url: string): Promise<number> => {
  const [head] = await sql<{ revision: number }>(url, 'SELECT revision::int FROM muster.head');
  return head?.revision ?? 0;
};

postgresSuite('history that diverged', (postgres) => {
  test('a lagging standby is promoted: log, alarm with the lost range, metric, and all other work continues', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const data = join(newFolder(), 'data');
    const { username, password } = new URL(primary.url);
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const store = `postgres://${username}:${password}@${hosts}/postgres`;
    const server = await startServer(data, '--store', store);
    await server.said(/recorded which keys/);
    await server.json('sites', 'create', 'kept');
    await untilReplayed(primary, standby);
    await stopReceiving(primary, standby);
    const common = await headOf(standby.url);
    for (const name of ['lost-1', 'lost-2', 'lost-3']) await server.json('sites', 'create', name);
    const seen = await headOf(primary.url);
    expect(seen).toBe(common + 3);

    await primary.crash();
    await sql(standby.url, 'SELECT pg_promote()');
    await server.said(/integrity: history-diverged/);
    const line = server
      .err()
      .split('\n')
      .find((text) => text.includes('integrity: history-diverged'));
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 50,
      alarm: 'history-diverged',
      lostFrom: common + 1,
      lostTo: seen,
    });
    // A write that is repeated until the lease is held on the new primary.
    expect(await server.muster('sites', 'create', 'later', '--request-timeout', '30s')).toMatchObject({ code: 0 });
    const sites = await server.json<{ name: string }[]>('sites', 'list');
    expect(sites.map(({ name }) => name).toSorted()).toEqual(['central', 'kept', 'later']);
    let alarms: { id: string; sentence: string }[] = [];
    while (alarms.length === 0) alarms = await server.json('alarms');
    expect(alarms).toMatchObject([{ id: `history-diverged:${common + 1}-${seen}` }]);
    expect(alarms[0]?.sentence).toContain(`revisions ${common + 1} to ${seen}`);
    const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`;
    const metrics = await (await fetch(`${server.url}/metrics`, { headers: { authorization } })).text();
    expect(metrics).toContain('muster_integrity_findings_total{code="history-diverged"} 1');
    await server.stop();

    // The loss is on record, so the witness of this server does not keep it from starting again.
    const again = await startServer(data, '--store', store);
    expect(await again.json('alarms')).toHaveLength(1);
    expect(await again.muster('alarms', 'acknowledge', alarms[0]?.id ?? '')).toMatchObject({ code: 0 });
    await again.stop();
  });
});
