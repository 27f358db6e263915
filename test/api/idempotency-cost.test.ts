// What an Idempotency-Key costs beyond the write itself, in the journal and in memory. Sizes, not times: they are the same on
// every machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { guardWrite, IDEMPOTENCY, renderCommitted, type Write } from '../../src/access/index.ts';
import { Fleet, idOf, put, type Change, type FleetReader } from '../../src/fleet/index.ts';
import { accept, Journal } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { SITE } from '../../src/sites/index.ts';
import { SITE_REPRESENTATION } from '../../src/sites/runtime.ts';

const COST_MAX_BYTES = 300;
const WRITES = 500;
const NOW_MS = 1_790_000_000_000;

/** A digest as long as real ones. */
const digest = (nth: number, length: number): string => String(nth).padStart(length, 'd');

function writeOf(nth: number): Write {
  const id = idOf(SITE, `site-${nth}`);
  const write: Write<null> = {
    decide: () => accept([put(SITE, id, { name: id, changedBy: 'test', changedAtMs: NOW_MS })], null),
    answer: (_, after) =>
      renderCommitted(SITE_REPRESENTATION, after, { id, status: 201, location: `/api/v1/sites/${id}` }),
  };
  return write as Write;
}

function decisionOf(nth: number, withKey: boolean): ReturnType<typeof guardWrite> {
  const key = {
    id: digest(nth, 16),
    requestDigest: digest(nth, 12),
    former: { id: digest(nth, 64), request: digest(nth, 64) },
    path: '/api/v1/sites',
    nowMs: NOW_MS,
  };
  const caller = { name: 'test', role: 'admin' as const };
  const guard = { caller, idempotency: withKey ? key : undefined, redactorFor: () => undefined };
  return guardWrite(writeOf(nth), guard);
}

const TABLES = ['commit_log', 'resource', 'touched'];

/** The bytes of all columns of all rows, in a journal of so many writes. */
async function journalBytes(withKey: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-cost-'));
  const path = join(folder, 'muster.db');
  try {
    const store = await openSqliteStore({ path });
    const lease = { name: 'fleet', holder: 'test', url: 'http://127.0.0.1:1', ttlMs: 10 ** 9 };
    const held = await store.acquireLease(lease);
    const journal = new Journal({ store, registry: PROGRAM.newRegistry(), clock: realClock, ids: realIds() });
    await journal.open();
    await journal.lead({ lease: 'fleet', epoch: held.lease?.epoch ?? 0 });
    const submitted = Array.from({ length: WRITES }, (_, nth) =>
      journal.submit({ by: 'test', decide: decisionOf(nth, withKey) }),
    );
    for (const outcome of await Promise.all(submitted)) expect(outcome.kind).toBe('accepted');
    await store.close();
    return bytesIn(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function bytesIn(path: string): number {
  const database = new DatabaseSync(path);
  const sizes = TABLES.map((table) => {
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
    const sum = columns.map(({ name }) => `coalesce(length(CAST("${String(name)}" AS BLOB)), 0)`).join(' + ');
    return Number(database.prepare(`SELECT sum(${sum}) AS bytes FROM ${table}`).get()?.['bytes']);
  });
  database.close();
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('a key costs at most 300 bytes of the journal', async () => {
  const cost = ((await journalBytes(true)) - (await journalBytes(false))) / WRITES;
  expect(cost).toBeGreaterThan(0);
  expect(cost).toBeLessThanOrEqual(COST_MAX_BYTES);
});

test('a key costs at most 300 bytes of memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const KEYS = 50_000;
  const fleet = new Fleet(PROGRAM.newRegistry());
  const before = heapBytes();
  for (let nth = 0; nth < KEYS; nth += 1) fleet.apply(nth + 1, [keptFor(fleet, nth)]);
  const cost = (heapBytes() - before) / KEYS;
  expect(fleet.count(IDEMPOTENCY)).toBe(KEYS);
  expect(cost).toBeLessThanOrEqual(COST_MAX_BYTES);
});

/** The change that keeps the answer, as it is read from the journal. */
function keptFor(fleet: FleetReader, nth: number): Change {
  const decision = decisionOf(nth, true)(fleet);
  const changes = decision.kind === 'accept' ? decision.changes : [];
  const kept = changes.find(({ kind }) => kind === IDEMPOTENCY.name);
  if (kept === undefined) throw new Error('nothing was kept');
  return JSON.parse(JSON.stringify(kept)) as Change;
}
