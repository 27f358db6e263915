// The command itself, started as an older Node would start it. That Node is this one under a false version: the launcher
// asks for nothing else, and the test then says the same on every machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linkPackages, makeScratch, ROOT, run, type Scratch } from './scratch.ts';

const OLD_NODE = [
  '--import',
  `data:text/javascript,${encodeURIComponent(
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });",
  )}`,
];

/** Uses what announces itself as experimental, then does as it is told. */
const STUB = `
import { DatabaseSync } from 'node:sqlite';
new DatabaseSync(':memory:').close();
const [order, ...rest] = process.argv.slice(2);
console.log(JSON.stringify({ node: process.version, pid: process.pid, rest }));
if (order === 'exit') process.exit(Number(rest[0]));
if (order === 'die') process.kill(process.pid, rest[0]);
if (order === 'wait') {
  let interrupts = 0;
  process.on('SIGINT', () => { interrupts += 1; console.log('SIGINT', interrupts); setTimeout(() => process.exit(interrupts), 300); });
  process.on('SIGTERM', () => { console.log('SIGTERM'); process.exit(40); });
  process.on('SIGHUP', () => { console.log('SIGHUP'); process.exit(50); });
  setInterval(() => {}, 1000);
  console.log('waiting');
}
`;
const TYPED_STUB = `const typed: string = 'typed';\n${STUB}\nexport const used = typed;\n`;

let scratch: Scratch;

beforeEach(async () => {
  scratch = await makeScratch();
});

afterEach(async () => {
  await scratch.remove();
});

/** The repository's own layout, with a stub in place of the program. */
async function repository(): Promise<string> {
  await scratch.copy('bin', 'package.json');
  await scratch.write('src/main/main.ts', TYPED_STUB);
  await linkPackages(scratch);
  return join(scratch.root, 'bin/muster.js');
}

function muster(bin: string, ...args: string[]) {
  return run(process.execPath, [...OLD_NODE, bin, ...args], { cwd: scratch.root });
}

interface Told {
  readonly node: string;
  readonly pid: number;
  readonly rest: readonly string[];
}

describe('from an older Node', () => {
  test('the-pinned-node-runs-the-typescript-with-all-arguments-and-no-warnings', async () => {
    const outcome = await muster(await repository(), 'say', '--a', 'b c');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(outcome.stdout)).toMatchObject({ node: process.version, rest: ['--a', 'b c'] });
  });

  test('the-exit-code-is-passed-on', async () => {
    expect(await muster(await repository(), 'exit', '7')).toMatchObject({ code: 7 });
  });

  test('a-death-by-signal-is-passed-on', async () => {
    const launcher = spawn(process.execPath, [...OLD_NODE, await repository(), 'die', 'SIGKILL'], { stdio: 'ignore' });
    expect(await once(launcher, 'exit')).toEqual([null, 'SIGKILL']);
  });

  test.each([
    ['SIGINT', 1],
    ['SIGTERM', 40],
    ['SIGHUP', 50],
  ] as const)('%s-reaches-the-program-once', async (signal, code) => {
    const launcher = spawn(process.execPath, [...OLD_NODE, await repository(), 'wait'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(launcher, 'exit');
    launcher.stdout.on('data', (chunk: Buffer) => chunk.includes('waiting') && launcher.kill(signal));
    expect(await ended).toEqual([code, null]);
  });

  test('a-launcher-that-is-killed-takes-the-program-with-it', async () => {
    const launcher = spawn(process.execPath, [...OLD_NODE, await repository(), 'wait'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // The program shares this pipe: it ends when both of them have.
    const closed = once(launcher.stdout, 'close');
    launcher.stdout.on('data', (chunk: Buffer) => chunk.includes('waiting') && launcher.kill('SIGKILL'));
    await closed;
    expect(launcher.signalCode).toBe('SIGKILL');
  });

  test('ctrl-c-in-a-terminal-reaches-the-program-once', async () => {
    const command = [process.execPath, ...OLD_NODE, await repository(), 'wait'].map((word) => `"${word}"`).join(' ');
    // Without the exec some shells stay in between, and Ctrl-C ends them first.
    const terminal = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = once(terminal, 'exit');
    terminal.stdout.on('data', (chunk: Buffer) => chunk.includes('waiting') && terminal.stdin.write('\u0003'));
    expect(await ended).toEqual([1, null]);
  });

  test('a-missing-pinned-node-is-explained', async () => {
    await scratch.copy('bin', 'package.json');
    const outcome = await muster(join(scratch.root, 'bin/muster.js'), 'say');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('npm install-scripts approve node && npm rebuild node');
  });

  test('a-pinned-node-whose-install-script-was-blocked-is-explained', async () => {
    await scratch.copy('bin', 'package.json', 'node_modules/node/package.json');
    expect(await muster(join(scratch.root, 'bin/muster.js'), 'say')).toMatchObject({ code: 1 });
  });

  test('a-pinned-node-beside-the-installed-package-is-found', async () => {
    const installed = join(scratch.root, 'node_modules/muster');
    await scratch.copy('bin');
    await scratch.write('node_modules/muster/package.json', '{ "type": "module" }');
    await scratch.write('node_modules/muster/src/main/main.js', STUB);
    await run('mv', [join(scratch.root, 'bin'), installed], { cwd: scratch.root });
    await symlink(join(ROOT, 'node_modules/node'), join(scratch.root, 'node_modules/node'));
    expect(await muster(join(installed, 'bin/muster.js'), 'exit', '6')).toMatchObject({ code: 6, stderr: '' });
  });

  test('a-linked-command-finds-its-own-sources', async () => {
    await mkdir(join(scratch.root, 'elsewhere'));
    await symlink(await repository(), join(scratch.root, 'elsewhere/muster'));
    expect(await muster(join(scratch.root, 'elsewhere/muster'), 'exit', '5')).toMatchObject({ code: 5, stderr: '' });
  });
});

test('from-node-24-the-program-runs-in-the-same-process-without-warnings', async () => {
  const child = spawn(process.execPath, [await repository(), 'say', 'x'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const told = JSON.parse(stdout) as Told;
  expect({ pid: told.pid, rest: told.rest, stderr }).toEqual({ pid: child.pid, rest: ['x'], stderr: '' });
});
