// The verdict: what clients were answered against what is there, read from every server over the API and from every database by SQL.
import { readFileSync } from 'node:fs';
import type { Database } from './database.ts';
import { waitFor } from './wait-for.ts';
import type { Acknowledged, ClientLoad } from './load.ts';
import { MACHINES } from './network.ts';
import { ask, type Servers } from './servers.ts';

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Acknowledged under another id than the one that is there. */
  readonly differing: readonly string[];
  readonly gaps: readonly number[];
}

export const GOOD = { lost: [], doubled: [], differing: [], gaps: [] } as const;

interface Found {
  readonly name: string;
  readonly id: string;
}

/** One verdict for each place that was read. */
export async function check(load: ClientLoad, servers: Servers, database: Database): Promise<Record<string, Verdict>> {
  const verdicts: Record<string, Verdict> = {};
  for (const machine of MACHINES) {
    await servers.isReady(machine);
    verdicts[`server ${machine}`] = compare(load.acknowledged, await tokensOf(servers, servers.url(machine)), []);
  }
  const primary = await database.primary();
  const head = await newestRevision(database, primary);
  for (const machine of MACHINES) {
    // Standbys follow: what the primary had is there once they have caught up.
    await waitFor(`PostgreSQL on ${machine} to have revision ${head}`, async () =>
      (await newestRevision(database, machine).catch(() => 0)) >= head ? true : undefined,
    );
    const rows = await database.query<{ id: string; body: string }>(
      machine,
      `SELECT id, body FROM muster.resource WHERE kind = 'token'`,
      'muster',
    );
    const found = rows.map(({ id, body }) => ({ id, name: (JSON.parse(body) as { name: string }).name }));
    const commits = await database.query<{ revision: string }>(
      machine,
      `SELECT revision FROM muster.commit_log WHERE revision <= ${head} ORDER BY revision`,
      'muster',
    );
    const order = commits.map(({ revision }) => Number(revision));
    const gaps = order.filter((revision, index) => index > 0 && revision !== (order[index - 1] ?? 0) + 1);
    verdicts[`database ${machine}`] = compare(load.acknowledged, found, gaps);
  }
  return verdicts;
}

function compare(acknowledged: readonly Acknowledged[], found: readonly Found[], gaps: readonly number[]): Verdict {
  const idsByName = new Map<string, string[]>();
  for (const { name, id } of found) idsByName.set(name, [...(idsByName.get(name) ?? []), id]);
  const doubled = [...idsByName].filter(([, ids]) => ids.length > 1).map(([name]) => name);
  const lost = acknowledged.filter(({ name }) => !idsByName.has(name)).map(({ name }) => name);
  const differing = acknowledged
    .filter(({ name, id }) => idsByName.has(name) && idsByName.get(name)?.includes(id) !== true)
    .map(({ name }) => name);
  return { lost, doubled, differing, gaps };
}

async function newestRevision(database: Database, machine: (typeof MACHINES)[number]): Promise<number> {
  const [row] = await database.query<{ revision: string }>(machine, 'SELECT revision FROM muster.head', 'muster');
  return Number(row?.revision ?? 0);
}

async function tokensOf(servers: Servers, url: string): Promise<readonly Found[]> {
  const ca = readFileSync(servers.ca, 'utf8');
  const headers = { authorization: `Bearer ${servers.adminToken()}` };
  const found: Found[] = [];
  let next: string | undefined = '/api/v1/tokens?limit=500';
  while (next !== undefined) {
    const answer = await ask(`${url}${next}`, { ca, headers, timeoutMs: 20_000 });
    if (answer.status !== 200) throw new Error(`${url}${next}: ${answer.status} ${answer.body.slice(0, 300)}`);
    const page = JSON.parse(answer.body) as { items: readonly Found[]; next?: string | null };
    found.push(...page.items.map(({ name, id }) => ({ name, id })));
    next =
      typeof page.next === 'string' ? `/api/v1/tokens?limit=500&after=${encodeURIComponent(page.next)}` : undefined;
  }
  return found;
}
