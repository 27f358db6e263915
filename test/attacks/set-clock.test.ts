// A real server whose wall clock is set a day ahead while it runs, and put right with its next start: no operation fails for it, and what
// was given a lifetime meanwhile is good for no longer than that.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { newFolder, start } from '../cli/muster.ts';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;
const WAIT = { timeout: 30_000, interval: 100 };

/** What is loaded into the server before its program: its wall clock is off by what is in a file. Its monotonic clock is not. */
const PRELOAD = `
import { readFileSync, writeFileSync } from 'node:fs';
const right = Date.now.bind(Date);
Date.now = () => right() + Number(readFileSync(process.env.CLOCK_OFF_BY, 'utf8'));
`;

interface Operation {
  readonly id: string;
  readonly state: string;
  readonly deadlineAtMs: number;
}

test('set ahead and put right', async () => {
  const folder = newFolder();
  const [data, preload, offBy] = [newFolder(), join(folder, 'preload.mjs'), join(folder, 'off-by')];
  writeFileSync(preload, PRELOAD);
  writeFileSync(offBy, '0');
  const env = { NODE_OPTIONS: `--import=${preload}`, CLOCK_OFF_BY: offBy };
  const serve = async () => {
    const server = start(['serve', '--data', data, '--listen', '127.0.0.1:0'], { env });
    const [, url = ''] = await server.said(/answers at (http\S+)/);
    const admin = readFileSync(join(data, 'admin-token'), 'utf8').trim();
    const call = async (method: string, path: string, body?: object, token = admin) => {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const operation = async (): Promise<Operation> => {
      const { items } = (await call('GET', '/operations?kind=host-join')).body as unknown as { items: Operation[] };
      expect(items).toHaveLength(1);
      return items[0] as Operation;
    };
    return { ...server, call, operation };
  };
  const first = await serve();
  await vi.waitFor(
    async () => expect((await first.call('POST', '/hosts', { hosts: [{ name: 'c1' }] })).status).toBe(202),
    WAIT,
  );
  const before = await first.operation();

  writeFileSync(offBy, String(DAY_MS));
  await vi.waitFor(
    async () => expect((await first.operation()).deadlineAtMs).toBeGreaterThan(before.deadlineAtMs),
    WAIT,
  );
  const ahead = await first.operation();
  expect(ahead).toMatchObject({ id: before.id, state: before.state });
  expect(ahead.deadlineAtMs - before.deadlineAtMs).toBeGreaterThan(DAY_MS - 60_000);
  const expiresAtMs = Date.now() + DAY_MS + HOUR_MS;
  const made = await first.call('POST', '/tokens', { name: 'ahead', role: 'viewer', expiresAtMs });
  const secret = String(made.body['secret']);
  expect((await first.call('GET', '/hosts', undefined, secret)).status).toBe(200);
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0 });

  writeFileSync(offBy, '0');
  const second = await serve();
  await vi.waitFor(async () => expect((await second.call('GET', '/hosts')).status).toBe(200), WAIT);
  expect(await second.call('GET', '/hosts', undefined, secret)).toMatchObject({
    status: 401,
    body: { code: 'token-early' },
  });
  // Later than it was given, never sooner: how long the clock was wrong, is unknown by then.
  expect(await second.operation()).toMatchObject({
    id: before.id,
    state: before.state,
    deadlineAtMs: ahead.deadlineAtMs,
  });
  second.child.kill('SIGTERM');
  expect(await second.ended).toMatchObject({ code: 0 });
});
