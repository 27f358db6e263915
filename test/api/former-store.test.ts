// A store of version 0.1.0 behind a whole server of this version: what its API answers of it, and what it writes to it.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IDEMPOTENCY } from '../../src/access/index.ts';
import { openSqliteReader, openSqliteStore, sha256, Verifier } from '../../src/journal/runtime.ts';
import { startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const FIXTURE = new URL('../fixtures/journal-0.1.0.db', import.meta.url);
/** Words of fields, phases, codes and kinds that this version does not use any more. */
const FORMER_WORDS =
  /"(?:handOver|hand-over|seeding|reseeding|unheard|vouched-off|host-not-heard|target-unheard|held-while-heard|ask-target)"/;

async function copyOfFixture(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-former-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'journal.db');
  await copyFile(FIXTURE, path);
  return path;
}

async function startOn(
  path: string,
  prepare?: (store: Awaited<ReturnType<typeof openSqliteStore>>) => Promise<unknown>,
): Promise<ApiTestServer> {
  const store = await openSqliteStore({ path });
  await prepare?.(store);
  return startApiTestServer({ store });
}

async function read(world: ApiTestServer, secret: string, url: string): Promise<string> {
  const { statusCode, body } = await world.call(secret, { url });
  expect([url, statusCode]).toEqual([url, 200]);
  return body;
}

test('its-documents-and-their-history-are-answered-in-the-words-of-this-version', async () => {
  const world = await startOn(await copyOfFixture());
  const secret = await world.token('admin');
  const services = await read(world, secret, '/api/v1/services');
  expect(JSON.parse(services)).toMatchObject({
    items: expect.arrayContaining([
      expect.objectContaining({ id: 'nat:r1', handover: expect.objectContaining({ phase: 'syncing' }) as object }),
    ]) as object,
  });
  const history = await read(world, secret, '/api/v1/history?kind=service&id=nat%3Ar1');
  expect(history).toContain('"phase":"syncing"');
  const whole = await read(world, secret, '/api/v1/history?limit=200');
  for (const url of ['/api/v1/hosts', '/api/v1/operations', '/api/v1/settings', '/api/v1/alarms'])
    expect(await read(world, secret, url)).not.toMatch(FORMER_WORDS);
  for (const text of [services, history, whole]) expect(text).not.toMatch(FORMER_WORDS);
  await world.close();
});

test('a-write-goes-on-from-it-and-the-store-verifies', async () => {
  const path = await copyOfFixture();
  const world = await startOn(path);
  const secret = await world.token('admin');
  const request = { method: 'PATCH', url: '/api/v1/services/nat%3Ar1', payload: { exclusion: 'hard' } } as const;
  const { statusCode, body } = await world.call(secret, request);
  expect(statusCode).toBe(200);
  expect(JSON.parse(body)).toMatchObject({ exclusion: 'hard', handover: { phase: 'syncing' } });
  await world.close();
  const verifier = new Verifier(sha256);
  const reader = openSqliteReader(path);
  await reader.dump(verifier);
  await reader.close();
  expect(verifier.finish().damage).toEqual([]);
});

test('a-repeated-request-gets-what-version-0.1.0-wrote-in-the-words-of-this-version', async () => {
  const path = await copyOfFixture();
  const request = {
    method: 'PATCH',
    url: '/api/v1/services/nat%3Ar3',
    payload: { exclusion: 'hard' },
    headers: { 'idempotency-key': 'key-one' },
  } as const;
  // The same request at another copy shows what is kept for it, which is in the store beside a document with former words.
  const other = await startOn(await copyOfFixture());
  expect((await other.call(await other.token('admin', { name: 'ann' }), request)).statusCode).toBe(200);
  const kept = [...other.journal.fleet.all(IDEMPOTENCY)].find(({ id }) => id !== 'root.one');
  await other.close();
  expect(kept?.doc).toMatchObject({ kept: expect.stringMatching(/ 200\w+ C0$/) as string });
  const why = {
    cause: 'asked-for',
    chosen: 'c2',
    candidates: [],
    candidatesInAll: 0,
    rejected: [],
    rejectedInAll: 0,
    atMs: 1,
  };
  const former = { operation: 'op', from: 'c1', to: 'c2', phase: 'seeding', why, sinceMs: 1 };
  const changed = { exclusion: 'hard', onControlLoss: 'move', epoch: 4, changedBy: 'ann', changedAtMs: 1 };
  const doc = { type: 'nat', subject: 'r3', ...changed, designated: { host: 'c1', sinceMs: 1 }, why, handOver: former };
  const world = await startOn(path, (store) =>
    store.write({
      batches: [
        {
          ...{ id: 'c-former', atMs: 1, by: 'ann', preconditions: [] },
          changes: [
            { kind: 'service', id: 'nat:r3', body: JSON.stringify(doc) },
            { kind: IDEMPOTENCY.name, id: kept?.id ?? '', body: JSON.stringify(kept?.doc) },
          ],
        },
      ],
    }),
  );
  const { revision } = world.journal.fleet;
  const { statusCode, body } = await world.call(await world.token('admin', { name: 'ann' }), request);
  expect(statusCode).toBe(200);
  expect(JSON.parse(body)).toMatchObject({ id: 'nat:r3', revision, handover: { phase: 'syncing' } });
  expect(body).not.toMatch(FORMER_WORDS);
  await world.close();
});
