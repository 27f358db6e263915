// A backup is whole or refused, and what is restored from it is the fleet that it was taken of, on either store.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { openSqliteRestore } from '../../src/journal/sqlite/restore.ts';
import { batch, mustWrite, put } from '../../src/journal/contract/world.ts';
import { KEY_FILE, newKeys, type ControlPlaneKeys } from '../../src/main/key-file.ts';
import { storeTools } from '../../src/main/store-tools.ts';
import { openStream, type Reader } from '../api/sse.ts';
import { newFolder, run, start, startServer } from '../cli/muster.ts';
import { contentOf, embedded, fill, withStore } from './filled-store.ts';
import { freshDatabase, openForTest, postgresSuite } from '../postgres/suite.ts';

const tools = storeTools('1.2.3', () => 1_790_000_000_000);

describe('a backup of the embedded store', () => {
  test.each(['backup', 'backup.gz'])(
    'as %s: restored into another, it is the same, and another journal',
    async (name) => {
      const from = await embedded();
      await withStore(from.open, fill);
      const file = join(newFolder(), name);
      const written = await tools.backup({ data: from.data, file });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(await tools.verify({ data: '.', file })).toMatchObject({
        intact: true,
        digest: written.digest,
        revision: 21,
      });
      await expect(tools.backup({ data: from.data, file })).rejects.toThrow('exists already');
      const into = await embedded();
      expect(await tools.restore({ data: into.data, file })).toMatchObject({ revision: 21, digest: written.digest });
      await withStore(into.open, async (store) => {
        expect(await contentOf(store)).toEqual(await withStore(from.open, contentOf));
        expect(store.journalId).not.toBe(await withStore(from.open, async ({ journalId }) => journalId));
        expect(await mustWrite(store, batch([put('h1')]))).toBe(22);
      });
      await expect(tools.restore({ data: into.data, file })).rejects.toThrow('not empty');
    },
  );

  test('that is not there is said to be so, and nothing is made', async () => {
    const into = await embedded();
    const file = join(into.data, 'no-such.gz');
    const absent = `There is no ${file}. Check the path.`;
    await expect(tools.verify({ data: '.', file })).rejects.toThrow(absent);
    await expect(tools.restore({ data: into.data, file })).rejects.toThrow(absent);
    expect(readdirSync(into.data)).toEqual([]);
  });

  test.each(['backup', 'backup.gz'])('%s that was cut or changed is refused, and changes nothing', async (name) => {
    const from = await embedded();
    await withStore(from.open, fill);
    const file = join(newFolder(), name);
    await tools.backup({ data: from.data, file });
    const whole = readFileSync(file);
    const into = await embedded();
    const refused = async (): Promise<void> => {
      await expect(tools.verify({ data: '.', file })).rejects.toThrow(/damaged|incomplete|not a backup|format/i);
      await expect(tools.restore({ data: into.data, file })).rejects.toThrow(/damaged|incomplete|not a backup|format/i);
    };
    for (const part of [0, 0.3, 0.7, 0.999]) {
      copyFileSync(file, `${file}.whole`);
      truncateSync(file, Math.floor(whole.length * part));
      await refused();
    }
    for (const place of [0.1, 0.4, 0.6, 0.9]) {
      const changed = Buffer.from(whole);
      const at = Math.floor(whole.length * place);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(file, changed);
      await refused();
    }
    writeFileSync(file, whole);
    expect(await tools.restore({ data: into.data, file })).toMatchObject({ revision: 21 });
  });

  test.each([
    ['a line that does not end', Buffer.alloc(140 * 1024 * 1024, 'x')],
    ['a line that is null', 'null\n'],
    ['a line that is a number', '1\n'],
  ])('%s is no backup', async (_, content) => {
    const file = join(newFolder(), 'backup');
    writeFileSync(file, content);
    await expect(tools.verify({ data: '.', file })).rejects.toThrow(/not a backup/);
  });

  test('a file that is replaced between its check and its restore is not finished, and no server takes the store', async () => {
    const [from, other] = [await embedded(), await embedded()];
    await withStore(from.open, fill);
    await withStore(other.open, async (store) => void (await mustWrite(store, batch([put('planted')]))));
    const [file, planted] = [join(newFolder(), 'backup'), join(newFolder(), 'backup')];
    await tools.backup({ data: from.data, file });
    await tools.backup({ data: other.data, file: planted });
    const into = await embedded();
    // The folder is locked after the check and before the restore.
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(() => copyFileSync(planted, file));
    await expect(tools.restore({ data: into.data, file })).rejects.toThrow(/changed while it was read/);
    exec.mockRestore();
    await expect(into.open()).rejects.toMatchObject({ code: 'half-restored' });
  });

  test('a restore that was killed is recognised: nothing serves it, and it can be run again', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const file = join(newFolder(), 'backup');
    await tools.backup({ data: from.data, file });
    const into = await embedded();
    const killed = openSqliteRestore(join(into.data, 'muster.db'), 'another');
    await killed.begin('abc');
    await killed.resources([{ kind: 'host', id: 'a', revision: 1, body: '{}', digest: null }]);
    await killed.close();
    await expect(into.open()).rejects.toMatchObject({ code: 'half-restored' });
    expect((await run(['serve', '--data', into.data, '--listen', '127.0.0.1:0'])).err).toContain('half restored');
    await tools.restore({ data: into.data, file });
    expect(await withStore(into.open, contentOf)).toEqual(await withStore(from.open, contentOf));
  });

  test('of a database that SQLite cannot read is refused as a server refuses it: which file, and what to do', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const path = join(from.data, 'muster.db');
    truncateSync(path, Math.floor(statSync(path).size / 2));
    const sentence = new RegExp(`^The store ${path} cannot be used: SQLite: .*Restore a backup .*--accept-loss cannot`);
    await expect(tools.verify({ data: from.data })).rejects.toThrow(sentence);
    await expect(tools.backup({ data: from.data, file: join(newFolder(), 'b') })).rejects.toThrow(sentence);
  });

  test('of a damaged store begins with the damage, and its name is written as it is', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const database = new DatabaseSync(join(from.data, 'muster.db'));
    database.exec(`UPDATE resource SET digest = NULL, body = '{}' WHERE id = 'h2'`);
    database.close();
    const [file, cwd] = ['fleet.gz', newFolder()];
    const { code, out } = await run(['backup', file, '--data', from.data], { cwd });
    expect(code).toBe(1);
    expect(out).toMatch(/^The store is damaged, and so is this backup: the document host\/h2 /);
    const refused = await run(['restore', file, '--data', 'new'], { cwd });
    expect(refused.err).toMatch(/^fleet.gz is damaged: the document host\/h2 /);
    writeFileSync(join(cwd, 'no-backup'), 'x\n');
    expect((await run(['verify', 'no-backup'], { cwd })).err).toMatch(/^no-backup is damaged/);
  });

  test('is a file: a folder, a store that is none and a host that is not there are named with what to do', async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'file'), '');
    expect(await run(['verify', 'data'], { cwd })).toMatchObject({
      code: 2,
      err: 'data is a folder, and a backup is a file. Check the store in it with: muster verify --data data\n',
    });
    expect((await run(['restore', 'data'], { cwd })).err).toMatch(/^data is a folder, .*"muster backup" made/);
    expect((await run(['verify', '--store', 'x'], { cwd })).err).toMatch(/^"x" is not a store/);
    const nowhere = await run(['verify', '--store', 'postgres://nowhere.invalid/x'], { cwd });
    expect(nowhere.code).toBe(3);
    expect(nowhere.err).toMatch(/^The store postgres:\/\/nowhere.invalid:5432\/x cannot be used: .* with --store\.\n$/);
  });

  test('is restored into files for their owner alone, whatever the umask, as a server makes them', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const [file, data, keys] = [join(newFolder(), 'backup'), join(newFolder(), 'data'), emptyFolder()];
    await tools.backup({ data: from.data, file });
    const before = process.umask(0o022);
    try {
      expect(await run(['restore', file, '--data', data])).toMatchObject({ code: 0 });
      expect(await run(['keys', 'create', '--keys', keys])).toMatchObject({ code: 0 });
    } finally {
      process.umask(before);
    }
    for (const folder of [data, keys]) {
      const names = readdirSync(folder);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  test('verify finds a document that is not what the log says, although its digest fits', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const database = new DatabaseSync(join(from.data, 'muster.db'));
    database.exec(`UPDATE resource SET digest = NULL, body = '{}' WHERE id = 'h2'`);
    database.close();
    const { damage } = await tools.verify({ data: from.data });
    expect(damage).toEqual(['the document host/h2 is not what revision 17 wrote']);
  });
});

test('online, with the commands: the restored server has the fleet and takes the tokens of the old one', async () => {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  await server.json('sites', 'create', 'north');
  const file = join(newFolder(), 'fleet.gz');
  await server.said(/recorded which keys/);
  const backup = await server.json<{ digest: string; revision: number }>('backup', file);
  const before = await server.json('sites', 'list');
  await server.json('sites', 'create', 'later');
  expect((await server.muster('verify', file)).out).toContain(backup.digest);
  await server.stop();
  const other = join(newFolder(), 'data');
  const restored = await run(['restore', file, '--data', other, '--output', 'json']);
  expect(JSON.parse(restored.out)).toMatchObject({ revision: backup.revision });
  // Keys are in no backup: without them the restored fleet is not served.
  await expect(startServer(other)).rejects.toThrow('This control plane has keys');
  copyFileSync(join(data, KEY_FILE), join(other, KEY_FILE));
  const again = await startServer(other);
  const sites = await again.json('sites', 'list', '--token-file', join(data, 'admin-token'));
  expect(sites).toEqual(before);
  await again.stop();
});

test('a watcher that comes back after a restore is refused: its last revision is another commit now', async () => {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  await server.said(/recorded which keys/);
  const file = join(newFolder(), 'fleet.gz');
  await server.json('backup', file);
  const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`;
  const watched = await openStream(`${server.url}/api/v1/watch`, { authorization });
  const kept = (await watched.next()).id ?? '';
  for (const name of ['lost-1', 'lost-2', 'lost-3']) await server.json('sites', 'create', name);
  for (let nth = 0; nth < 3; nth += 1) await watched.next();
  const seen = watched.lastId() ?? '';
  await server.stop();
  const other = join(newFolder(), 'data');
  await run(['restore', file, '--data', other]);
  copyFileSync(join(data, KEY_FILE), join(other, KEY_FILE));
  const again = await startServer(other);
  for (let nth = 0; nth < 6; nth += 1)
    await again.json('sites', 'create', `new-${nth}`, '--token-file', join(data, 'admin-token'));
  const comeBack = (id: string): Promise<Reader> =>
    openStream(`${again.url}/api/v1/watch`, { authorization, 'last-event-id': id });
  const refused = await comeBack(seen);
  expect([refused.status, JSON.parse(await refused.body())]).toMatchObject([409, { code: 'journal-diverged' }]);
  // What was in the backup is in the restored journal too: from there on nothing is missed.
  const resumed = await comeBack(kept);
  expect(resumed.status).toBe(200);
  resumed.close();
  await again.stop();
});

interface NamedKeys {
  readonly keys: { readonly file: string; readonly contained: boolean; readonly signing: readonly string[] };
}

describe('the keys of a control plane, which are in no backup', () => {
  test('are named by the backup, and a restore says which file has to be where', async () => {
    const server = await startServer(join(newFolder(), 'data'));
    await server.said(/recorded which keys/);
    const [file, plain] = [join(newFolder(), 'fleet.gz'), join(newFolder(), 'fleet')];
    const { signing, authorities } = JSON.parse(readFileSync(join(server.data, KEY_FILE), 'utf8')) as ControlPlaneKeys;
    const ids = [signing[0]!.id, authorities[0]!.id];
    const written = await server.muster('backup', file);
    for (const id of ids) expect(written.out).toContain(id);
    expect(written.out).toContain(`keep a copy of ${KEY_FILE} elsewhere`);
    const named = { file: KEY_FILE, contained: false, serial: 1, signing: [ids[0]], authorities: [ids[1]] };
    expect(await server.json<NamedKeys>('backup', plain)).toMatchObject({ keys: named });
    expect(await server.json<NamedKeys>('verify')).toMatchObject({ keys: named });
    await server.stop();
    const content = readFileSync(plain, 'utf8');
    expect(JSON.parse(content.slice(0, content.indexOf('\n')))).toMatchObject({ muster: 'backup', keys: named });
    expect(content).not.toContain('PRIVATE KEY');
    for (const one of [file, plain]) {
      const verified = await run(['verify', one]);
      for (const id of ids) expect(verified.out).toContain(id);
      expect(verified.out).toContain(`not contained, in ${KEY_FILE}`);
    }

    const missing = join(newFolder(), 'data');
    const path = join(missing, KEY_FILE);
    const restored = await run(['restore', file, '--data', missing]);
    expect(restored.out).toMatch(
      new RegExp(`Before a server is started, put the key file .*${ids[0]}.* there: ${path}`),
    );
    const refused = await run(['serve', '--data', missing, '--listen', '127.0.0.1:0']);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain(`This control plane has keys (signing key ${ids[0]}, agent CA ${ids[1]})`);
    expect(refused.err).toContain(path);
  });

  test('a restore sees keys that are in place, in the data folder or in --keys, and keys that are others', async () => {
    const server = await startServer(join(newFolder(), 'data'));
    await server.said(/recorded which keys/);
    const file = join(newFolder(), 'fleet');
    await server.json('backup', file);
    await server.stop();
    const stateAfterRestore = async (data: string, ...more: readonly string[]) => {
      const { out, code } = await run(['restore', file, '--data', data, '--output', 'json', ...more]);
      expect(code).toBe(0);
      return (JSON.parse(out) as { keys: { state: string; path: string } }).keys;
    };
    const first = emptyFolder();
    copyFileSync(join(server.data, KEY_FILE), join(first, KEY_FILE));
    expect(await stateAfterRestore(first)).toMatchObject({ state: 'in-place', path: join(first, KEY_FILE) });
    const beside = await startServer(first);
    expect((await beside.stop()).code).toBe(0);
    expect(await stateAfterRestore(emptyFolder(), '--keys', server.data)).toMatchObject({ state: 'in-place' });
    const other = emptyFolder();
    writeFileSync(join(other, KEY_FILE), JSON.stringify(newKeys(0)), { mode: 0o600 });
    expect(await stateAfterRestore(other)).toMatchObject({ state: 'different' });
    const open = emptyFolder();
    writeFileSync(join(open, KEY_FILE), '{}', { mode: 0o600 });
    expect(await stateAfterRestore(open)).toMatchObject({ state: 'unreadable' });
  });
});

function emptyFolder(): string {
  const folder = join(newFolder(), 'data');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

test('agents follow the restored server by themselves, over plain HTTP too, and take what it decides', async () => {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  await server.said(/recorded which keys/);
  const joining = server.startCommand('hosts', 'join', 'c1', '--wait', '--timeout', '1m');
  await joining.said(/has no agent yet/);
  const state = newFolder();
  writeFileSync(join(state, 'token'), (await server.muster('hosts', 'join-token', 'c1')).out);
  const agent = start([
    'agent',
    '--server',
    server.url,
    '--state',
    state,
    '--simulate',
    '--join-token-file',
    join(state, 'token'),
  ]);
  expect(await joining.ended).toMatchObject({ code: 0 });
  const file = join(newFolder(), 'fleet.gz');
  await server.json('backup', file);
  // The agent has seen later revisions than those of the backup.
  for (const zone of ['a', 'b', 'c']) await server.json('hosts', 'edit', 'c1', '--zone', zone);
  await server.stop();

  const other = join(newFolder(), 'data');
  const { out } = await run(['restore', file, '--data', other, '--output', 'json']);
  const { journalId } = JSON.parse(out) as { journalId: string };
  copyFileSync(join(data, KEY_FILE), join(other, KEY_FILE));
  copyFileSync(join(data, 'admin-token'), join(other, 'admin-token'));
  const restored = await startServer(other, '--listen', new URL(server.url).host);
  await restored.said(/a backup of another journal was restored/);
  await agent.said(/keys or servers of the control plane changed/);
  await restored.json('hosts', 'edit', 'c1', '--zone', 'after');
  const views = (): string[] =>
    readdirSync(state, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
  await vi.waitFor(
    () => expect(views().filter((text) => text.includes(journalId) && text.includes('"after"'))).not.toEqual([]),
    { timeout: 60_000, interval: 200 },
  );
  expect(agent.err() + agent.out()).not.toContain('view-not-authentic');
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
  await restored.stop();
});

postgresSuite('backups between stores', (postgres) => {
  test('from SQLite to PostgreSQL and back', async () => {
    const from = await embedded();
    await withStore(from.open, fill);
    const [first, second] = [join(newFolder(), 'first.gz'), join(newFolder(), 'second')];
    await tools.backup({ data: from.data, file: first });
    const store = await freshDatabase(postgres.url);
    await tools.restore({ data: from.data, store, file: first });
    await expect(tools.restore({ data: from.data, store, file: first })).rejects.toThrow('not empty');
    const shared = await openForTest(store);
    expect(await contentOf(shared)).toEqual(await withStore(from.open, contentOf));
    expect(await tools.verify({ data: '.', store })).toMatchObject({ intact: true, revision: 21, commits: 16 });
    await mustWrite(shared, batch([put('h1', { text: 'later' })]));
    await tools.backup({ data: '.', store, file: second });
    const into = await embedded();
    await tools.restore({ data: into.data, file: second });
    expect(await withStore(into.open, contentOf)).toEqual(await contentOf(shared));
  });
});
