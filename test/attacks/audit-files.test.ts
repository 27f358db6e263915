// The record of refusals is bounded, survives a full disk without costing a request, and names callers whose requests another server
// passed on.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RefusalFiles } from '../../src/api/audit/refusal-files.ts';
import type { RefusalLine } from '../../src/api/audit/refusal-log.ts';
import { newFolder, run, startServer, type ServerProcess } from '../cli/muster.ts';
import { freshDatabase, postgresSuite } from '../postgres/suite.ts';

const isRoot = process.getuid?.() === 0;
const ALL_OF_TIME = { sinceMs: 0, untilMs: Infinity };

function lineOf(nth: number): RefusalLine {
  return {
    ...{ type: 'refusal', at: new Date(nth).toISOString(), atMs: nth, revision: 1, server: 's', address: '127.0.0.1' },
    ...{ method: 'GET', route: '/api/v1/hosts', status: 401, code: 'token-unknown', count: 1, requestId: `r-${nth}` },
  };
}

async function recorded(files: RefusalFiles, audience: 'known' | 'strangers'): Promise<number[]> {
  const found: number[] = [];
  for await (const { atMs } of files.read(audience, ALL_OF_TIME)) found.push(atMs);
  return found;
}

function bytesIn(folder: string, form: RegExp): number {
  const names = readdirSync(folder).filter((name) => form.test(name));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

test('files are begun anew at their limit, the oldest go, and a flood of strangers pushes out no known caller', async () => {
  const folder = join(newFolder(), 'audit');
  let lost = 0;
  const limits = { fileBytes: 2000, allBytes: 10_000 };
  const files = new RefusalFiles({
    folder,
    log: pino({ level: 'silent' }),
    onLost: (lines) => (lost += lines),
    limits,
  });
  for (let nth = 1; nth <= 5; nth += 1) files.write(lineOf(nth), 'known');
  const most = { bytes: 0, files: 0 };
  for (let nth = 1; nth <= 500; nth += 1) {
    files.write(lineOf(nth), 'strangers');
    await files.flush();
    most.bytes = Math.max(most.bytes, bytesIn(folder, /strangers/));
    most.files = Math.max(most.files, readdirSync(folder).length);
  }
  // A file may be longer than its limit by the line that made it full.
  expect(most.bytes).toBeLessThanOrEqual(limits.allBytes + 300);
  expect(most.files).toBeLessThan(10);
  expect(most.files).toBeGreaterThan(3);
  const kept = await recorded(files, 'strangers');
  expect(kept.length).toBeLessThan(100);
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, at) => 501 - kept.length + at));
  expect(await recorded(files, 'known')).toEqual([1, 2, 3, 4, 5]);
  expect(lost).toBe(0);
  await files.close();
});

/** A file system of some pages, mounted for the test. */
function smallDisk(folder: string): { fill(): void; free(): void } {
  mkdirSync(folder, { mode: 0o700 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'muster-test', folder]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  const filler = join(folder, 'filler');
  return {
    fill: () => {
      try {
        for (let part = 0; ; part += 1) writeFileSync(filler, Buffer.alloc(100), { flag: 'a' });
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      }
    },
    free: () => rmSync(filler),
  };
}

describe.skipIf(!isRoot)('a full disk (only root can mount one)', () => {
  test('a line that was written in part is taken back: the next one is whole', async () => {
    const folder = join(newFolder(), 'audit');
    const disk = smallDisk(folder);
    const lost = { lines: 0 };
    const files = new RefusalFiles({
      folder,
      log: pino({ level: 'silent' }),
      onLost: (lines) => (lost.lines += lines),
    });
    for (let nth = 1; nth <= 3; nth += 1) files.write(lineOf(nth), 'known');
    await files.flush();
    disk.fill();
    // Until the last page of the file is full, and a line ends in the middle.
    let nth = 3;
    for (; lost.lines === 0; await files.flush()) files.write(lineOf((nth += 1)), 'known');
    const last = nth - 1;
    for (let more = 0; more < 5; more += 1, await files.flush()) files.write(lineOf((nth += 1)), 'known');
    expect(lost.lines).toBe(6);
    disk.free();
    files.write(lineOf(1000), 'known');
    files.write(lineOf(1001), 'known');
    const found = await recorded(files, 'known');
    expect(found).toEqual([...Array.from({ length: last }, (_, at) => at + 1), 1000, 1001]);
    await files.close();
  });

  test('requests are answered all the same, what is lost is counted, and writing continues when there is space', async () => {
    const data = join(newFolder(), 'data');
    mkdirSync(data, { mode: 0o700 });
    // The mount would count as a trace of a fleet that is gone.
    await (await startServer(data)).stop();
    const audit = join(data, 'audit');
    rmSync(audit, { recursive: true, force: true });
    const disk = smallDisk(audit);
    const server = await startServer(data);
    const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`;
    const ask = async (path: string, token = 'Bearer guess'): Promise<number> =>
      (await fetch(`${server.url}${path}`, { headers: { authorization: token } })).status;
    const lost = async (): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization } })).text();
      return Number(/^muster_refusals_lost_total (\d+)/m.exec(text)?.[1] ?? 0);
    };
    disk.fill();
    for (const path of ['hosts', 'sites', 'tokens', 'networks']) expect(await ask(`/api/v1/${path}`)).toBe(401);
    while ((await lost()) < 4);
    expect(server.err()).toContain('refusals could not be recorded');
    expect(await server.muster('sites', 'create', 'north')).toMatchObject({ code: 0 });
    expect(await ask('/api/v1/sites', authorization)).toBe(200);
    disk.free();
    expect(await ask('/api/v1/operations')).toBe(401);
    const { out } = await server.muster('audit', 'export', '--since', '1h');
    const routes = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; route?: string })
      .filter(({ type }) => type === 'refusal')
      .map(({ route }) => route);
    expect(routes).toEqual(['/api/v1/operations']);
    expect(await lost()).toBe(4);
    await server.stop();
  });
});

postgresSuite('refusals of several servers', (postgres) => {
  test('a forwarded write that is refused is on record at the holder, with the name of its caller', async () => {
    const [store, keys] = [await freshDatabase(postgres.url), newFolder()];
    const server = (): Promise<ServerProcess> =>
      startServer(join(newFolder(), 'data'), '--store', store, '--keys', keys);
    const holder = await server();
    const follower = await server();
    const token = ['--token-file', join(holder.data, 'admin-token')];
    const made = await run(
      ['token', 'create', 'ann', '--role', 'admin', '--output', 'json', '--server', holder.url].concat(token),
    );
    const { secret } = JSON.parse(made.out) as { secret: string };
    const refused = await run(['sites', 'create', 'central', '--server', follower.url, '--token', secret]);
    expect(refused).toMatchObject({ code: 1 });
    const exported = async ({ url }: ServerProcess) => {
      const { out } = await run(['audit', 'export', '--since', '1h', '--server', url, ...token]);
      const lines = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      return lines.filter(({ type, code }) => type === 'refusal' && code === 'site-exists');
    };
    expect(await exported(holder)).toMatchObject([
      { by: 'ann', role: 'admin', forwarded: true, route: '/api/v1/sites', server: holder.url, count: 1 },
    ]);
    expect(await exported(follower)).toEqual([]);
    await follower.stop();
    await holder.stop();
  });
});
