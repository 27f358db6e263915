// What answers in a server's place is not a Muster server: a proxy's page, a cut line, a peer that means harm. The command line says so
// in a sentence that nothing in the answer gets into unescaped, and takes no more of it than an answer can have.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { run, type Ended } from '../cli/muster.ts';

const EVIL = '\u001B[2J\u009B2J\u202E';
const OBEYED = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u;

type Answer = (response: ServerResponse, nth: number) => void;

async function ask(answer: Answer, ...words: string[]): Promise<Ended & { readonly requests: number }> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.on('error', () => undefined);
    answer(response, requests);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await run([...words, '--server', url, '--token', 'mst_x']);
  return { ...ended, requests };
}

function say(status: number, body: string, type = 'application/json'): Answer {
  return (response) => void response.writeHead(status, { 'content-type': type }).end(body);
}

function expectSentence({ out, err }: Ended): void {
  expect(OBEYED.exec(out + err)).toBeNull();
  expect(err).not.toMatch(/^ +at /m);
  expect(err.trim().split('\n')).toHaveLength(1);
}

describe('an answer that is not of a Muster server', () => {
  test.each([
    ['a page of HTML', say(200, `<html>${EVIL}</html>`, 'text/html'), 3],
    ['JSON that breaks off', say(200, `{"items":["${EVIL}`), 3],
    ['nothing at all', say(200, ''), 3],
    ['null', say(200, 'null'), 3],
    ['a list where an object belongs', say(200, '[]'), 3],
    ['a page without items', say(200, '{"items":null}'), 3],
    ['items that are none', say(200, `{"items":[null,1,"${EVIL}"]}`), 3],
    ['a refusal of null', say(400, 'null'), 1],
    ['a refusal in which nothing is text', say(400, '{"detail":5,"problems":3,"code":[],"requestId":{}}'), 1],
    ['a refusal whose problems are none', say(400, `{"detail":"${EVIL.slice(4)}","problems":[null,{}]}`), 1],
  ] as const)('%s is named in a sentence', async (_, answer, code) => {
    const ended = await ask(answer, 'hosts', 'list');
    expectSentence(ended);
    expect(ended.err).toMatch(/Muster server|\\u009b2J/);
    expect(ended.code).toBe(code);
  });

  test('an object without what every host has is shown without harm, and the fault is named', async () => {
    const ended = await ask(say(200, JSON.stringify({ name: EVIL })), 'hosts', 'show', 'a');
    expect(OBEYED.exec(ended.out + ended.err)).toBeNull();
    expect(ended.err).toMatch(/does not answer as this version of muster expects/);
    expect(ended.code).toBe(1);
  });
});

test('an answer that is cut off is requested again, and then named', async () => {
  const cut: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"items":[', () => response.destroy());
  };
  const ended = await ask(cut, 'hosts', 'list');
  expectSentence(ended);
  expect(ended.code).toBe(3);
  expect(ended.requests).toBe(4);
  const whole = await ask(
    (response, nth) => (nth === 1 ? cut : say(200, '{"items":[]}'))(response, nth),
    'hosts',
    'list',
  );
  expect(whole.code).toBe(0);
});

test('an answer that drips is not waited for longer than one request may take', async () => {
  const drip: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const dripping = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(dripping));
  };
  const ended = await ask(drip, 'hosts', 'list', '--request-timeout', '1s');
  expectSentence(ended);
  expect(ended.code).toBe(3);
});

/** Sends up to `mebibytes`; answers how many were taken. */
function flood(mebibytes: number, chunk: string): { readonly answer: Answer; readonly sent: () => number } {
  let sent = 0;
  const answer: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (sent < mebibytes && !response.destroyed) {
        sent += 1;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };
  return { answer, sent: () => sent };
}

test.each([
  ['a list', ['hosts', 'list'], 3],
  ['an export', ['audit', 'export'], 3],
] as const)(
  '%s that does not end is refused long before the memory is full',
  async (_, words, code) => {
    const { answer, sent } = flood(400, 'x'.repeat(1024 * 1024));
    const ended = await ask(answer, ...words);
    expectSentence(ended);
    expect(ended.err).toMatch(/too long/);
    expect(ended.code).toBe(code);
    expect(sent()).toBeLessThan(200);
  },
  60_000,
);

test.each([
  ['sites', '"same"'],
  ['history', '7'],
])('pages of %s that lead back to themselves end', async (list, next) => {
  const words = list === 'history' ? [list] : [list, 'list'];
  const ended = await ask(say(200, `{"items":[],"next":${next}}`), ...words);
  expectSentence(ended);
  expect(ended.code).toBe(3);
  expect(ended.requests).toBeLessThan(5);
});

test.each(['0', '-5', ''])(
  'a server that says "not now, try again in %s s" does not get hundreds of requests',
  async (wait) => {
    const busy: Answer = (response) => void response.writeHead(503, { 'retry-after': wait }).end();
    const ended = await ask(busy, 'hosts', 'list', '--request-timeout', '1s');
    expect(ended.requests).toBeLessThan(15);
  },
);
