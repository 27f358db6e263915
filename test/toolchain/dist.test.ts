// The tarball as its users meet it: installed into an empty folder, without the repository around it.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { toJavaScript } from '../../scripts/dist/strip.ts';
import { freePort } from '../free-port.ts';
import { makeScratch, ROOT, run, type Scratch } from './scratch.ts';

describe('stripping', () => {
  test('types-become-blanks-and-neighbours-get-their-new-names', () => {
    const source = `import { a, type B } from './a.ts';\nexport * from "../b/index.ts";\nconst c: B = await import('./c.ts');\n`;
    expect(toJavaScript(source, 'x.ts').replaceAll(/ +/g, ' ')).toMatchInlineSnapshot(`
      "import { a, } from './a.js';
      export * from "../b/index.js";
      const c = await import('./c.js');
      "
    `);
  });

  test('packages-and-text-stay-as-they-are', () => {
    const source = `import fastify from 'fastify';\nexport const text = 'see docs/a.ts';\n`;
    expect(toJavaScript(source, 'x.ts')).toBe(source);
  });

  test('a-file-beside-is-followed', () => {
    expect(toJavaScript("new URL('./worker.ts', import.meta.url);\n", 'x.ts')).toContain("'./worker.js'");
  });

  test('a-name-that-nothing-rewrites-is-refused', () => {
    expect(() => toJavaScript("const worker = './worker.ts';\n", 'x.ts')).toThrow(/x\.ts: '\.\/worker\.ts'/);
  });
});

describe('the installed tarball', () => {
  let scratch: Scratch;

  beforeAll(async () => {
    scratch = await makeScratch();
    const dist = ['scripts/with-node.js', 'scripts/dist.ts', '--out', scratch.root];
    const packed = await run(process.execPath, dist, { cwd: ROOT });
    expect(packed).toMatchObject({ code: 0, stderr: '' });
    await scratch.write('package.json', JSON.stringify({ private: true }));
    const flags = ['--prefer-offline', '--no-audit', '--no-fund'];
    const install = await run('npm', ['install', packed.stdout.trim(), ...flags], { cwd: scratch.root });
    expect(install).toMatchObject({ code: 0 });
  }, 180_000);

  afterAll(async () => {
    await scratch.remove();
  });

  test('says-its-version', async () => {
    const version = await run('npx', ['muster', '--version'], { cwd: scratch.root });
    expect(version).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  test('has-the-script-that-is-sent-to-machines, where the program looks for it', async () => {
    const at = join(scratch.root, 'node_modules/muster');
    const driver = join(at, 'src/kubernetes/machines/ssh/default-script-driver.js');
    const print = `const { readDefaultScript } = await import(${JSON.stringify(driver)}); process.stdout.write(readDefaultScript());`;
    const sent = await run(process.execPath, ['--input-type=module', '--eval', print], { cwd: scratch.root });
    expect(sent).toMatchObject({
      code: 0,
      stdout: await readFile(join(ROOT, 'examples/kubernetes/worker.sh'), 'utf8'),
    });
  });

  test('serves-and-stops-on-sigterm', async () => {
    const port = await freePort();
    const args = ['serve', '--demo', 'none', '--listen', `127.0.0.1:${port}`, '--data', join(scratch.root, 'data')];
    const muster = spawn(join(scratch.root, 'node_modules/.bin/muster'), args, { cwd: scratch.root, stdio: 'ignore' });
    const ended = once(muster, 'exit');
    expect(await answers(`http://127.0.0.1:${port}/livez`, muster)).toBe(200);
    muster.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

/** The status of the first answer. The test's own timeout ends the waiting. */
async function answers(url: string, muster: ChildProcess): Promise<number> {
  while (muster.exitCode === null) {
    const answer = await fetch(url).catch((error: unknown) => error);
    if (answer instanceof Response) return answer.status;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`muster ended with ${muster.exitCode} before it answered`);
}
