// Files that are made to break whoever reads them: references that multiply, nesting without end, keys that are no text, files that
// are no files. Each gets a sentence that names the file and says what to do, and code 2; nothing is sent.
import { execFileSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder, run, type Ended } from '../cli/muster.ts';

const folder = newFolder();
const BIN = join(import.meta.dirname, '../../bin/muster.js');
const NOWHERE = ['--server', 'http://127.0.0.1:9', '--token', 'x'];

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const join9 = (name: string): string => Array.from({ length: 9 }, () => `*${name}`).join(', ');
const LETTERS = 'abcdefghi'.split('');
/** Nine to the ninth values in a few hundred bytes. */
const BOMB = `a: &a [x, x, x, x, x, x, x, x, x]\n${LETTERS.slice(1)
  .map((letter, at) => `${letter}: &${letter} [${join9(LETTERS[at]!)}]`)
  .join('\n')}\n`;

function expectSentence({ code, out, err }: Ended, sentence: RegExp | string): void {
  expect(err).toMatch(sentence);
  expect(err).not.toMatch(/^ +at /m);
  expect(err).not.toContain('Error:');
  expect({ code, out }).toEqual({ code: 2, out: '' });
}

describe('a file', () => {
  test.each([
    [
      'references that multiply',
      BOMB,
      /bad\.yaml cannot be used at line 6, column \d+: with every reference .* split it\./,
    ],
    [
      'references to what they are a part of',
      'a: &a [*a]\n',
      /at line 1, column 8: \*a refers to what it is a part of\./,
    ],
    ['a thousand lists in each other', '['.repeat(100_000), /at line 1, column 257: it is nested more than 64 levels/],
    [
      'a hundred lists in each other',
      `${'['.repeat(100)}${']'.repeat(100)}`,
      /at line 1, column 66: it is nested more than/,
    ],
    ['a thousand dashes', '- '.repeat(100_000), /it is nested more than 64 levels/],
    [
      'maps in maps',
      Array.from({ length: 90 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
      /at line 6\d, .*nested more/,
    ],
    ['the same key twice', 'hosts: []\nhosts: []\n', /at line 2, column 1: Map keys must be unique\./],
    ['a number as a key', 'hosts:\n  - 1: a\n', /at line 2, column 5: a key must be text; put it in quotes\./],
    ['a list as a key', '? [a]\n: b\n', /at line 1, column 3: a key must be text\./],
    [
      'a type of another language',
      'a: !!js/function "x"\n',
      /at line 1, column \d+: the tag !!js\/function means nothing here/,
    ],
    ['bytes', 'a: !!binary aGk=\n', /the tag !!binary means nothing here; leave it out\./],
    ['no number', 'a: .nan\n', /at line 1, column 4: this is not a number that can be sent\./],
    ['control characters', '\u0000\u0001\u001B[2J: [', /bad\.yaml is neither YAML nor JSON at line 1/],
  ])('with %s', async (_, text, sentence) => {
    expectSentence(await run(['hosts', 'join', '-f', file('bad.yaml', text), ...NOWHERE]), sentence);
  });

  test('that comes by standard input', async () => {
    for (const input of [BOMB, '['.repeat(100_000)]) {
      expectSentence(await run(['hosts', 'join', '-f', '-', ...NOWHERE], { input }), /^Standard input /);
    }
  });

  test('that is not UTF-8', async () => {
    const path = join(folder, 'latin1.yaml');
    writeFileSync(path, Buffer.from([0x61, 0x3a, 0x20, 0xe9, 0xff]));
    expectSentence(await run(['hosts', 'join', '-f', path, ...NOWHERE]), /latin1\.yaml is not text in UTF-8/);
  });

  test('that is a folder, a pipe, a device without end, too large, or not there', async () => {
    mkdirSync(join(folder, 'folder'));
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(folder, 'pipe')]);
    const large = file('large.yaml', '');
    truncateSync(large, 5 * 1024 * 1024);
    for (const [path, sentence] of [
      [join(folder, 'folder'), /folder is a folder\. Name a file in it\./],
      [join(folder, 'pipe'), /pipe is a pipe\. Say "-f -" and lead it to standard input\./],
      ['/dev/zero', /\/dev\/zero is larger than 4 MiB/],
      [large, /large\.yaml is larger than 4 MiB\. Split it\./],
      [join(folder, 'absent'), /There is no file \S+absent\./],
      [join(large, 'below'), /below cannot be read: \S+large\.yaml is not a folder\./],
    ] as const) {
      expectSentence(await run(['hosts', 'join', '-f', path, ...NOWHERE]), sentence);
    }
  });

  test('that does not end, by standard input', async () => {
    const command = `head -c 6000000 /dev/zero | ${process.execPath} ${BIN} hosts join -f - ${NOWHERE.join(' ')}`;
    expectSentence(
      await run([], { command: ['bash', '-c', command] }),
      /^Standard input is larger than 4 MiB\. Split it\./,
    );
  });

  test('that comes through a pipe of the shell is read', async () => {
    const command = `exec ${process.execPath} ${BIN} hosts join -f <(echo 'a: [') ${NOWHERE.join(' ')}`;
    expectSentence(await run([], { command: ['bash', '-c', command] }), /is neither YAML nor JSON at line/);
  });
});

test.each([
  ['references that multiply', BOMB],
  ['lists in each other', '['.repeat(100_000)],
  ['a reference to nothing', '*x'],
  ['a tag', '!!binary aGk='],
])('a value on the command line with %s gets a sentence', async (_, text) => {
  const server = createStub();
  const { url, close } = await server;
  const ended = await run(['settings', 'set', 'some-setting', text, '--server', url, '--token', 'x']);
  close();
  expectSentence(ended, / is not a value: /);
  expect(ended.err.length).toBeLessThan(1000);
});

/** Knows a setting, so that the command gets as far as its value. */
async function createStub(): Promise<{ readonly url: string; readonly close: () => void }> {
  const { createServer } = await import('node:http');
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"some-setting","value":{}}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
