// Instances with ports on several back ends outside the journal: each gets orders for its own ports only.
import { describe, expect, test } from 'vitest';
import { network, subnet } from '../network/network-fixture.ts';
import type { SimulatedNetwork } from '../network/runtime.ts';
import { deleteInstances } from './delete/request.ts';
import { InstancesWorld } from './instances-fixture.ts';
import { HOUR_MS, move } from './move/moves-fixture.ts';
import { fixtureF } from './reference-fixture.ts';

const bindingsOf = (backEnd: SimulatedNetwork): string[] =>
  [...backEnd.ports()].map(([id, { binding }]) => `${id} at ${binding?.host ?? 'no host'}`);

async function startOnBoth(): Promise<InstancesWorld> {
  const single = [network('m', { backEnd: 'simulated-single' }), subnet('m4', 'm', '10.9.0.0/24')];
  const world = await InstancesWorld.of([...fixtureF('simulated'), ...single], 'two');
  await world.create({ networks: [{ network: 'n' }, { network: 'm' }] });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  return world;
}

test('ports-are-made-and-bound-where-they-belong, moved and released there', async () => {
  const world = await startOnBoth();
  expect([bindingsOf(world.network), bindingsOf(world.second)]).toEqual([['web-p0 at h2'], ['web-p1 at h2']]);
  const operation = await move(world);
  await world.settle();
  expect(world.operationDoc(operation)?.state).toBe('succeeded');
  expect(world.degraded('web')).toEqual([]);
  expect([bindingsOf(world.network), bindingsOf(world.second)]).toEqual([['web-p0 at h4'], ['web-p1 at h4']]);
  // One of them holds one binding: neither has to hold two.
  for (const { calls } of [world.network, world.second])
    expect(calls.list().map(({ op }) => op)).not.toContain('activate');
  const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...how }));
  await world.settle();
  expect([bindingsOf(world.network), bindingsOf(world.second), world.open()]).toEqual([[], [], []]);
});

test('nothing-moves-to-a-target-that-one-of-them-refuses, and both are bound where it stays', async () => {
  const world = await startOnBoth();
  world.second.faults.arm({ op: 'bind', host: 'h4', outcome: 'binding-failed', times: 9999 });
  world.second.faults.arm({ op: 'bind', host: 'h5', outcome: 'binding-failed', times: 9999 });
  const operation = await move(world);
  await world.settle();
  expect(world.item(operation, 'web')).toMatchObject({ state: 'failed' });
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.degraded('web')).toEqual([]);
  expect([bindingsOf(world.network), bindingsOf(world.second)]).toEqual([['web-p0 at h2'], ['web-p1 at h2']]);
  expect(world.violations).toEqual([]);
});

describe('only-the-port-that-failed-is-cut-off', () => {
  /** A port in the journal (NIC 0) and two at a back end outside (NIC 1 and 2). */
  async function withInlineAndOutside(): Promise<InstancesWorld> {
    const outside = [network('m', { backEnd: 'simulated' }), subnet('m4', 'm', '10.9.0.0/24')];
    const world = await InstancesWorld.of([...fixtureF('embedded'), ...outside]);
    await world.create({ networks: [{ network: 'n' }, { network: 'm' }, { network: 'm' }] });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    return world;
  }

  const bindings = (world: InstancesWorld): string[] =>
    world.ports('web').map(({ binding }) => binding?.host ?? 'no host');

  test('a-back-end-outside-refuses-one-port-after-the-handover: the others are connected where the instance is', async () => {
    const world = await withInlineAndOutside();
    world.network.faults.arm({ op: 'activate', nic: 1, outcome: 'binding-failed', times: 9999 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind');
    world.network.faults.arm({ op: 'bind', nic: 1, outcome: 'binding-failed', times: 9999 });
    await world.runUntilStep(operation, 'web', 'activate');
    expect(bindings(world)).toEqual(['h4', 'no host', 'h4']);
    await world.settle();
    expect(world.degraded('web')).toEqual(['web-p1: unbound']);
    expect(world.machines.hostsRunning('web')).toEqual([world.instance('web')?.host]);
    const { host } = world.instance('web') ?? {};
    expect(bindings(world)).toEqual([host, 'no host', host]);
    const said = world.item(operation, 'web')?.reason?.['message'];
    expect(said).toContain('port web-p1 (NIC 1, network m) is not bound to its host');
    expect(said).not.toContain('web-p0');
    expect(world.violations).toEqual([]);
    world.network.faults.disarm();
    await world.settle();
    expect(world.degraded('web')).toEqual([]);
  });

  test('the-target-stops-reaching-the-segment-of-an-inline-port: what the back end has bound there stays bound', async () => {
    const world = await withInlineAndOutside();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind');
    await world.edit('h4', { physicalNetworks: [] });
    await world.runUntilStep(operation, 'web', 'activate');
    expect(bindings(world)).toEqual(['no host', 'h4', 'h4']);
    await world.settle();
    expect(world.degraded('web')).toEqual([]);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });
});
