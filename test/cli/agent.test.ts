// The agent as a program of its own, over real HTTP: it joins once, and is the same host after a restart.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { newFolder, run, start, startServer } from './muster.ts';

const server = await startServer(newFolder());
const folder = newFolder();

test('an agent joins with its token, its host comes into service, and a restart needs no token', async () => {
  const waiting = server.startCommand('hosts', 'join', 'edge-1', '--wait', '--timeout', '1m');
  await waiting.said(/edge-1 waiting: Host edge-1 has no agent yet/);
  const secret = (await server.muster('hosts', 'join-token', 'edge-1')).out;
  const file = join(folder, 'token');
  writeFileSync(file, secret);
  const agent = (...more: string[]) =>
    start(['agent', '--server', server.url, '--state', join(folder, 'state'), '--simulate', ...more]);
  const first = agent('--join-token-file', file);
  expect(await waiting.ended).toMatchObject({ code: 0 });
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0 });

  // An older one, so that it is seen which of the two reported last.
  const second = agent('--service-version', '2');
  const host = { state: 'active', connection: { state: 'up' }, serviceVersion: 2 };
  const look = async (): Promise<void> => expect(await server.json('hosts', 'show', 'edge-1')).toMatchObject(host);
  await vi.waitFor(look, { timeout: 30_000, interval: 200 });
  second.child.kill('SIGINT');
  expect(await second.ended).toMatchObject({ code: 0 });
  expect(await server.json('token', 'list', '--role', 'agent')).toHaveLength(1);
});

test('damaged files of an agent are shown with the host, until they are whole again', async () => {
  const state = join(folder, 'state');
  await server.muster('settings', 'set', 'conditions', 'degradedAfterMs=0', 'steadyMs=1000');
  const record = join(state, 'agent-machine.json');
  const before = existsSync(record) ? readFileSync(record) : undefined;
  writeFileSync(record, '{"instances":[');
  writeFileSync(join(state, 'agent-identity.json'), '{"current":');
  const agent = start(['agent', '--server', server.url, '--state', state, '--simulate']);
  const toDo = 'restore agent-machine.json, or start the agent once with --recover-instances';
  const degraded = [
    { type: 'instance-runtime', code: 'state-damaged', sentence: expect.stringContaining(toDo) as string },
    { type: 'agent', code: 'problems', sentence: expect.stringContaining('agent-identity.json is damaged') as string },
  ];
  const look = async (): Promise<void> =>
    expect(await server.json('hosts', 'show', 'edge-1')).toMatchObject({ degraded });
  await vi.waitFor(look, { timeout: 30_000, interval: 200 });
  const shown = (await server.muster('hosts', 'show', 'edge-1')).out;
  expect(shown).toMatch(/Degraded\s.*its instance runtime fails: nothing is built or removed/);
  expect(shown).toMatch(/agent-identity\.json is damaged/);
  expect(JSON.stringify(await server.json('alarms'))).toContain('--recover-instances');
  if (before === undefined) rmSync(record);
  else writeFileSync(record, before);
  agent.child.kill('SIGTERM');
  await agent.ended;
  const again = start(['agent', '--server', server.url, '--state', state, '--simulate']);
  const isWell = async (): Promise<void> =>
    expect(await server.json('hosts', 'show', 'edge-1')).not.toHaveProperty('degraded');
  await vi.waitFor(isWell, { timeout: 30_000, interval: 200 });
  again.child.kill('SIGTERM');
  expect(await again.ended).toMatchObject({ code: 0 });
});

test('an agent that cannot start says why, with 1', async () => {
  const state = ['--state', join(folder, 'other')];
  expect(await run(['agent', ...state])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Name the switch that this agent drives') as string,
  });
  const unknown = await run(['agent', ...state, '--ovs', '/run/openvswitch/db.sock']);
  expect(unknown).toMatchObject({
    code: 1,
    err: '"/run/openvswitch/db.sock" is not an address: give unix:/path or tcp:host:port.\n',
  });
  expect(await run(['agent', ...state, '--simulate', '--ovs', 'unix:/run/db.sock'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Give --ovs or --simulate, not both') as string,
  });
  const wrong = await run(['agent', ...state, '--simulate', '--server', 'nonsense']);
  expect(wrong).toMatchObject({
    code: 1,
    err: expect.stringContaining('"nonsense" is not the address of a server') as string,
  });
});

test('a host whose switch does not answer does not come into service, and the reason is shown', async () => {
  const waiting = server.startCommand('hosts', 'join', 'edge-2', '--wait', '--timeout', '1m');
  await waiting.said(/edge-2 waiting: Host edge-2 has no agent yet/);
  const file = join(folder, 'token-2');
  writeFileSync(file, (await server.muster('hosts', 'join-token', 'edge-2')).out);
  const ovs = ['--ovs', `unix:${folder}/db.sock`, '--ovs-control', `unix:${folder}/vs.ctl`];
  const agent = start([
    'agent',
    '--server',
    server.url,
    '--state',
    join(folder, 'two'),
    '--join-token-file',
    file,
    ...ovs,
  ]);
  const why = `no connection within 10000 ms: there is no ${folder}/db.sock`;
  await waiting.said(new RegExp(`The agent of host edge-2 found: its switch does not answer: ${why}`));
  await agent.said(new RegExp(`switch-down: ${why}.*the machine has not converged with its view`));
  waiting.child.kill('SIGINT');
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
});
