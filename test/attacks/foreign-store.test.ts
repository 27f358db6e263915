// The files of a data folder, exchanged, flipped and taken away behind the back of its server: what comes up is the fleet that was
// acknowledged there, or a refusal that says what is wrong.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Journal, StoreDamaged, StoreUnusable } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { storeTools } from '../../src/main/store-tools.ts';
import { newFolder, run, startServer, type Ended } from '../cli/muster.ts';

const database = (data: string): string => join(data, 'muster.db');

/** A data folder of a fleet with a site of this name, whose server was stopped, or killed with its log still in the WAL. */
async function fleetWith(site: string, signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<string> {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  await server.said(/recorded which keys/);
  await server.json('sites', 'create', site);
  await server.stop(signal);
  return data;
}

const started = (data: string, ...more: readonly string[]): Promise<Ended> =>
  run(['serve', '--data', data, '--listen', '127.0.0.1:0', ...more]);

describe('never: a server continues with the database of another fleet', () => {
  test('in the place of its own: both journals are named, and it is accepted by its revision only', async () => {
    const [mine, theirs] = await Promise.all([fleetWith('mine'), fleetWith('theirs')]);
    const own = readFileSync(database(mine));
    copyFileSync(database(theirs), database(mine));
    const refused = await started(mine);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('belongs to another fleet than this data folder');
    expect(refused.err).toContain('Bring the right database back');
    const [, revision = ''] = /--accept-loss (\d+)/.exec(refused.err) ?? [];
    expect((await started(mine, '--accept-loss', String(Number(revision) + 1))).err).toContain('of another fleet');
    // Nothing was written meanwhile: with its own database it starts as before.
    writeFileSync(database(mine), own);
    const server = await startServer(mine);
    expect((await server.muster('sites', 'list')).out).toContain('mine');
    await server.stop();
    copyFileSync(database(theirs), database(mine));
    const accepted = await startServer(mine, '--accept-loss', revision);
    await accepted.stop();
    expect(accepted.err()).toContain('which was accepted');
  });

  test('whose write-ahead log lies beside its own', async () => {
    const [mine, theirs] = await Promise.all([fleetWith('mine'), fleetWith('theirs', 'SIGKILL')]);
    copyFileSync(`${database(theirs)}-wal`, `${database(mine)}-wal`);
    const refused = await started(mine);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/of another fleet|is damaged|cannot be used/);
  });

  test('but a backup of its own that was restored in its place is taken', async () => {
    const data = join(newFolder(), 'data');
    const server = await startServer(data);
    await server.said(/recorded which keys/);
    await server.json('sites', 'create', 'kept');
    const file = join(newFolder(), 'fleet');
    await server.json('backup', file);
    await server.json('sites', 'create', 'later');
    await server.stop();
    rmSync(database(data));
    expect(await run(['restore', file, '--data', data])).toMatchObject({ code: 0 });
    const restored = await startServer(data);
    const { out } = await restored.muster('sites', 'list');
    expect([out.includes('kept'), out.includes('later')]).toEqual([true, false]);
    await restored.stop();
  });
});

test('a second server on the same folder is refused, and the first continues', async () => {
  const data = join(newFolder(), 'data');
  const server = await startServer(data);
  const [second, restore] = await Promise.all([started(data), run(['restore', 'none', '--data', data])]);
  expect(second).toMatchObject({ code: 1, out: '' });
  expect(second.err).toContain(`used by another Muster server (process ${server.child.pid})`);
  expect(restore.code).not.toBe(0);
  expect(await server.muster('sites', 'create', 'still')).toMatchObject({ code: 0 });
  await server.stop();
});

describe.skipIf(process.getuid?.() !== 0)('a full disk (only root can mount one)', () => {
  function smallDisk(): { readonly data: string; fill(): void; free(): void } {
    const data = join(newFolder(), 'data');
    mkdirSync(data, { mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'muster-test', data]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', data]));
    const filler = join(data, 'filler');
    const fill = (): void => {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: 'a', mode: 0o600 });
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      }
    };
    return { data, fill, free: () => rmSync(filler) };
  }

  test('before the first start is a sentence, and the next start with room begins the fleet', async () => {
    const disk = smallDisk();
    disk.fill();
    const refused = await started(disk.data);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/^The (data folder|store) .* cannot be used: .*the disk is full/);
    disk.free();
    const server = await startServer(disk.data);
    await server.stop();
  });

  test('under a live server: reads continue, writes fail and are said to have, and what was acknowledged is there', async () => {
    const disk = smallDisk();
    const server = await startServer(disk.data);
    const authorization = `Bearer ${readFileSync(join(disk.data, 'admin-token'), 'utf8').trim()}`;
    const create = async (name: string) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const body = JSON.stringify({ name, description: 'x'.repeat(400) });
      const answer = await fetch(`${server.url}/api/v1/sites`, { method: 'POST', headers, body });
      return { status: answer.status, ...((await answer.json()) as { outcome?: string }) };
    };
    const acknowledged: string[] = [];
    disk.fill();
    for (let nth = 0; ; nth += 1) {
      const { status, outcome } = await create(`s${nth}`);
      if (status === 201) acknowledged.push(`s${nth}`);
      else {
        expect([status, outcome]).toEqual([503, 'failed']);
        break;
      }
    }
    const sites = async (url: string): Promise<string[]> => {
      const answer = await fetch(`${url}/api/v1/sites`, { headers: { authorization } });
      return ((await answer.json()) as { items: { id: string }[] }).items.map(({ id }) => id);
    };
    expect((await sites(server.url)).filter((id) => id !== 'central')).toEqual([...acknowledged].sort());
    disk.free();
    await expect.poll(async () => (await create('after')).status, { timeout: 30_000 }).toBe(201);
    await server.stop('SIGKILL');
    const again = await startServer(disk.data);
    expect((await sites(again.url)).filter((id) => id !== 'central')).toEqual([...acknowledged, 'after'].sort());
    await again.stop();
  });
});

test('the index of the write-ahead log is made anew when it is gone or is garbage', async () => {
  const data = await fleetWith('mine', 'SIGKILL');
  const index = `${database(data)}-shm`;
  if (existsSync(index)) writeFileSync(index, Buffer.alloc(32_768, 0xa5));
  for (const take of [() => undefined, () => rmSync(index, { force: true })]) {
    take();
    const server = await startServer(data);
    expect((await server.muster('sites', 'list')).out).toContain('mine');
    await server.stop('SIGKILL');
  }
});

describe('a flipped byte', () => {
  const FLIPS = 120;

  /** What a server would come up with: its documents, or the name of what it says. */
  async function loaded(path: string): Promise<string> {
    let store;
    try {
      store = await openSqliteStore({ path });
      const journal = new Journal({ store, registry: PROGRAM.newRegistry(), clock: realClock, ids: realIds() });
      await journal.open();
      const all = [...journal.fleet.registry.kinds.values()].flatMap((kind) => [...journal.fleet.all(kind)]);
      return JSON.stringify([journal.journalId, journal.fleet.revision, all]);
    } catch (error) {
      if (error instanceof StoreDamaged || error instanceof StoreUnusable) return 'refused';
      return `not understood: ${String(error)}`;
    } finally {
      await store?.close();
    }
  }

  test('anywhere in the file is refused in words, or changes nothing of the fleet', async () => {
    const data = await fleetWith('mine');
    const sound = readFileSync(database(data));
    const folder = join(newFolder(), 'data');
    mkdirSync(folder, { mode: 0o700 });
    const path = database(folder);
    const put = (bytes: Buffer): void => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
      writeFileSync(path, bytes);
    };
    put(sound);
    const expected = await loaded(path);
    const tools = storeTools('test', realClock.nowMs);
    const others: string[] = [];
    let refused = 0;
    for (let nth = 0; nth < FLIPS; nth += 1) {
      // Spread over the whole file, at another place of each page.
      const at = Math.floor((nth * sound.length) / FLIPS) + ((nth * 37) % 97);
      if (at >= sound.length) continue;
      const bytes = Buffer.from(sound);
      bytes[at]! ^= 1 << (nth % 8);
      put(bytes);
      const found = await loaded(path);
      if (found === 'refused') refused += 1;
      else if (found !== expected) others.push(`byte ${at}: ${found.slice(0, 200)}`);
      put(bytes);
      await tools.verify({ data: folder }).catch((error: unknown) => {
        if (!/damaged|cannot be|not a/.test(String(error))) others.push(`verify, byte ${at}: ${String(error)}`);
      });
    }
    expect(others).toEqual([]);
    expect(refused).toBeGreaterThan(10);
  });
});
