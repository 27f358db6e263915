// What an Idempotency-Key costs beyond the write itself, in the database file and in memory, for every route that keeps an answer; and that
// the answer comes back as it was. Sizes, not times: they are the same on every machine.
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LightMyRequestResponse } from 'fastify';
import { afterAll, describe, expect, test } from 'vitest';
import { IDEMPOTENCY, type Route } from '../../src/access/index.ts';
import { Fleet, idOf, put, type Change } from '../../src/fleet/index.ts';
import { composeContents } from '../../src/kubernetes/decisions-fixture.ts';
import { accept, Journal } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { SITE } from '../../src/sites/index.ts';
import { hostChange, type ApiTestServer } from './api-test-server.ts';
import { adoptedWorkers } from './sample-clusters.ts';
import { managerChange } from './sample-nodes.ts';
import { keyOf, prepareServer, requestFor, sufficientCaller, TABLE } from './every-route.ts';

const COST_MAX_BYTES = 300;
/** So many that a page of the database is a byte of each. */
const WRITES = 4000;
const WRITES_AT_ONCE = 100;
const KEYS_IN_MEMORY = 50_000;

/** Their answers are kept whole: see docs/adr/0070-what-a-repeated-request-is-answered-from.md. */
const KEPT_WHOLE: readonly string[] = ['POST /api/v1/agent/join'];

/** What they name is in a state in which they are refused. Their answers have the form of those before them here. */
const REFUSED_HERE: readonly string[] = [
  'DELETE /api/v1/alarms/:id',
  'POST /api/v1/segments',
  'DELETE /api/v1/segments/:id',
  'POST /api/v1/instances/:id/unshelve',
  'POST /api/v1/instances/:id/rebuild',
  'POST /api/v1/instances/:id/power',
  'DELETE /api/v1/managers/:manager',
  'POST /api/v1/managers/:manager/acquire',
  'POST /api/v1/managers/:manager/answers',
  'POST /api/v1/managers/:manager/join',
  'POST /api/v1/managers/rebalance',
  'POST /api/v1/nodes/:id/actions',
  'POST /api/v1/reservations',
  'POST /api/v1/sealing-keys/reseal',
];

const LEFT = hostChange('central-2', {
  state: 'drained',
  connection: { state: 'down', sinceMs: 1 },
  leaving: { operation: 'op-left', drain: true, by: 'test', atMs: 1 },
});
const DRAINING = hostChange('central-2', {
  state: 'drained',
  leaving: { operation: `op-${'0'.repeat(20)}`, drain: true, by: 'test', atMs: 1 },
});

/** Some of what is accepted is kept sealed. */
const keyFolder = mkdtempSync(join(tmpdir(), 'muster-keys-'));

interface Prepared {
  readonly changes?: readonly Change[];
  readonly payload?: object;
}

const NODES = Array.from({ length: 100 }, (_, nth) => `node-${nth + 1}`);

/** What some of them need to be accepted, and requests that are answered otherwise than those of the table. */
const PREPARED: Readonly<Record<string, Prepared>> = {
  'POST /api/v1/scale-in/end': { changes: [LEFT], payload: { hosts: ['central-2'] } },
  'POST /restconf/operations/scalein-api::scalein-computes-end': {
    changes: [LEFT],
    payload: { input: { 'scalein-node-ids': ['central-2'] } },
  },
  'POST /api/v1/clusters/:id/workers/adopt': {
    changes: composeContents('edge', { nodes: 100 }, 1),
    payload: { nodes: NODES.map((node) => ({ node })) },
  },
  'POST /api/v1/clusters/:id/workers/forget': { changes: adoptedWorkers(NODES), payload: { workers: NODES } },
  'POST /api/v1/managers/:manager/pause': { changes: [managerChange('m1', { state: 'live', embedded: true })] },
  'PUT /api/v1/settings/:name': { payload: { value: { ...requiredValue('liveness'), suspectAfterMs: 14_000 } } },
};

const AGAIN: Readonly<Record<string, Prepared>> = {
  'POST /api/v1/scale-in/start': { changes: [DRAINING], payload: { hosts: ['central-2'] } },
  'POST /restconf/operations/scalein-api::scalein-computes-start': {
    changes: [DRAINING],
    payload: { input: { 'scalein-node-ids': ['central-2'] } },
  },
  'PUT /api/v1/settings/:name': { payload: { value: requiredValue('liveness') } },
};

function requiredValue(name: string): object {
  return PROGRAM.settings.find((setting) => setting.name === name)?.defaultValue as object;
}

interface Answered {
  readonly name: string;
  readonly first: LightMyRequestResponse;
  readonly again: LightMyRequestResponse;
  readonly kept: string | undefined;
}

async function answerTwice(route: Route, prepared: Prepared = PREPARED[keyOf(route)] ?? {}): Promise<Answered> {
  const { world, secrets, token } = await prepareServer({ secretsIn: keyFolder });
  const secret = secrets.get(sufficientCaller(route)) ?? '';
  if (prepared.changes !== undefined) await world.commit(...prepared.changes);
  const { payload } = prepared;
  const request = { ...requestFor(route, token), ...(payload !== undefined && { payload }) };
  const named = await idToDelete(world, route, secret);
  const url = named === undefined ? request.url : route.path.replace(':id', named);
  const send = (): Promise<LightMyRequestResponse> =>
    world.call(secret, { ...request, ...(url !== undefined && { url }), headers: { 'idempotency-key': 'k' } });
  const [first, again] = [await send(), await send()];
  const [stored] = [...world.journal.fleet.all(IDEMPOTENCY)];
  await world.close();
  const { kept } = { kept: undefined, ...(stored?.doc as { readonly kept: string } | undefined) };
  return { name: keyOf(route), first, again, kept };
}

/** What the fleet has cannot be deleted, since something needs it: nothing needs what was just made. */
async function idToDelete(world: ApiTestServer, route: Route, secret: string): Promise<string | undefined> {
  const payload = TABLE[`POST ${route.path.replace('/:id', '')}`]?.body;
  if (route.method !== 'DELETE' || payload === undefined || route.path.includes('/tokens/')) return undefined;
  const made = await world.call(secret, { method: 'POST', url: route.path.replace('/:id', ''), payload });
  return made.json<{ readonly id?: string }>().id;
}

const { world: empty } = await prepareServer();
const writes = empty.server.routes.filter(({ kind }) => kind === 'write');
await empty.close();

const answered: Answered[] = [];
for (const route of writes) answered.push(await answerTwice(route));
for (const route of writes) {
  const again = AGAIN[keyOf(route)];
  if (again !== undefined) answered.push(await answerTwice(route, again));
}
const accepted = answered.filter(({ first }) => first.statusCode < 300);

afterAll(() => rmSync(keyFolder, { recursive: true }));

test('every-route-that-writes-is-accepted-here-but-for-those-that-are-named', () => {
  const refused = answered.filter(({ first }) => first.statusCode >= 300).map(({ name }) => name);
  expect(refused.toSorted()).toEqual([...REFUSED_HERE].toSorted());
  expect(accepted.filter(({ kept }) => kept === undefined)).toEqual([]);
});

test.each(accepted.map((one) => [one.name, one] as const))(
  'a-repetition-is-answered-as-the-first-request: %s',
  (_, { first, again }) => {
    const { secret, ...shown } = first.json<Record<string, unknown>>();
    const { note, ...repeated } = again.json<Record<string, unknown>>();
    expect(repeated).toEqual(shown);
    expect(note === undefined).toBe(secret === undefined);
    expect(again.statusCode).toBe(first.statusCode);
    for (const header of ['location', 'etag', 'content-type'])
      expect(again.headers[header]).toBe(first.headers[header]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  },
);

describe('what a key costs', () => {
  const measured = accepted.filter(({ name }) => !KEPT_WHOLE.includes(name));
  const longest = measured
    .map(({ kept = '' }) => kept)
    .reduce((one, other) => (one.length < other.length ? other : one));

  test('the-longest-that-is-kept-is-what-is-measured', () => {
    expect(measured.length).toBeGreaterThan(55);
    expect(keptFor(1, longest).length).toBe(longest.length);
    expect(accepted.filter(({ kept = '' }) => kept.length > longest.length).map(({ name }) => name)).toEqual(
      KEPT_WHOLE,
    );
  });

  test('the-database-grows-by-at-most-300-bytes', async () => {
    const cost = ((await databaseBytes(longest)) - (await databaseBytes(undefined))) / WRITES;
    expect(cost).toBeGreaterThan(0);
    expect(cost).toBeLessThanOrEqual(COST_MAX_BYTES);
  });

  test('the-memory-grows-by-at-most-300-bytes', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heapBytes = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const fleet = new Fleet(PROGRAM.newRegistry());
    const before = heapBytes();
    for (let nth = 0; nth < KEYS_IN_MEMORY; nth += 1) fleet.apply(nth + 1, [asRead(keptChange(nth, longest))]);
    const cost = (heapBytes() - before) / KEYS_IN_MEMORY;
    expect(fleet.count(IDEMPOTENCY)).toBe(KEYS_IN_MEMORY);
    expect(cost).toBeLessThanOrEqual(COST_MAX_BYTES);
  });
});

/** As random and as long as real ones. */
function digest(of: string, length: number): string {
  return hash('sha256', of, 'base64url').replace(/^[-_]/, 'k').slice(0, length);
}

/** The same answer to another request. */
function keptFor(nth: number, kept: string): string {
  const [request = ''] = kept.split(' ', 1);
  return digest(`request ${nth}`, request.length) + kept.slice(request.length);
}

function keptChange(nth: number, kept: string): Change {
  return put(IDEMPOTENCY, idOf(IDEMPOTENCY, digest(`key ${nth}`, 12)), { kept: keptFor(nth, kept) });
}

/** As it comes from the journal: with texts of its own. */
function asRead(change: Change): Change {
  return JSON.parse(JSON.stringify(change)) as Change;
}

/** The size of the database after so many writes, each with a key when there is something to keep. */
async function databaseBytes(kept: string | undefined): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-cost-'));
  const path = join(folder, 'muster.db');
  try {
    const store = await openSqliteStore({ path });
    const lease = { name: 'fleet', holder: 'test', url: 'http://127.0.0.1:1', ttlMs: 10 ** 9 };
    const held = await store.acquireLease(lease);
    const journal = new Journal({ store, registry: PROGRAM.newRegistry(), clock: realClock, ids: realIds() });
    await journal.open();
    await journal.lead({ lease: 'fleet', epoch: held.lease?.epoch ?? 0 });
    for (let from = 0; from < WRITES; from += WRITES_AT_ONCE) {
      const submitted = Array.from({ length: WRITES_AT_ONCE }, (_, at) => submitSite(journal, from + at, kept));
      for (const outcome of await Promise.all(submitted)) expect(outcome.kind).toBe('accepted');
    }
    // Everything is in the file then, and nothing beside it.
    await store.close();
    return statSync(path).size;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function submitSite(journal: Journal, nth: number, kept: string | undefined): ReturnType<Journal['submit']> {
  const id = idOf(SITE, `site-${nth}`);
  const site = put(SITE, id, { name: id, changedBy: 'test', changedAtMs: 1_790_000_000_000 });
  const changes = kept === undefined ? [site] : [site, keptChange(nth, kept)];
  return journal.submit({ by: 'test', decide: () => accept(changes, null) });
}
