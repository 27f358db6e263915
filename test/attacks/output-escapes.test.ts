// Text of others, shown on a terminal: nothing in it is obeyed there, whichever command shows it and in whichever form.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { newFolder, run, startServer, type Ended } from '../cli/muster.ts';

/** Clears the screen in C0 and in C1 form, sets a title, turns lines round, breaks lines. */
const EVIL = 'x\u001B[2J\u009B2J\u001B]0;t\u0007\u0085\u200E\u200F\u202Ey\u2066\u2069\u2028\u2029\u061C\u007F\r';
const OBEYED = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u;

function expectHarmless({ out, err }: Ended): void {
  expect(OBEYED.exec(out)).toBeNull();
  expect(OBEYED.exec(err)).toBeNull();
}

const LISTS =
  /^\/api\/v1\/(?:sites|tokens|history|workers|clusters|drain-reports|nodes|reservations|managers|inventories)(?:\?|$)/;

describe('a server that sends control characters wherever it can', () => {
  const commit = {
    revision: 1,
    atMs: 1,
    by: EVIL,
    why: EVIL,
    operation: EVIL,
    changes: [
      { kind: EVIL, id: EVIL, doc: { state: EVIL }, fields: [{ field: EVIL, from: EVIL, to: EVIL }] },
      { kind: EVIL, id: EVIL, doc: null },
    ],
  };
  const resource = {
    ...{ ...commit, id: EVIL, name: EVIL, role: EVIL, description: EVIL, text: EVIL, [EVIL]: EVIL },
    ...{ instance: EVIL, node: EVIL, manager: EVIL, inventory: EVIL, state: EVIL, cluster: EVIL },
    ...{ memoryMiB: 1, cpus: 1, localGiB: 1, power: EVIL, epoch: 1 },
    ...{ traits: [EVIL], physicalNetworks: [EVIL], blockers: [], drainPolicy: {}, missingPermissions: [] },
  };
  const refusal = {
    code: EVIL,
    detail: EVIL,
    requestId: EVIL,
    problems: [1, 2].map(() => ({ field: EVIL, message: EVIL })),
  };
  const server = createServer((request, response) => {
    const refuses = request.url?.includes('refused') === true;
    const isList = LISTS.test(request.url ?? '') && request.method === 'GET';
    response
      .writeHead(refuses ? 409 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(refuses ? refusal : isList ? { items: [resource] } : resource));
  });
  let base: string[];
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    base = ['--server', `http://127.0.0.1:${(server.address() as AddressInfo).port}`, '--token', 'mst_x'];
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const muster = (...words: string[]): Promise<Ended> => run([...words, ...base]);

  test.each([
    ['sites', 'list'],
    ['sites', 'show', 'a'],
    ['sites', 'describe', 'a', EVIL],
    ['token', 'revoke', 'a'],
    ['history'],
  ])('is shown by %s %s', async (...words) => {
    for (const output of ['table', 'json', 'yaml']) {
      const ended = await muster(...words, '--output', output);
      expect(ended.code).toBe(0);
      expectHarmless(ended);
      expect(ended.out).toContain(String.raw`\u009b2J`);
      if (output === 'table') continue;
      // Programs get what was sent.
      const value = (output === 'json' ? JSON.parse(ended.out) : parse(ended.out)) as object;
      const one = (Array.isArray(value) ? value[0] : value) as Record<string, unknown>;
      expect(one).toMatchObject({ by: EVIL, why: EVIL });
    }
  });

  test.each([
    ['workers', 'list'],
    ['workers', 'show', 'a'],
    ['workers', 'log', 'a'],
    ['workers', 'drains', 'list'],
    ['clusters', 'list'],
    ['clusters', 'show', 'a'],
    ['baremetal', 'nodes', 'list'],
    ['baremetal', 'nodes', 'show', 'a'],
    ['baremetal', 'reservations', 'list'],
    ['baremetal', 'reservations', 'show', 'a'],
    ['baremetal', 'managers', 'list'],
    ['baremetal', 'inventories', 'list'],
  ])('is in a column or a text of %s %s', async (...words) => {
    const ended = await muster(...words);
    expect(ended.code).toBe(0);
    expectHarmless(ended);
    expect(ended.out).toContain(String.raw`\u009b2J`);
  });

  test('is refused by it', async () => {
    const ended = await muster('sites', 'show', 'refused', '--verbose');
    expect(ended.code).toBe(1);
    expect(ended.err).toContain(String.raw`\u009b2J`);
    expectHarmless(ended);
  });

  test.each([
    ['an option that there is not', ['sites', 'list', `--${EVIL}`]],
    ['a command that there is not', [EVIL]],
    ['a value that is wrong', ['history', '--limit', EVIL]],
    ['a file that is not there', ['hosts', 'join', '-f', EVIL]],
  ])('%s is repeated without harm', async (_, words) => {
    const ended = await muster(...words);
    expect(ended.code).toBe(2);
    expectHarmless(ended);
  });
});

test('a name is in the log and in the greeting of a server, escaped, and each line of the log is JSON', async () => {
  const data = join(newFolder(), EVIL);
  const server = await startServer(data, '--log-level', 'debug');
  const stopped = await server.stop();
  expectHarmless(stopped);
  const lines = stopped.err.split('\n').filter((line) => line.startsWith('{'));
  expect(lines.map((line) => (JSON.parse(line) as { path?: string }).path)).toContain(join(data, 'admin-token'));
  expect(stopped.out).toContain(String.raw`\u009b2J`);
});

test('a program that cannot start escapes the arguments that it repeats', async () => {
  for (const command of [
    ['serve', '--listen', EVIL, '--data', newFolder()],
    ['agent', '--simulate', '--server', EVIL, '--state', newFolder()],
  ]) {
    const ended = await run(command);
    expect(ended.code).toBe(1);
    expectHarmless(ended);
  }
});
