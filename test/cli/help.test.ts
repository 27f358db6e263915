// What the program says of itself at the top, and that it loads no more than it needs.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder, run, startServer } from './muster.ts';

const server = await startServer(newFolder());
const folder = newFolder();

const manifest = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly version: string;
};

describe('help', () => {
  test('the top level is as it was agreed', async () => {
    const { code, out, err } = await run(['--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    await expect(out).toMatchFileSnapshot('help.txt');
  });
});

describe('version', () => {
  test.each([['--version'], ['-V']])('%s', async (option) => {
    expect(await run([option])).toMatchObject({ code: 0, out: `${manifest.version}\n`, err: '' });
  });
});

describe('a short command loads little', () => {
  test('never: the command line loads what only servers need', async () => {
    const coverage = join(folder, 'coverage');
    mkdirSync(coverage);
    // The coverage of a run names every script that it loaded.
    const ended = await server.with({ env: { NODE_V8_COVERAGE: coverage } }, 'hosts', 'list');
    expect(ended.code).toBe(0);
    const text = readdirSync(coverage)
      .map((name) => readFileSync(join(coverage, name), 'utf8'))
      .join('\n');
    const packages = new Set([...text.matchAll(/node_modules\/((?:@[^/"]+\/)?[^/"]+)/g)].map(([, name]) => name));
    expect([...packages]).toEqual(['commander']);
    const files = new Set([...text.matchAll(/\/src\/([a-z]+\/[a-z-]+)\.ts/g)].map(([, file = '']) => file));
    const others = [...files].filter((file) => !/^(?:cli|main)\//.test(file));
    // What clients share with the server decides on text alone.
    expect(others.toSorted((one, other) => one.localeCompare(other))).toEqual([
      'api/index',
      'journal/backoff',
      'link/loopback',
    ]);
  });
});
