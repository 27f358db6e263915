// The thread that writes keeps its process alive while it writes, and not longer.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const STORE = new URL('../../src/journal/sqlite/store.ts', import.meta.url).href;

const program = (path: string, after: string): string => `
  import { openSqliteStore } from '${STORE}';
  const store = await openSqliteStore({ path: ${JSON.stringify(path)}, alwaysOnThread: true });
  const changes = [{ kind: 'host', id: 'h1', body: '{}' }];
  const written = store.write({ batches: [{ id: 'c-1', atMs: 0, by: 'ana', changes, preconditions: [] }] });
  written.then(({ kind, revision }) => console.log(kind, revision));
  ${after}`;

test.each([
  ['closed', 'await written; await store.close();'],
  ['closed-while-it-writes', 'await store.close();'],
  ['not-closed', 'await written;'],
  ['not-waited-for', ''],
])('a process with a thread ends by itself: %s', async (_name, after) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-thread-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const args = ['--input-type=module', '-e', program(join(folder, 'journal.db'), after)];
  const { stdout, stderr } = await run(process.execPath, args, { timeout: 30_000 });
  expect(stdout).toBe('written 1\n');
  expect(stderr).toBe('');
});
