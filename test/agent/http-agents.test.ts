// Agents as programs: real HTTP, real files, real time; servers that come and go.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256, SILENT } from '../../src/agent/server/control-plane-fixture.ts';
import {
  runSimulatedAgents,
  SimulatedNodeDriver,
  SimulatedFleet,
  startAgent,
  type FileName,
} from '../../src/agent/runtime.ts';
import { FileDisk } from '../../src/link/runtime.ts';
import { put, SETTING } from '../../src/fleet/index.ts';
import { CONDITIONS, type HostSpec } from '../../src/hosts/index.ts';
import { accept } from '../../src/journal/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { HttpPlane } from './http-plane.ts';

const ids = realIds();
const random = (): number => Math.random();
const LONG = { timeout: 30_000 };

async function planeOf(): Promise<{ readonly plane: HttpPlane; readonly urls: readonly string[] }> {
  const plane = new HttpPlane();
  const first = await plane.listen('s1');
  await expect.poll(() => plane.hasLeader).toBe(true);
  const second = await plane.listen('s2');
  onTestFinished(async () => {
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
  return { plane, urls: [first.url, second.url] };
}

test('an-agent-joins-over-http-keeps-its-files-and-starts-again-from-them', async () => {
  const { plane, urls } = await planeOf();
  await plane.register('c1');
  const folder = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const joinToken = await plane.joinToken('c1');
  const driver = new SimulatedNodeDriver({ clock: realClock });
  // It knows only the server that does not decide.
  const base = { servers: [urls[1]!], folder, driver, clock: realClock, ids, random, log: SILENT, heartbeatMs: 200 };
  const first = startAgent({ ...base, joinToken: () => Promise.resolve(joinToken) });
  await expect.poll(() => plane.host('c1')?.state, LONG).toBe('active');
  await expect
    .poll(() => first.status(), LONG)
    .toMatchObject({ host: 'c1', server: urls[0], isServerUnreachable: false });
  // With what is true now, not with what it learnt before it was in service.
  const { gateway, journal } = plane.leader;
  await expect.poll(() => gateway.hasConverged('c1', journal.fleet.revision), LONG).toBe(true);
  await first.stop();
  expect((await readdir(folder)).sort()).toEqual([
    'agent-answers.json',
    'agent-identity-copy.json',
    'agent-identity.json',
    'agent-view.json',
  ]);
  const { changeCount } = driver;
  const second = startAgent({ ...base, joinToken: () => Promise.resolve(undefined) });
  await expect
    .poll(() => second.status().applied !== undefined && !second.status().isServerUnreachable, LONG)
    .toBe(true);
  await plane.edit('c1', { zone: 'other' });
  await expect.poll(() => driver.changeCount, LONG).toBe(changeCount + 1);
  await second.stop();
});

test('a-switch-that-is-out-of-control-makes-its-host-degraded-over-http', async () => {
  const { plane, urls } = await planeOf();
  await plane.register('c1');
  const folder = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const joinToken = await plane.joinToken('c1');
  const value = { ...CONDITIONS.defaultValue, degradedAfterMs: 0 };
  await plane.commit(() => accept([put(SETTING, CONDITIONS.name, { value, changedBy: 'test', changedAtMs: 1 })], null));
  const driver = Object.assign(new SimulatedNodeDriver({ clock: realClock }), {
    conditions: async () => [{ type: 'switch' as const, code: 'unreachable', message: 'no answer' }],
  });
  const base = { servers: urls, folder, driver, clock: realClock, ids, random, log: SILENT, heartbeatMs: 200 };
  const agent = startAgent({ ...base, joinToken: () => Promise.resolve(joinToken) });
  onTestFinished(() => agent.stop());
  await expect.poll(() => plane.host('c1')?.degraded, LONG).toMatchObject([{ type: 'switch', code: 'unreachable' }]);
});

test('an-agent-whose-record-of-instances-is-damaged-says-so-over-http-until-the-file-is-restored', LONG, async () => {
  const { plane, urls } = await planeOf();
  await plane.register('c1');
  const folder = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const joinToken = await plane.joinToken('c1');
  const value = { ...CONDITIONS.defaultValue, degradedAfterMs: 0, steadyMs: 1000 };
  await plane.commit(() => accept([put(SETTING, CONDITIONS.name, { value, changedBy: 'test', changedAtMs: 1 })], null));
  await writeFile(join(folder, 'agent-machine.json'), '{"instances":[');
  const driver = new SimulatedNodeDriver({ clock: realClock, disk: new FileDisk<FileName>(folder, 'agent') });
  const base = { servers: urls, folder, driver, clock: realClock, ids, random, log: SILENT, heartbeatMs: 200 };
  const agent = startAgent({ ...base, joinToken: () => Promise.resolve(joinToken) });
  onTestFinished(() => agent.stop());
  const damaged = [{ type: 'instance-runtime', code: 'state-damaged' }];
  await expect.poll(() => plane.host('c1')?.degraded, LONG).toMatchObject(damaged);
  await writeFile(join(folder, 'agent-machine.json'), '{"instances":[],"sent":[]}');
  await expect.poll(() => plane.host('c1')?.degraded, LONG).toBeUndefined();
});

test('a-server-that-closes-sends-its-agents-on-to-the-next', async () => {
  const { plane, urls } = await planeOf();
  await plane.register('c1');
  const joinToken = await plane.joinToken('c1');
  const { agents, stop } = runSimulatedAgents({
    hosts: ['c1'],
    servers: urls,
    joinToken: () => Promise.resolve(joinToken),
    clock: realClock,
    ids,
    random,
    log: SILENT,
    heartbeatMs: 200,
  });
  onTestFinished(stop);
  await expect.poll(() => plane.host('c1')?.state, LONG).toBe('active');
  await expect.poll(() => agents.statusOf('c1')?.stamp?.leaseEpoch, LONG).toBe(1);
  await plane.leader.stop();
  await expect.poll(() => agents.statusOf('c1')?.stamp?.leaseEpoch, LONG).toBe(2);
  expect(agents.statusOf('c1')).toMatchObject({ isServerUnreachable: false, refusal: undefined });
});

test('forty-hosts-join-over-http-in-one-process', async () => {
  const { plane, urls } = await planeOf();
  const hosts = Array.from({ length: 40 }, (_, at) => `c${at + 1}`);
  await plane.register(...hosts);
  const { agents, stop } = runSimulatedAgents({
    hosts,
    servers: urls,
    joinToken: (host) => plane.joinToken(host),
    clock: realClock,
    ids,
    random,
    log: SILENT,
    heartbeatMs: 500,
    spreadMs: 200,
  });
  onTestFinished(stop);
  const active = (): number => hosts.filter((host) => plane.host(host)?.state === 'active').length;
  await expect.poll(active, LONG).toBe(hosts.length);
  expect(agents.hosts).toHaveLength(hosts.length);
});

test('a-simulated-fleet-joins-by-host-join-and-shows-a-silent-host', async () => {
  const { plane } = await planeOf();
  await plane.register('c1');
  const fleet = new SimulatedFleet({
    journal: plane.leader.journal,
    link: plane.link,
    servers: [...plane.reachable.keys()],
    clock: realClock,
    ids,
    hash: sha256,
    random,
    log: SILENT,
    by: 'demo',
    heartbeatMs: 200,
  });
  onTestFinished(() => fleet.agents.stopAll());
  const hosts: HostSpec[] = ['d1', 'd2', 'd3'].map((name) => ({ name }));
  expect(await fleet.join(hosts)).toMatch(/^op-/);
  expect(await fleet.join([{ name: 'd1' }])).toMatchObject({ code: 'host-exists' });
  await expect.poll(() => hosts.every(({ name }) => plane.host(name)?.state === 'active'), LONG).toBe(true);
  await fleet.agents.stop('d2');
  const lastHeartbeatMs = plane.leader.liveness.lastHeartbeatMs('d2');
  await expect.poll(() => plane.leader.liveness.lastHeartbeatMs('d1')! > lastHeartbeatMs! + 500, LONG).toBe(true);
  expect(plane.leader.liveness.lastHeartbeatMs('d2')).toBe(lastHeartbeatMs);
  fleet.agents.start('d2');
  await expect.poll(() => plane.leader.liveness.lastHeartbeatMs('d2')! > lastHeartbeatMs!, LONG).toBe(true);
  expect(plane.tokens('d2').filter(({ doc }) => doc.role === 'join')).toHaveLength(1);
});
