// The static checks. Each is a program of its own with its own exit code; what it prints is shown only when it fails.
import { spawn } from 'node:child_process';
import { delimiter, resolve } from 'node:path';
import { giveWay } from './priority.ts';
import { stage } from './stage.ts';
import { ONE_FAILED, ONE_PASSED, type TestTally } from './tally.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PROGRAMS = resolve(ROOT, 'node_modules/.bin');
/** What programs found out of files, by their content: the next run looks only at those that changed, and at what depends on them. */
const CACHE = resolve(ROOT, '.cache/checks');

interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const CHECKS: readonly Check[] = [
  { name: 'type check', command: 'tsc', args: ['--noEmit', '--incremental', '--tsBuildInfoFile', `${CACHE}/types`] },
  { name: 'lint', command: 'oxlint', args: [] },
  {
    name: 'format check',
    command: 'prettier',
    args: ['--check', '.', '--cache', '--cache-strategy', 'content', '--cache-location', `${CACHE}/formats`],
  },
  { name: 'dead-export check', command: 'knip', args: ['--no-progress'] },
];

/** They leave a core idle most of the time, so all of them run at once even on two cores; suites with real parts run beside them. */
export async function runChecks(stop: AbortSignal): Promise<TestTally[]> {
  return Promise.all(CHECKS.map((check) => stage(check.name, () => runCheck(check, stop))));
}

async function runCheck(check: Check, stop: AbortSignal): Promise<TestTally> {
  const { code, output } = await run(check, stop);
  if (code === 0) return ONE_PASSED;
  process.stdout.write(`${output.trimEnd()}\n`);
  return ONE_FAILED;
}

function run(check: Check, stop: AbortSignal): Promise<{ code: number | null; output: string }> {
  return new Promise((done, failed) => {
    // The programs start by `#!/usr/bin/env node`: the pinned one has to be the first that is found.
    const env = { ...process.env, PATH: `${PROGRAMS}${delimiter}${process.env['PATH'] ?? ''}` };
    const child = spawn(resolve(PROGRAMS, check.command), check.args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: stop,
    });
    if (child.pid !== undefined) giveWay(child.pid);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', failed);
    child.on('close', (code) => done({ code, output: Buffer.concat(chunks).toString() }));
  });
}
