// What a program is started with for its Ironic: every wrong address and file by its sentence, secrets that are in no sentence, and a token that is replaced.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { announceIronic, openIronic, type IronicFlags } from './ironic.ts';

const SECRET = 's3cr3t-value';

function newLog() {
  const lines: string[] = [];
  return { lines, log: pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) }) };
}

function fileOf(text: string, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-ironic-credentials-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'ironic.yaml');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function failureOf(options: IronicFlags): string {
  const { log, lines } = newLog();
  try {
    openIronic(options, log);
  } catch (error) {
    const { message } = error as Error;
    expect(message + lines.join('')).not.toContain(SECRET);
    return message;
  }
  return 'none';
}

test.each([
  ['no-url', 'ironic:6385x', '"ironic:6385x" is not the address of an Ironic, such as http://10.0.0.2:6385.'],
  ['no-scheme', '10.0.0.2', '"10.0.0.2" is not the address of an Ironic'],
  ['another-scheme', 'ftp://10.0.0.2', 'is not the address of an Ironic'],
  ['a-query', 'http://10.0.0.2/?a=b', 'leave out what follows "?"'],
  ['a-password', `http://admin:${SECRET}@10.0.0.2`, 'name it with --ironic-credentials.'],
])('an-address-with %s is-refused', (_, ironic, sentence) => {
  expect(failureOf({ ironic })).toContain(sentence);
});

test.each([
  ['neither', '{}', 'the file must say one of "basic: { user: …, password: … }" or "token: …".'],
  ['both', `{ token: ${SECRET}, basic: { user: a, password: ${SECRET} } }`, 'the file must say one of'],
  ['a-list', `[${SECRET}]`, 'the file must say "basic:'],
  ['nothing', '', 'the file must say "basic:'],
  ['no-yaml', `token: "${SECRET}`, 'line 1 is neither YAML nor JSON'],
  ['another-word', `{ tokn: ${SECRET} }`, '/tokn: is not a known field (did you mean "token"?).'],
  ['no-password', '{ basic: { user: a } }', '/basic/password'],
  ['a-line-break', `token: "${SECRET}\\n${SECRET}"`, '/token: '],
  ['a-colon-in-the-user', `{ basic: { user: "a:b", password: ${SECRET} } }`, '/basic/user: must not contain a colon'],
])('a-file-with %s is-refused, and-is-not-quoted', (_, text, sentence) => {
  expect(failureOf({ ironic: 'https://ironic', ironicCredentials: fileOf(text) })).toContain(sentence);
});

test('a-file-that-is-not-there, and-one-without-an-ironic', () => {
  expect(failureOf({ ironic: 'https://ironic', ironicCredentials: '/nowhere' })).toMatch(
    /^--ironic-credentials \/nowhere cannot be read: ENOENT/,
  );
  expect(failureOf({ ironicCredentials: '/nowhere' })).toBe(
    '--ironic-credentials is for an Ironic: name its address with --ironic.',
  );
  expect(openIronic({}, newLog().log)).toBeUndefined();
});

test('never: a-secret-crosses-the-network-in-clear-text, unless-the-file-says-so', () => {
  const path = fileOf(`token: ${SECRET}`);
  expect(failureOf({ ironic: 'http://10.0.0.2:6385', ironicCredentials: path })).toContain(
    'would cross the network to http://10.0.0.2:6385 in clear text',
  );
  for (const ironic of ['https://10.0.0.2', 'http://127.0.0.1:6385', 'http://[::1]:6385'])
    expect(failureOf({ ironic, ironicCredentials: path })).toBe('none');
  const trusted = fileOf(`{ token: ${SECRET}, allowPlainHttp: true }`);
  expect(failureOf({ ironic: 'http://10.0.0.2:6385', ironicCredentials: trusted })).toBe('none');
  // Without credentials there is nothing to hide.
  expect(failureOf({ ironic: 'http://10.0.0.2:6385' })).toBe('none');
});

test('a-file-that-others-may-read-is-warned-of', () => {
  const { log, lines } = newLog();
  openIronic({ ironic: 'https://ironic', ironicCredentials: fileOf(`token: ${SECRET}`, 0o640) }, log);
  expect(lines.join('')).toContain('chmod 600');
  expect(lines.join('')).not.toContain(SECRET);
});

/** Answers as Ironic does to whoever shows these headers. */
async function fakeIronic(accepts: (headers: Readonly<Record<string, unknown>>) => boolean, newest = '1.80') {
  const server = createServer(({ headers, url = '' }, reply) => {
    const isRoot = url === '/v1/';
    if (!isRoot && !accepts(headers)) return void reply.writeHead(401).end('{}');
    reply.writeHead(200, { 'x-openstack-ironic-api-maximum-version': newest }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const { signal } = new AbortController();
const REQUEST = { method: 'GET', path: '/v1/nodes', signal } as const;

test.each([
  [
    'basic',
    'basic: { user: muster, password: "pä ss" }',
    'authorization',
    `Basic ${Buffer.from('muster:pä ss').toString('base64')}`,
  ],
  ['a-token', `token: ${SECRET}`, 'x-auth-token', SECRET],
])('credentials-are-shown: %s', async (_, text, header, expected) => {
  const url = await fakeIronic((headers) => headers[header] === expected);
  const client = openIronic({ ironic: `${url}/v1/`, ironicCredentials: fileOf(text) }, newLog().log);
  expect(await client?.send(REQUEST)).toEqual({});
  const wrong = openIronic({ ironic: url, ironicCredentials: fileOf('token: another') }, newLog().log);
  await expect(wrong?.send(REQUEST)).rejects.toMatchObject({
    code: 'inventory-unreachable',
    message: expect.stringContaining('does not accept the credentials') as string,
  });
});

test('a-token-that-is-replaced-in-its-file-is-used; a-broken-file-leaves-the-former-one-in-use', async () => {
  let valid = 'first';
  let nowMs = 0;
  const url = await fakeIronic((headers) => headers['x-auth-token'] === valid);
  const path = fileOf('token: first');
  const { log, lines } = newLog();
  const client = openIronic({ ironic: url, ironicCredentials: path }, log, { steadyMs: () => nowMs });
  await client?.send(REQUEST);
  valid = 'second';
  writeFileSync(path, 'token: second');
  await expect(client?.send(REQUEST)).rejects.toMatchObject({ code: 'inventory-unreachable' });
  nowMs += 2000;
  await client?.send(REQUEST);
  writeFileSync(path, 'token: [');
  nowMs += 2000;
  await client?.send(REQUEST);
  expect(lines.at(-1)).toContain('The credentials before it stay in use.');
  rmSync(path);
  nowMs += 2000;
  await client?.send(REQUEST);
  expect(lines.at(-1)).toContain('cannot be read');
  expect(lines.join('')).not.toContain('second');
});

test.each([
  ['one-that-answers', '1.80', '"version":"1.65"', '"msg":"Ironic answers"'],
  ['one-that-is-too-old', '1.46', '"version":"1.46"', 'too old for allocations'],
])('at-the-start-it-is-said-of %s', async (_, newest, version, words) => {
  const { log, lines } = newLog();
  const client = openIronic({ ironic: await fakeIronic(() => true, newest) }, log);
  await announceIronic(client!, log, signal);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(version);
  expect(lines[0]).toContain(words);
});

test('at-the-start-it-is-said-that-none-answers', async () => {
  const { log, lines } = newLog();
  await announceIronic(openIronic({ ironic: 'http://127.0.0.1:1' }, log)!, log, signal);
  expect(lines.join('')).toMatch(/Ironic does not answer; retrying/);
});
