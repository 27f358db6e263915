// Simulated hosts of several versions, and machines that outlive the agents on them.
import { expect, test } from 'vitest';
import type { NodeModule } from '../../composition/index.ts';
import type { TaskResult } from '../../operations/index.ts';
import { build } from '../node/instances/instance-tasks-fixture.ts';
import { StateMemoryDisk } from '../node/state/memory-disk.ts';
import { TestControlPlane, SILENT } from '../server/control-plane-fixture.ts';
import { ed25519Signer } from '../protocol/signer-fixture.ts';
import { SimulatedAgents, type SimulatedAgentsOptions } from './simulated-agents.ts';
import { SimulatedNodeDriver } from './simulated-node.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';

interface World {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly agents: SimulatedAgents;
}

async function withAgents(
  options: Partial<SimulatedAgentsOptions>,
  scene: (world: World) => Promise<void>,
): Promise<void> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock);
  plane.signer = ed25519Signer();
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  await plane.register('c1', 'c2');
  const { link, ids } = plane;
  const tokens = new Map([
    ['c1', await plane.joinToken('c1')],
    ['c2', await plane.joinToken('c2')],
  ]);
  const joinToken = (host: string): Promise<string | undefined> => Promise.resolve(tokens.get(host));
  const ports = { link, ids, clock, log: SILENT, random: () => 0.5 };
  const agents = new SimulatedAgents({ ...ports, servers: ['s1'], joinToken, ...options });
  await scene({ clock, plane, agents });
  await agents.stopAll();
  await plane.close();
}

test('hosts-of-several-versions-and-a-restart-with-another', async () => {
  await withAgents({}, async ({ clock, plane, agents }) => {
    const versions = (): unknown[] => ['c1', 'c2'].map((host) => plane.host(host)?.serviceVersion);
    agents.start('c1', { serviceVersion: 1 });
    agents.start('c2');
    await clock.until('both said', () => versions().every((version) => version !== 0));
    expect(versions()).toEqual([1, 6]);
    await agents.restart('c1');
    await clock.pass(30_000);
    expect(versions()).toEqual([1, 6]);
    await agents.restart('c1', { serviceVersion: 2 });
    await agents.restart('c2', { serviceVersion: 1 });
    await clock.pass(30_000);
    expect(versions()).toEqual([2, 1]);
    await agents.stop('c1');
    agents.start('c1', { serviceVersion: 3 });
    await clock.until('upgraded', () => versions()[0] === 3);
  });
});

test('a-machine-and-what-runs-on-it-outlives-its-agent', async () => {
  const disks = new Map([['c1', new StateMemoryDisk()]]);
  const diskOf = (host: string): StateMemoryDisk => disks.get(host) ?? new StateMemoryDisk();
  const driverOptionsOf = (): object => ({ durations: { build: 10 } });
  await withAgents({ diskOf, driverOptionsOf }, async ({ clock, plane, agents }) => {
    agents.start('c1');
    await clock.until('it is active', () => plane.host('c1')?.state === 'active');
    const hypervisor = agents.hypervisorOf('c1');
    hypervisor?.put({ id: 'i1', state: 'running', vcpus: 1, memoryMiB: 1, diskGiB: 1, nics: [], by: 't1' });
    await hypervisor?.records.save();
    await agents.restart('c1');
    expect(agents.hypervisorOf('c1')).toBe(hypervisor);
    await clock.pass(90_000);
    expect(plane.leader.gateway.reports.get('c1')?.report?.facts).toEqual({
      driver: 'simulated',
      instances: [{ id: 'i1', state: 'running' }],
    });
    expect(await disks.get('c1')?.read('machine')).toContain('"i1"');
  });
});

test('a-driver-of-ones-own-has-no-simulated-hypervisor', async () => {
  await withAgents({ driverOf: () => ({}) as never }, async ({ agents }) => {
    expect(agents.hypervisorOf('c1')).toBeUndefined();
  });
});

/** A module that answers tasks of one kind with its name. */
const moduleFor = (name: string, kind: string): NodeModule => ({
  name,
  taskHandlers: ({ clock }) => ({ [kind]: ({ id }) => ({ outcome: 'done', facts: { name, id, at: clock.nowMs() } }) }),
});

test('carries-out-the-tasks-of-modules-beside-its-own', async () => {
  const clock = new VirtualClock();
  const driver = new SimulatedNodeDriver({ clock, modules: [moduleFor('images', 'fetch'), moduleFor('pods', 'run')] });
  const stamp = { journalId: 'j', leaseEpoch: 1, revision: 1 };
  const fence = { stamp, host: 'c1', serviceVersion: 3, signal: new AbortController().signal };
  const perform = (kind: string, args = {}): Promise<TaskResult> =>
    driver.perform({ id: `t-${kind}`, kind, args }, fence);
  const at = clock.nowMs();
  expect(await perform('fetch')).toEqual({ outcome: 'done', facts: { name: 'images', id: 't-fetch', at } });
  expect(await perform('run')).toEqual({ outcome: 'done', facts: { name: 'pods', id: 't-run', at } });
  expect(await perform('build', build('i1'))).toEqual({ outcome: 'done' });
  expect(driver.hypervisor.instance('i1')?.state).toBe('running');
  expect(await perform('dance')).toEqual({ outcome: 'failed', problems: ['this agent cannot do "dance"'] });
});

test('a-module-does-not-take-a-task-of-the-machine-over', () => {
  const make = (kind: string): SimulatedNodeDriver =>
    new SimulatedNodeDriver({ clock: new VirtualClock(), modules: [moduleFor('images', kind)] });
  for (const kind of ['build', 'leave', 'preflight'])
    expect(() => make(kind)).toThrow(`tasks of kind ${kind} are handled by agent and images`);
});
