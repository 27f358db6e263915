// One credential on two machines, as after a disk was cloned: two agent processes at one server. Both continue and neither is refused, they do not drive each
// other's long polls into a busy loop, and an alarm is raised. Joining the host again ends it.
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { newFolder, start, startServer } from './muster.ts';

/** Heartbeats come every 5 s, alarms are looked after as often. */
const WAIT = { timeout: 90_000, interval: 500 };
const COUNTED_MS = 10_000;
/** Each of two agents, four times a second: a busy loop makes hundreds of it. */
const POLLS_MAX = 80;

interface Alarm {
  readonly id: string;
  readonly severity: string;
}

test('raises an alarm, and costs a few polls a second', { timeout: 240_000 }, async () => {
  const [data, folder] = [newFolder(), newFolder()];
  const server = await startServer(data);
  const waiting = server.startCommand('hosts', 'join', 'edge-1', '--wait', '--timeout', '2m');
  await waiting.said(/edge-1 waiting: Host edge-1 has no agent yet/);
  const token = async (): Promise<string> => {
    const file = join(folder, 'token');
    writeFileSync(file, (await server.muster('hosts', 'join-token', 'edge-1')).out);
    return file;
  };
  const agent = (state: string, ...more: string[]) =>
    start(['agent', '--server', server.url, '--state', join(folder, state), '--simulate', ...more]);
  const installed = agent('disk', '--join-token-file', await token());
  expect(await waiting.ended).toMatchObject({ code: 0 });
  installed.child.kill('SIGTERM');
  expect(await installed.ended).toMatchObject({ code: 0 });

  cpSync(join(folder, 'disk'), join(folder, 'clone'), { recursive: true });
  chmodSync(join(folder, 'clone'), 0o700);
  const [first, second] = [agent('disk'), agent('clone')];
  const alarms = async (): Promise<readonly Alarm[]> =>
    (await server.json<readonly Alarm[]>('alarms')).filter(({ id }) => id.startsWith('agent-credential'));
  await vi.waitFor(async () => expect(await alarms()).toHaveLength(1), WAIT);
  expect(await alarms()).toMatchObject([{ id: 'agent-credential-shared:edge-1', severity: 'critical' }]);
  expect((await server.muster('alarms')).out).toContain('Two machines use the credential of host edge-1');
  expect(await server.json('hosts', 'show', 'edge-1')).toMatchObject({ state: 'active', connection: { state: 'up' } });

  const admin = readFileSync(join(data, 'admin-token'), 'utf8').trim();
  const polls = async (): Promise<number> => {
    const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${admin}` } });
    const counted = /^muster_http_request_seconds_count\{[^}]*"\/api\/v1\/agent\/view"[^}]*\} (\d+)$/gm;
    return [...(await answer.text()).matchAll(counted)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await polls();
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  const made = (await polls()) - before;
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(POLLS_MAX);

  // The one that is joined again is the host; the other is refused from then on.
  second.child.kill('SIGTERM');
  expect(await second.ended).toMatchObject({ code: 0 });
  const rejoined = agent('new', '--join-token-file', await token());
  const refusals = async (): Promise<string> => (await server.muster('audit', 'export', '--since', '5m')).out;
  await vi.waitFor(
    async () => expect(await refusals()).toMatch(/"code":"(credential-superseded|token-revoked)"/),
    WAIT,
  );
  for (const one of [first, rejoined]) {
    one.child.kill('SIGTERM');
    await one.ended;
  }
});
