// Secrets that were planted in documents, requests and the errors of a peer are nowhere to be found: not in the store, the log, the files or any answer.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { newOperation, OPERATION } from '../../src/operations/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { OPERATIONS_CONTROLLER } from '../../src/operations/module.ts';
import { SECRET_KEY_FILE } from '../../src/main/secret-keys.ts';
import { startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';
import { openStream } from '../api/sse.ts';
import { programWithVaults, VAULT } from './vaults-fixture.ts';

let folder: string;
let world: ApiTestServer;
let admin: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-sealed-'));
  world = await startApiTestServer({
    program: programWithVaults(),
    store: await openSqliteStore({ path: join(folder, 'muster.db') }),
    auditFolder: join(folder, 'audit'),
    secretsIn: folder,
    logLevel: 'trace',
  });
  admin = await world.token('admin');
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Each is found on its own, whatever becomes of the others. */
const planted = (where: string): string => `pl4nted/in"${where}"+${'s3cr3t'.repeat(3)}`;

const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  world.call(admin, { method: 'POST', url: '/api/v1/vaults', payload: body, headers });

const get = async (url: string): Promise<string> => {
  const found = await world.call(admin, { method: 'GET', url });
  expect({ url, status: found.statusCode }).toEqual({ url, status: 200 });
  return found.body;
};

/** Whatever a caller, an operator of the machine or a thief of the disk can read, except for the key. */
async function everything(): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const { items } = JSON.parse(await get('/api/v1/operations')) as { items: { id: string }[] };
  for (const url of [
    '/api/v1/vaults',
    '/api/v1/operations',
    ...items.map(({ id }) => `/api/v1/operations/${id}`),
    ...items.map(({ id }) => `/api/v1/operations/${id}/items`),
    '/api/v1/history?limit=500',
    '/api/v1/history?kind=vault&id=plain',
    '/api/v1/history?kind=item&limit=500',
    '/api/v1/audit',
    '/api/v1/tokens',
    '/api/v1/alarms',
    '/api/v1/sealing-keys',
    '/metrics',
    '/api/v1/openapi.json',
  ])
    texts.set(url, await get(url));
  texts.set('log', world.logged());
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (path !== SECRET_KEY_FILE && statSync(join(folder, path)).isFile())
      texts.set(path, readFileSync(join(folder, path)).toString('latin1'));
  return texts;
}

/** Every way in which a text can be written down. */
function formsOf(secret: string): string[] {
  const shifted = ['', 'a', 'ab'].flatMap((before) => {
    const bytes = Buffer.from(before + secret);
    return [bytes.toString('base64').slice(4, -4), bytes.toString('base64url').slice(4, -4)];
  });
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...shifted];
}

async function expectNowhere(...secrets: readonly string[]): Promise<void> {
  const found: string[] = [];
  for (const [where, text] of await everything())
    for (const secret of secrets)
      for (const form of formsOf(secret)) if (text.includes(form)) found.push(`${secret} in ${where}`);
  expect(found).toEqual([]);
}

async function openVaults(): Promise<void> {
  const controller = world.runtime.get(OPERATIONS_CONTROLLER);
  for (let nth = 0; nth < 4; nth += 1) {
    await controller.pass();
    await world.clock.sleep(20, new AbortController().signal);
  }
}

/** What an attacker with write access to the store would do: the sealed secret of a vault in another one. */
function moved({ journal, clock }: ApiTestServer, from: string, to: string): Change[] {
  const vault = journal.fleet.get(VAULT, idOf(VAULT, from));
  if (vault === undefined) throw new Error(`there is no vault ${from}`);
  const items = [{ key: to, target: { kind: VAULT.name, id: to }, step: 'open' }];
  const how = { kind: 'vault-open', title: 'open', by: 'thief', nowMs: clock.nowMs(), deadlineMs: 3_600_000 };
  return [
    put(VAULT, idOf(VAULT, to), { ...vault.doc, name: to }),
    ...newOperation({ id: idOf(OPERATION, 'op-two'), ...how, items }),
  ];
}

describe('a secret', () => {
  test('that-a-peer-repeats-in-its-errors-is-in-none-of-what-becomes-of-them', async () => {
    const how = ['plain', 'json', 'basic', 'url', 'cut', 'throw', 'taken'];
    for (const note of how) {
      const made = await post({ name: note, note, user: 'root', secret: planted(note) });
      expect([made.statusCode, made.body.includes('[secret]')]).toEqual([201, true]);
    }
    await openVaults();
    const operations = await get('/api/v1/operations');
    // The peer got the request, and answered as planned.
    expect(operations.match(/"succeeded"/g)).toHaveLength(1);
    const items = await get('/api/v1/history?kind=item&limit=500');
    for (const said of ['401 for root:[secret]', 'Basic ', 'root:[secret]@peer/']) expect(items).toContain(said);
    expect(world.logged()).toContain('the peer said [secret]');
    expect(operations).toContain('the peer said [secret]');
    await expectNowhere(...how.map(planted));
  });

  test('is-in-nothing-that-a-watcher-is-sent, sealed or not', async () => {
    await world.server.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = world.server.app.server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${admin}` };
    const stream = await openStream(`http://127.0.0.1:${port}/api/v1/watch`, headers);
    const secret = planted('watched');
    expect((await post({ name: 'one', note: 'plain', user: 'root', secret })).statusCode).toBe(201);
    await openVaults();
    await post({ name: 'last', user: 'root', secret: planted('last') });
    while (!(await stream.next()).data.includes('"id":"last"'));
    const seen = stream.raw();
    stream.close();
    expect(seen).toContain('"secret":"[secret]"');
    expect(seen).toContain('401 for root:[secret]');
    expect(seen).not.toContain('sealed.');
    for (const form of formsOf(secret)) expect(seen).not.toContain(form);
  });

  test('that-is-in-a-refused-request-is-repeated-by-no-refusal', async () => {
    const secret = planted('refused');
    const body = { name: 'one', user: 'root', secret };
    await post(body, { 'idempotency-key': 'key-1' });
    await post(body, { 'idempotency-key': 'key-1' });
    const answers = [
      await post(body),
      await post({ ...body, secret: [secret] }),
      await post({ ...body, secret: secret.repeat(1000) }),
      await post({ ...body, name: 'x', user: '' }),
      await world.server.app.inject({ method: 'POST', url: '/api/v1/vaults', payload: body }),
      await world.call(admin, {
        method: 'POST',
        url: '/api/v1/vaults',
        payload: `{"secret": ${JSON.stringify(secret)},,}`,
        headers: { 'content-type': 'application/json' },
      }),
    ];
    expect(answers.map(({ statusCode }) => statusCode >= 400)).toEqual(answers.map(() => true));
    for (const { body: text } of answers) for (const form of formsOf(secret)) expect(text).not.toContain(form);
    await expectNowhere(secret);
  });

  test('that-is-logged-is-masked-in-the-log, whatever it is logged in', async () => {
    const secret = planted('logged');
    expect((await post({ name: 'one', user: 'root', secret })).statusCode).toBe(201);
    const { log } = world.runtime.environment;
    const err = new Error(`the peer said ${secret}`, { cause: new Error(encodeURIComponent(secret)) });
    log.error({ err, request: { headers: { authorization: `Basic ${btoa(`root:${secret}`)}` } } }, `no ${secret}`);
    expect(world.logged()).toContain('no [secret]');
    await expectNowhere(secret);
  });

  test('is-sealed-before-the-decision, which stores the same however often it runs', async () => {
    const seen: unknown[] = [];
    const submit = world.journal.submit.bind(world.journal);
    world.journal.submit = (request) =>
      submit({
        ...request,
        decide: (fleet) => {
          const [once, again] = [request.decide(fleet), request.decide(fleet)];
          seen.push(once);
          expect(again).toEqual(once);
          return again;
        },
      });
    expect((await post({ name: 'one', user: 'root', secret: planted('twice') })).statusCode).toBe(201);
    expect(JSON.stringify(seen)).toMatch(/"secret":"sealed\.[0-9a-f]{16}\./);
  });

  test('does-not-open-in-another-document, nor after its store was tampered with', async () => {
    await post({ name: 'one', note: 'plain', user: 'root', secret: planted('one') });
    await world.commit(...moved(world, 'one', 'two'));
    await openVaults();
    const text = await get('/api/v1/operations/op-two/items');
    expect(text).toContain('The secret of vault two does not open: it was changed, or belongs to another document.');
    await expectNowhere(planted('one'));
  });
});
