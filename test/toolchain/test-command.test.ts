// The test command: its options, what it counts, and that a failure anywhere is a failure of the whole.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readOptions } from '../../scripts/test/options.ts';
import { closingLines, isGood, ONE_FAILED, ONE_PASSED, total } from '../../scripts/test/tally.ts';
import { linkPackages, makeScratch, run, type ProgramOutcome, type Scratch } from './scratch.ts';

describe('options', () => {
  test.each([
    [
      'everything-by-default',
      [],
      {
        kind: 'run',
        parts: ['checks', 'unit', 'real', 'sim', 'packets', 'kubernetes'],
        filters: [],
        hangGraceMs: 120_000,
      },
    ],
    ['one-part', ['--only', 'sim'], { kind: 'run', parts: ['sim'], filters: [], hangGraceMs: 120_000 }],
    [
      'two-parts',
      ['--only', 'checks', '--only', 'unit'],
      { kind: 'run', parts: ['checks', 'unit'], filters: [], hangGraceMs: 120_000 },
    ],
    [
      'a-filter-leaves-the-checks-out',
      ['fleet'],
      {
        kind: 'run',
        parts: ['unit', 'real', 'sim', 'packets', 'kubernetes'],
        filters: ['fleet'],
        hangGraceMs: 120_000,
      },
    ],
    [
      'a-longer-patience-with-files-that-hang',
      ['--only', 'sim', '--hang-after', '600'],
      { kind: 'run', parts: ['sim'], filters: [], hangGraceMs: 600_000 },
    ],
    ['help', ['--help'], { kind: 'help' }],
  ])('%s', (_name, args, expected) => {
    expect(readOptions(args)).toEqual(expected);
  });

  test.each([
    ['an-unknown-part', ['--only', 'all'], /--only all: there is no such part/],
    ['a-patience-that-is-no-number', ['--hang-after', 'soon'], /--hang-after soon: give a whole number of seconds/],
    ['an-unknown-option', ['--fast'], /--fast/],
  ])('%s-is-refused', (_name, args, why) => {
    expect(readOptions(args)).toEqual({ kind: 'refused', why: expect.stringMatching(why) as string });
  });
});

describe('tally', () => {
  test('closes-with-reasons-and-one-line-that-counts', () => {
    const skips = [{ suite: 'test/a.test.ts', tests: 2, reason: 'no PostgreSQL' }];
    expect(closingLines(total([ONE_PASSED, ONE_PASSED, ONE_FAILED, { passed: 3, failed: 0, skips }]))).toEqual([
      'skipped: test/a.test.ts (2): no PostgreSQL',
      'muster: 5 passed, 1 failed, 2 skipped',
    ]);
  });

  test('a-run-that-ran-nothing-is-no-success', () => {
    expect(isGood(total([]))).toBe(false);
  });
});

/** A test that spins says nothing on its output any more; a file it can still write. */
const BEGUN = `(await import('node:fs')).writeFileSync('begun', '');`;

/** A global set-up that leaves a trace when it is torn down. */
const TEARDOWN = `import { writeFileSync } from 'node:fs';
export const setup = () => {};
export const teardown = () => writeFileSync('torn-down', '');
`;

/** Limits of a second, so that a file that hangs is one after two. */
const hastyConfig = (isolate: boolean): string =>
  `export default { test: { pool: 'forks', maxWorkers: 2, setupFiles: ['scripts/test/worker-file.ts'], projects: [
  { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 1000, hookTimeout: 1000, isolate: ${isolate} } },
] } };
`;

function installer(name: string, answer: string): string {
  return `export const ${name} = async (): Promise<unknown> => (${answer});\n`;
}

function environment(ci: string): NodeJS.ProcessEnv {
  // This process is a vitest worker; the command under test must not take itself for one.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  return { ...Object.fromEntries(inherited), CI: ci, NO_COLOR: '1' };
}

describe('a run', () => {
  let scratch: Scratch;

  beforeEach(async () => {
    scratch = await makeScratch();
    await scratch.copy('bin', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts', '.oxlintrc.json');
    await linkPackages(scratch);
    await scratch.write('test/postgres/install.ts', installer('ensurePostgres', "{ kind: 'ready' }"));
    await scratch.write('test/durability/install.ts', installer('ensureStrace', "{ kind: 'ready' }"));
    await scratch.write('test/restconf/install.ts', installer('ensureYanglint', "{ kind: 'ready' }"));
    await scratch.write('test/ovs/install.ts', installer('ensureOvs', "{ kind: 'ready' }"));
    await scratch.write('test/kubernetes/install.ts', installer('ensureKubernetes', "{ kind: 'ready' }"));
    await scratch.write('test/ssh/install-shellcheck.ts', installer('ensureShellcheck', "{ kind: 'ready' }"));
    await scratch.write('test/kubernetes/install-sshd.ts', installer('ensureSshd', "{ kind: 'ready' }"));
  });

  afterEach(async () => {
    await scratch.remove();
  });

  async function testCommand(args: string[], ci = 'false'): Promise<ProgramOutcome & { last: string }> {
    const script = ['scripts/with-node.js', 'scripts/test.ts', ...args];
    const outcome = await run(process.execPath, script, { cwd: scratch.root, env: environment(ci) });
    return { ...outcome, last: outcome.stdout.trimEnd().split('\n').at(-1) ?? '' };
  }

  const suite = (body: string): string => `import { expect, test } from 'vitest';\n${body}\n`;

  test('passes-when-all-passes-and-names-what-was-skipped', async () => {
    await scratch.write('src/a.test.ts', suite(`test('a', () => expect(1).toBe(1)); test.skip('b', () => {});`));
    const outcome = await testCommand(['--only', 'unit']);
    expect(outcome).toMatchObject({ code: 0, last: 'muster: 1 passed, 0 failed, 1 skipped' });
    expect(outcome.stdout).toContain('skipped: src/a.test.ts (1): such as "b"');
  });

  test('gives-the-reason-that-a-test-gave-for-its-skip', async () => {
    await scratch.write('src/a.test.ts', suite(`test('b', ({ skip }) => skip('no kernel'));test('a', () => {});`));
    expect((await testCommand(['--only', 'unit'])).stdout).toContain('skipped: src/a.test.ts (1): no kernel');
  });

  test('fails-when-a-test-fails', async () => {
    await scratch.write('src/a.test.ts', suite(`test('a', () => expect(1).toBe(2)); test('b', () => {});`));
    const outcome = await testCommand(['--only', 'unit']);
    expect(outcome).toMatchObject({ code: 1, last: 'muster: 1 passed, 1 failed, 0 skipped' });
  });

  test('fails-when-a-file-cannot-be-loaded', async () => {
    await scratch.write('src/a.test.ts', suite(`throw new Error('broken');`));
    await scratch.write('src/b.test.ts', suite(`test('b', () => {});`));
    const outcome = await testCommand(['--only', 'unit']);
    expect(outcome).toMatchObject({ code: 1, last: 'muster: 1 passed, 1 failed, 0 skipped' });
  });

  test('fails-when-an-error-belongs-to-no-test', async () => {
    await scratch.write('src/a.test.ts', suite(`test('b', () => { void Promise.reject(new Error('lost')); });`));
    const outcome = await testCommand(['--only', 'unit']);
    expect(outcome).toMatchObject({ code: 1, last: 'muster: 1 passed, 1 failed, 0 skipped' });
  });

  test('fails-when-a-check-fails-and-shows-what-it-said', async () => {
    await scratch.write('src/api/a.ts', `export const a: number = 'x';\n`);
    const outcome = await testCommand(['--only', 'checks']);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toMatch(/TS2322[^]*> type check: FAILED/);
    expect(outcome.stdout).toContain('> lint: ok');
  });

  test('checks-that-remember-what-they-found-see-what-changed-and-what-that-breaks-elsewhere', async () => {
    await scratch.copy('.prettierrc.json', '.prettierignore');
    await scratch.write('src/api/a.ts', `export const a: number = 1;\n`);
    await scratch.write('src/api/b.ts', `import { a } from './a.ts';\n\nexport const b: number = a;\n`);
    const before = await testCommand(['--only', 'checks']);
    expect(before.stdout).toMatch(/> type check: ok[^]*> format check: ok/);
    await scratch.write('src/api/a.ts', `export const a: string = "1";\n`);
    const after = await testCommand(['--only', 'checks']);
    expect(after.stdout).toMatch(/src\/api\/b\.ts.*TS2322/);
    expect(after.stdout).toMatch(/\[warn\] src\/api\/a\.ts[^]*> format check: FAILED/);
  });

  test.each([
    ['waits', 'await new Promise(() => {});'],
    ['spins', 'for (;;) continue;'],
  ])('an-interrupt-stops-a-test-that-%s-and-runs-the-teardown', async (_name, body) => {
    await scratch.write('test/postgres/global-setup.ts', TEARDOWN);
    await scratch.write('test/a.test.ts', suite(`test('a', async () => { ${BEGUN} ${body} });`));
    await scratch.write('src/b.test.ts', suite(`test('b', async () => { ${body} });`));
    const script = ['scripts/with-node.js', 'scripts/test.ts', '--only', 'real', '--only', 'unit'];
    const command = spawn(process.execPath, script, { cwd: scratch.root, env: environment('false') });
    const ended = once(command, 'exit');
    const output = text(command.stdout);
    await vi.waitUntil(() => existsSync(join(scratch.root, 'begun')), { timeout: 60_000, interval: 100 });
    command.kill('SIGINT');
    expect(await ended).toEqual([1, null]);
    expect(await output).toContain('not finished: test/a.test.ts');
    expect(existsSync(join(scratch.root, 'torn-down'))).toBe(true);
  });

  test.each([
    ['in-a-test', `test('b', () => { for (;;) continue; });`, true],
    ['in-a-test-in-a-process-of-many-files', `test('b', () => { for (;;) continue; });`, false],
    ['while-it-is-loaded', `await new Promise(() => {});`, true],
  ])('a-file-that-hangs-%s-is-named-and-ended-and-the-others-go-on', async (_name, body, isolate) => {
    await scratch.write('vitest.config.ts', hastyConfig(isolate));
    await scratch.write('src/a.test.ts', suite(`test('a', () => expect(1).toBe(1));`));
    await scratch.write('src/hangs.test.ts', suite(body));
    await scratch.write('src/z.test.ts', suite(`test('z', () => expect(1).toBe(1));`));
    const outcome = await testCommand(['--only', 'unit', '--hang-after', '1']);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toContain('src/hangs.test.ts hangs');
    expect(outcome.last).toMatch(/^muster: 2 passed, [12] failed, 0 skipped$/);
  });

  test('names-the-slowest-files', async () => {
    await scratch.write('src/a.test.ts', suite(`test('a', () => {});`));
    await scratch.write('src/b.test.ts', suite(`test('b', () => new Promise((done) => setTimeout(done, 1000)));`));
    const lines = (await testCommand(['--only', 'unit'])).stdout.split('\n').filter((line) => line.startsWith('slow:'));
    expect(lines).toEqual([expect.stringContaining('src/b.test.ts'), expect.stringContaining('src/a.test.ts')]);
  });

  test.each([
    ['passes-in-the-second-run', 'expect(1).toBe(1)', 0, 'muster: 3 passed, 0 failed, 0 skipped'],
    ['loses-in-the-second-run', 'expect(1).toBe(2)', 1, 'muster: 2 passed, 1 failed, 0 skipped'],
    ['is-too-busy-again', `skip('machine-too-busy')`, 0, 'muster: 2 passed, 0 failed, 1 skipped'],
  ])('a-packet-test-on-a-busy-machine-is-run-again-at-the-end-and-%s', async (_name, second, code, last) => {
    const packets = `import { existsSync, writeFileSync } from 'node:fs';
      test('a', () => {});
      test('b', ({ skip }) => {
        const isFirst = !existsSync('ran');
        writeFileSync('ran', '');
        if (isFirst) skip('machine-too-busy');
        ${second};
      });`;
    await scratch.write('lab/real/packets.test.ts', suite(packets));
    // Of a run of several files as well, only what the busy one came to changes.
    await scratch.write('lab/real/sick-router.test.ts', suite(`test('a', () => {});`));
    const outcome = await testCommand(['--only', 'packets']);
    expect(outcome).toMatchObject({ code, last });
    expect(outcome.stdout).toContain('lab/real/packets.test.ts: the machine was too busy; once more');
  });

  test('kubernetes-has-a-run-of-its-own, whose-set-up-is-gone-before-others-begin', async () => {
    await scratch.write('test/kubernetes/global-setup.ts', TEARDOWN);
    await scratch.write('test/kubernetes/a.test.ts', suite(`test('a', () => {});`));
    const isGone = `expect((await import('node:fs')).existsSync('torn-down')).toBe(true)`;
    await scratch.write('test/b.test.ts', suite(`test('b', async () => { ${isGone}; });`));
    const outcome = await testCommand(['test/']);
    expect(outcome).toMatchObject({ code: 0, last: 'muster: 2 passed, 0 failed, 0 skipped' });
    expect(outcome.stdout).toContain('> suites (kubernetes): ok');
  });

  test('simulated-worlds-run-beside-real-parts, at-a-lower-priority', async () => {
    const waitFor = (name: string): string =>
      `while (!existsSync('${name}')) await new Promise((done) => setTimeout(done, 20));`;
    const head = `import { existsSync, writeFileSync } from 'node:fs'; import { getPriority } from 'node:os';`;
    const sim = `${head} test('a', async () => { writeFileSync('sim-runs', ''); ${waitFor('real-runs')} expect(getPriority()).toBe(${Math.max(5, getPriority())}); }, 20_000);`;
    const real = `${head} test('b', async () => { writeFileSync('real-runs', ''); ${waitFor('sim-runs')} expect(getPriority()).toBe(${getPriority()}); }, 20_000);`;
    await scratch.write('sim/a.test.ts', suite(sim));
    await scratch.write('test/b.test.ts', suite(real));
    const outcome = await testCommand(['--only', 'sim', '--only', 'real']);
    expect(outcome).toMatchObject({ code: 0, last: 'muster: 2 passed, 0 failed, 0 skipped' });
  });

  test('kubernetes-is-built-only-for-files-of-its-own', async () => {
    const noKubernetes = installer('ensureKubernetes', "{ kind: 'missing', reason: 'no disk' }");
    await scratch.write('test/kubernetes/install.ts', noKubernetes);
    await scratch.write('test/kubernetes/b.test.ts', suite(`test('b', () => {});`));
    await scratch.write('src/a.test.ts', suite(`test('a', () => {});`));
    expect((await testCommand(['src/'])).stdout).not.toContain('Kubernetes');
    expect((await testCommand(['test/kubernetes'])).stdout).toContain('skipped: Kubernetes (0): no disk');
  });

  const missing = installer('ensurePostgres', "{ kind: 'missing', reason: 'not Debian' }");

  test('skips-with-the-reason-when-a-real-part-is-missing', async () => {
    await scratch.write('test/postgres/install.ts', missing);
    await scratch.write('test/a.test.ts', suite(`test('a', () => {});`));
    const outcome = await testCommand(['--only', 'real']);
    expect(outcome).toMatchObject({ code: 0, last: 'muster: 1 passed, 0 failed, 0 skipped' });
    expect(outcome.stdout).toContain('skipped: PostgreSQL (0): not Debian');
  });

  test('fails-in-ci-when-a-real-part-is-missing', async () => {
    await scratch.write('test/postgres/install.ts', missing);
    await scratch.write('test/a.test.ts', suite(`test('a', () => {});`));
    expect(await testCommand(['--only', 'real'], 'true')).toMatchObject({
      code: 1,
      last: 'muster: 1 passed, 1 failed, 0 skipped',
    });
  });
});
