// A change of the key that seals secrets, and what becomes of them by backup and restore: with the right key file, another one, and none.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf } from '../../src/fleet/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { SECRETS } from '../../src/keys/index.ts';
import { OPERATIONS_CONTROLLER } from '../../src/operations/module.ts';
import { SECRET_KEY_FILE } from '../../src/main/secret-keys.ts';
import { storeTools } from '../../src/main/store-tools.ts';
import { startApiTestServer, takeLease, type ApiTestServer } from '../api/api-test-server.ts';
import { run } from '../cli/muster.ts';
import { programWithVaults, VAULT } from './vaults-fixture.ts';

const PROGRAM = programWithVaults();
const SECRET = 'pl4nted-s3cr3t-of-a-vault';

let folder: string;
let file: string;
let world: ApiTestServer;
let admin: string;

/** A server on the store in a folder, with the key file there. */
async function start(data: string): Promise<void> {
  const store = await openSqliteStore({ path: join(data, 'muster.db') });
  world = await startApiTestServer({ program: PROGRAM, store, secretsIn: data });
  admin = await world.token('admin');
}

async function stop(): Promise<void> {
  const { store, fence } = world.journal;
  if (fence !== undefined) await store.releaseLease(fence.lease, fence.epoch);
  await world.close();
}

async function restart(): Promise<void> {
  await stop();
  await start(folder);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-sealing-'));
  file = join(folder, SECRET_KEY_FILE);
  await start(folder);
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const create = (name: string) =>
  world.call(admin, { method: 'POST', url: '/api/v1/vaults', payload: { name, user: 'root', secret: SECRET } });

async function createMany(...names: readonly string[]): Promise<void> {
  for (const name of names) expect((await create(name)).statusCode).toBe(201);
}

function opens(name: string): string | undefined {
  const sealed = world.journal.fleet.get(VAULT, idOf(VAULT, name))?.doc.logins[0]?.secret ?? '';
  const found = world.runtime.get(SECRETS).unseal({ kind: VAULT.name, id: name }, sealed);
  return found.kind === 'secret' ? found.secret.reveal() : found.reason.code;
}

/** The key lines of the file. */
function keyLines(): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function writeKeys(...lines: readonly string[]): void {
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
}

async function muster(...words: readonly string[]): Promise<string> {
  const { app } = world.server;
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const { out, err, code } = await run(['--server', address, '--token', admin, ...words]);
  expect([code, err]).toEqual([0, expect.anything()]);
  return out + err;
}

describe('a change of the key', () => {
  test('is-done-by-a-line-in-the-file-and-one-command, and then the old key can go', async () => {
    await createMany('one', 'two', 'three');
    const before = world.runtime.get(SECRETS).keyIds();
    const [old = ''] = keyLines();
    writeKeys(randomBytes(32).toString('base64'), old);
    await restart();
    const [current = ''] = world.runtime.get(SECRETS).keyIds();
    expect(await muster('keys', 'sealing')).toMatch(
      new RegExp(`${current} +current +0\\n${before[0]} +earlier, opens what it sealed +3`),
    );
    expect(await muster('keys', 'reseal')).toContain('Secrets of 3 documents were resealed. None is left.');
    expect(await muster('keys', 'reseal')).toContain('Secrets of 0 documents were resealed. None is left.');
    writeKeys(keyLines()[0] ?? '');
    await restart();
    expect(['one', 'two', 'three'].map(opens)).toEqual([SECRET, SECRET, SECRET]);
  });

  test('seals-a-document-that-was-changed-meanwhile-by-the-next-request', async () => {
    await createMany('one', 'two');
    writeKeys(randomBytes(32).toString('base64'), ...keyLines());
    await restart();
    const submit = world.journal.submit.bind(world.journal);
    const { fleet } = world.journal;
    // Another commit changes the vault between the sealing and the decision.
    world.journal.submit = async (request) => {
      world.journal.submit = submit;
      const vault = fleet.get(VAULT, idOf(VAULT, 'two'));
      await world.commit({ kind: VAULT.name, id: 'two', doc: { ...vault?.doc, note: 'changed' } });
      return submit(request);
    };
    const reseal = async (): Promise<object> =>
      (await world.call(admin, { method: 'POST', url: '/api/v1/sealing-keys/reseal' })).json();
    expect(await reseal()).toEqual({ resealed: 1, left: 1 });
    expect(await reseal()).toEqual({ resealed: 1, left: 0 });
    expect(fleet.get(VAULT, idOf(VAULT, 'two'))?.doc.note).toBe('changed');
    expect(['one', 'two'].map(opens)).toEqual([SECRET, SECRET]);
  });

  test('is-refused-without-any-key, with its own code', async () => {
    await createMany('one');
    rmSync(file);
    await restart();
    for (const url of ['/api/v1/sealing-keys/reseal', '/api/v1/vaults']) {
      const payload = url.endsWith('vaults') ? { name: 'x', user: 'root', secret: SECRET } : undefined;
      const answer = await world.call(admin, { method: 'POST', url, ...(payload && { payload }) });
      expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([409, 'secret-key-missing']);
    }
    expect(existsSync(file)).toBe(false);
    expect(opens('one')).toBe('secret-key-missing');
    expect((await world.call(admin, { url: '/api/v1/vaults/one' })).statusCode).toBe(200);
  });
});

describe('a server with another key than the one before', () => {
  /** On the same disk, with a key of its own: when it was started there were no secrets yet. */
  async function takeOver(holder: ApiTestServer, other: ApiTestServer): Promise<void> {
    const { store, fence } = holder.journal;
    holder.journal.stepDown();
    if (fence !== undefined) await store.releaseLease(fence.lease, fence.epoch);
    await takeLease(other);
  }

  test('neither-opens-nor-seals-when-it-decides, and what is there stays as it is', async () => {
    const [here, there] = [join(folder, 'here'), join(folder, 'there')];
    for (const place of [here, there]) mkdirSync(place);
    const shared = { program: PROGRAM };
    const holder = await startApiTestServer({ ...shared, secretsIn: here });
    const { disk, clock } = holder;
    const other = await startApiTestServer({ ...shared, disk, clock, secretsIn: there, leads: false });
    const token = await holder.token('admin');
    const createAt = (server: ApiTestServer, name: string) =>
      server.call(token, { method: 'POST', url: '/api/v1/vaults', payload: { name, user: 'root', secret: SECRET } });
    expect((await createAt(holder, 'one')).statusCode).toBe(201);
    const before = holder.journal.fleet.get(VAULT, idOf(VAULT, 'one'))?.doc;
    await takeOver(holder, other);

    for (const answer of [
      await createAt(other, 'two'),
      await other.call(token, { method: 'POST', url: '/api/v1/sealing-keys/reseal' }),
    ])
      expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([409, 'secret-key-missing']);
    await other.runtime.get(OPERATIONS_CONTROLLER).pass();
    await clock.sleep(50, new AbortController().signal);
    expect((await other.call(token, { url: '/api/v1/operation-items' })).body).toContain('does not have key');
    expect(other.journal.fleet.get(VAULT, idOf(VAULT, 'one'))?.doc).toEqual(before);
    expect(existsSync(join(there, SECRET_KEY_FILE))).toBe(false);
    const listed = (await other.call(token, { url: '/api/v1/sealing-keys' })).json<{ items: { use: string }[] }>();
    expect(listed.items.map(({ use }) => use)).toEqual(['missing']);
    for (const server of [other, holder]) await server.close();
  });
});

describe('a backup', () => {
  const tools = storeTools('test', () => 0, PROGRAM);

  test('names-the-key-and-has-neither-it-nor-the-secret; a restore says what is needed', async () => {
    await createMany('one');
    const [id = ''] = world.runtime.get(SECRETS).keyIds();
    const backup = join(folder, 'backup');
    const written = await tools.backup({ data: folder, file: backup });
    expect(written.secretKeys).toEqual({ file: SECRET_KEY_FILE, contained: false, sealing: [id] });
    expect((await tools.verify({ data: folder, file: backup })).secretKeys).toEqual(written.secretKeys);
    const text = readFileSync(backup, 'utf8');
    for (const one of [keyLines()[0] ?? '', SECRET, Buffer.from(SECRET).toString('base64')])
      expect(text).not.toContain(one);

    const restored = join(folder, 'restored');
    const placed = await tools.restore({ data: restored, file: backup });
    const path = join(restored, SECRET_KEY_FILE);
    expect(placed.secretKeys).toEqual({ ...written.secretKeys, path, state: 'missing' });
    await stop();
    await start(restored);
    expect(opens('one')).toBe('secret-key-missing');
    await stop();
    writeFileSync(path, readFileSync(file), { mode: 0o600 });
    await start(restored);
    expect(opens('one')).toBe(SECRET);
    expect(
      (await tools.restore({ data: join(folder, 'again'), file: backup, secretKey: file })).secretKeys,
    ).toMatchObject({ path: file, state: 'in-place' });
    writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600 });
    expect(
      (await tools.restore({ data: join(folder, 'third'), file: backup, secretKey: path })).secretKeys,
    ).toMatchObject({ state: 'different' });
    await stop();
    await expect(start(restored)).rejects.toThrow(
      `The secrets of this fleet were sealed by key ${id}, and ${path} has `,
    );
    await start(folder);
  });
});
