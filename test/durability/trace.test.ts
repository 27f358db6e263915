// The system calls of a writer: every acknowledgement follows a flush of its own bytes. A killed process cannot show this,
// since what it wrote survives it in the cache of the operating system; a power cut would not be so kind.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ensureStrace } from './install.ts';
import { readTrace, type FlushTrace } from './trace.ts';

const run = promisify(execFile);
const GROUPS = 40;
const COMMITS = 100; // groups of 1, 2, 3, 4, again and again

const WRITER = new URL('writer.ts', import.meta.url).pathname;

async function traced(kind: string): Promise<FlushTrace> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-trace-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const output = join(folder, 'trace');
  const calls = ['-f', '-y', '-s', '5000', '-e', 'trace=write,pwrite64,fdatasync,fsync', '-o', output];
  const writer = [process.execPath, WRITER, kind, join(folder, 'journal.db'), 'trace', String(GROUPS)];
  await run('strace', [...calls, ...writer]);
  return readTrace(await readFile(output, 'latin1'));
}

const strace = await ensureStrace();
const title = strace.kind === 'ready' ? 'sqlite-trace' : `sqlite-trace: needs strace, ${strace.reason}`;

describe.skipIf(strace.kind === 'missing' && process.env['CI'] !== 'true')(title, () => {
  test.each(['sqlite', 'sqlite-on-a-thread'])('%s-acknowledges-only-what-was-flushed', async (kind) => {
    const { acknowledged, tooEarly } = await traced(kind);
    expect(acknowledged).toHaveLength(COMMITS);
    expect(tooEarly).toEqual([]);
  });

  test.each(['acknowledges-first', 'never-syncs'])('the mutant is found: %s', async (mutant) => {
    const { acknowledged, tooEarly } = await traced(mutant);
    expect(acknowledged).toHaveLength(COMMITS);
    expect(tooEarly).toEqual(acknowledged);
  });
});
