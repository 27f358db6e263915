// What is done to a store behind the back of its server is noticed at the next start, named, and not gone on with silently.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { batch } from '../../src/journal/contract/world.ts';
import { KEY_FILE, newKeys, writeKeys } from '../../src/main/key-file.ts';
import { newFolder, run, start, startServer, type Ended } from '../cli/muster.ts';

let killed: Promise<string> | undefined;

/** A data folder as a server left it that made three sites and was killed: its log is still in the WAL. Each caller gets a copy. */
async function killedServer(): Promise<string> {
  const data = emptyFolder();
  cpSync(await (killed ??= killServer()), data, { recursive: true });
  return data;
}

async function killServer(): Promise<string> {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  for (const name of ['north', 'south', 'west']) await server.json('sites', 'create', name);
  await server.stop('SIGKILL');
  return data;
}

function emptyFolder(): string {
  const folder = join(newFolder(), 'data');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

const database = (data: string): string => join(data, 'muster.db');

function damage(data: string, sql: string): void {
  const file = new DatabaseSync(database(data));
  file.exec(sql);
  file.close();
}

/** A start that is expected to be refused. */
const started = (data: string, ...more: readonly string[]): Promise<Ended> =>
  run(['serve', '--data', data, '--listen', '127.0.0.1:0', ...more]);

const acceptedBy = (refused: Ended): string => /--accept-loss (\d+)/.exec(refused.err)?.[1] ?? 'none';

async function sitesOf(data: string, ...more: readonly string[]): Promise<{ sites: string[]; alarms: string[] }> {
  const server = await startServer(data, ...more);
  try {
    const sites = await server.json<{ name: string }[]>('sites', 'list');
    let alarms = await server.json<{ id: string; sentence: string }[]>('alarms');
    while (more.length > 0 && alarms.length === 0) alarms = await server.json('alarms');
    return { sites: sites.map(({ name }) => name).sort(), alarms: alarms.map(({ sentence }) => sentence) };
  } finally {
    await server.stop();
  }
}

describe('a damaged store', () => {
  test('a byte of a document: named with its revision, refused, accepted, taken from the log', async () => {
    const data = await killedServer();
    damage(data, `UPDATE resource SET body = replace(body, 'south', 'sowth') WHERE kind = 'site' AND id = 'south'`);
    const refused = await started(data);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toMatch(
      /is damaged: the document site\/south of revision \d+ is damaged\..*--accept-loss \d+/s,
    );
    expect(await started(data, '--accept-loss', '1')).toMatchObject({ code: 1, err: refused.err });
    const verified = await run(['verify', '--data', data, '--output', 'json']);
    expect(verified.code).toBe(1);
    expect(JSON.parse(verified.out)).toMatchObject({ intact: false, damage: [expect.stringContaining('site/south')] });
    const accepted = await sitesOf(data, '--accept-loss', acceptedBy(refused));
    expect(accepted.sites).toEqual(['central', 'north', 'south', 'west']);
    expect(accepted.alarms.join()).toContain('site/south');
    expect(await run(['verify', '--data', data])).toMatchObject({ code: 0 });
    expect((await sitesOf(data)).alarms).toHaveLength(1);
  });

  test('rows cut from the log: the start is refused, and names them', async () => {
    const data = await killedServer();
    damage(data, 'DELETE FROM commit_log WHERE revision IN (2, 3)');
    const refused = await started(data);
    expect(refused.err).toContain('the commits of revisions 2 to 3 are missing from the log');
    expect((await sitesOf(data, '--accept-loss', acceptedBy(refused))).sites).toContain('west');
    expect(await run(['verify', '--data', data])).toMatchObject({ code: 0 });
  });

  test('a document that was taken away', async () => {
    const data = await killedServer();
    damage(data, `DELETE FROM resource WHERE id = 'north'`);
    const refused = await started(data);
    expect(refused.err).toMatch(/there are \d+ documents, and should be \d+/);
    expect((await sitesOf(data, '--accept-loss', acceptedBy(refused))).sites).toContain('north');
  });
});

describe('a store that lost commits', () => {
  test('a truncated WAL: SQLite drops what was acknowledged without a word, the server does not', async () => {
    const data = await killedServer();
    const wal = `${database(data)}-wal`;
    // Some pages from its end: the last commits are gone, those before them are whole.
    truncateSync(wal, statSync(wal).size - 3 * 4120);
    rmSync(`${database(data)}-shm`, { force: true });
    const refused = await started(data);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/has lost commits: revisions? \d+.*acknowledged, and it ends at \d+/s);
    const accepted = await sitesOf(data, '--accept-loss', acceptedBy(refused));
    expect(accepted.alarms.join()).toContain('are lost');
    // The loss is on record: the next start needs no consent.
    expect((await sitesOf(data)).alarms).toHaveLength(1);
  });

  test('an older copy of the database put in its place', async () => {
    const data = join(newFolder(), 'data');
    const first = await startServer(data);
    await first.json('sites', 'create', 'north');
    await first.stop();
    copyFileSync(database(data), join(data, '..', 'old.db'));
    const second = await startServer(data);
    await second.json('sites', 'create', 'south');
    await second.stop();
    for (const name of readdirSync(data)) if (name.startsWith('muster.db')) rmSync(join(data, name));
    copyFileSync(join(data, '..', 'old.db'), database(data));
    const refused = await started(data);
    expect(refused.err).toMatch(/has lost commits: revision/);
    expect((await sitesOf(data, '--accept-loss', acceptedBy(refused))).sites).toEqual(['central', 'north']);
  });

  test('--accept-loss where nothing is lost is refused', async () => {
    const data = await killedServer();
    expect((await started(data, '--accept-loss', '3')).err).toContain('nothing is lost');
    expect((await sitesOf(data)).sites).toHaveLength(4);
  });
});

describe('a store that is gone', () => {
  test.each([
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
  ])('a database that is %s beside an admin token is not begun anew', async (_name, take) => {
    const data = await killedServer();
    for (const name of readdirSync(data)) if (name.startsWith('muster.db-')) rmSync(join(data, name));
    take(database(data));
    const token = readFileSync(join(data, 'admin-token'), 'utf8');
    const refused = await started(data);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/database .* is (missing|empty).*"admin-token".*muster restore/s);
    expect(readFileSync(join(data, 'admin-token'), 'utf8')).toBe(token);
    expect(existsSync(database(data)) && statSync(database(data)).size > 0).toBe(false);
  });

  test('a WAL whose database is gone is not begun anew', async () => {
    const data = await killedServer();
    for (const name of ['muster.db', 'admin-token', 'witness']) rmSync(join(data, name));
    expect((await started(data)).err).toContain('"muster.db-wal"');
  });

  // Each of them alone, as if the others had gone with the database.
  test.each([
    ['admin-token'],
    ['witness'],
    [KEY_FILE],
    [`${KEY_FILE}.5bd1e995`],
    ['audit'],
    ['demo'],
    ['agent-credential.json'],
  ])('a database that is missing in a folder with %s is not begun anew', async (trace) => {
    const data = emptyFolder();
    if (trace === 'audit' || trace === 'demo') mkdirSync(join(data, trace));
    else writeFileSync(join(data, trace), '', { mode: 0o600 });
    const refused = await started(data);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/database .* is missing, but the data folder/);
    expect(refused.err).toContain(`"${trace}"`);
    expect(existsSync(database(data))).toBe(false);
  });

  test('a store without a fleet in a folder with keys is not begun anew, but for a first start that was killed', async () => {
    const data = emptyFolder();
    const store = await openSqliteStore({ path: database(data) });
    await store.close();
    writeKeys(data, newKeys(0));
    expect((await started(data)).err).toMatch(/has no fleet, but .*"control-plane-keys.json".*--keys/s);
    // What a first start leaves behind that was killed before its first commit.
    writeFileSync(join(data, 'first-start'), '', { mode: 0o600 });
    expect((await sitesOf(data)).sites).toEqual(['central']);
    expect(existsSync(join(data, 'first-start'))).toBe(false);
  });

  test('a first start that is killed at any moment does not keep the next one from starting', async () => {
    for (let round = 0; round < 6; round += 1) {
      const data = join(newFolder(), 'data');
      const first = start(['serve', '--data', data, '--listen', '127.0.0.1:0']);
      const trace = ['lock', 'muster.db', 'first-start', KEY_FILE, 'witness', 'admin-token'][round] ?? '';
      // Some are there for a moment only, which may be missed.
      while (!existsSync(join(data, trace)) && !first.out().includes('answers at')) await setTimeout(1);
      first.child.kill('SIGKILL');
      await first.ended;
      expect((await sitesOf(data)).sites).toEqual(['central']);
    }
  });

  test('keys that were prepared elsewhere before the first start are used', async () => {
    const [keys, data] = [emptyFolder(), join(newFolder(), 'data')];
    const prepared = newKeys(0);
    writeKeys(keys, prepared);
    const server = await startServer(data, '--keys', keys);
    await server.said(/recorded which keys/);
    expect(await server.json('verify')).toMatchObject({ keys: { signing: [prepared.signing[0]?.id] } });
    await server.stop();
    expect(existsSync(join(data, KEY_FILE))).toBe(false);
  });

  test('an empty folder that was made beforehand, and a start that got no further than its lock, are normal', async () => {
    const data = join(newFolder(), 'data');
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(join(data, 'lock-owner'), '1\n', { mode: 0o600 });
    expect((await sitesOf(data)).sites).toEqual(['central']);
  });
});

test('a start long after the last commit: nothing is forgotten until an admin has looked at the clock', async () => {
  const data = join(newFolder(), 'data');
  mkdirSync(data, { mode: 0o700 });
  const store = await openSqliteStore({ path: database(data) });
  const atMs = Date.now() - 40 * 24 * 3600 * 1000;
  const body = JSON.stringify({ name: 'north', changedBy: 'test', changedAtMs: atMs });
  await store.write({ batches: [batch([{ kind: 'site', id: 'north', body }], { atMs })] });
  await store.close();
  const server = await startServer(data);
  let alarms = await server.json<{ id: string; sentence: string }[]>('alarms');
  while (alarms.length === 0) alarms = await server.json('alarms');
  expect(alarms).toMatchObject([{ id: 'clock-jumped:127.0.0.1:0' }]);
  expect(alarms[0]?.sentence).toContain('40 days');
  const metrics = await fetch(`${server.url}/metrics`, {
    headers: { authorization: `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}` },
  });
  expect(await metrics.text()).toContain('muster_integrity_findings_total{code="clock-jumped"} 1');
  expect(await server.muster('alarms', 'acknowledge', 'clock-jumped:127.0.0.1:0')).toMatchObject({ code: 0 });
  expect(await server.json('alarms')).toEqual([]);
  await server.stop();
});
