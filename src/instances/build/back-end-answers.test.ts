// A build when the network back end does not do what it was ordered to.
import { expect, test } from 'vitest';
import { PORTS_BY_HOST } from '../../network/index.ts';
import { retryOperation, type OperationId } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { move } from '../move/moves-fixture.ts';
import { fixtureF, KINDS } from '../reference-fixture.ts';

test('a deletion of a port of a failed build that is refused is repeated: no port is left there', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 3 });
  world.network.faults.arm({ op: 'delete', outcome: 'forbidden', times: 2 });
  const operation = await world.create();
  await world.runUntilStep(operation, 'web', 'release');
  await world.pass();
  expect(world.item(operation, 'web')).toMatchObject({
    step: 'release',
    state: 'waiting',
    reason: { code: 'ports-not-released', instance: 'web', ports: ['web-p0'] },
  });
  expect(world.port('web-p0')).toBeDefined();
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'error', nics: [], fault: { code: 'attempts-exhausted' } });
  expect(world.item(operation, 'web')?.state).toBe('failed');
  expect(world.port('web-p0')).toBeUndefined();
  expect(world.network.port('web-p0')).toBeUndefined();
  expect(world.violations).toEqual([]);
});

test('instances of one request wait for the ports of the one that has none, and say so', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  const unavailable = () => world.network.faults.arm({ op: 'create', outcome: 'unavailable' });
  unavailable();
  const operation = await world.create({ count: 2 });
  await world.pass();
  unavailable();
  await world.pass();
  const reasons = ['web-1', 'web-2'].map((id) => world.item(operation, id)?.reason);
  expect(reasons).toMatchObject([
    { code: 'back-end-unavailable', instance: 'web-1' },
    { code: 'others-without-ports', instance: 'web-1' },
  ]);
  await world.settle();
  expect(['web-1', 'web-2'].map((id) => world.instance(id)?.state)).toEqual(['active', 'active']);
  expect(world.item(operation, 'web-2')?.reason).toBeUndefined();
  expect(world.violations).toEqual([]);
});

test('a build that its deadline ends between two hosts leaves no port connected to the one that failed', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  world.machines.fail({ task: 'build', times: 1 });
  const operation = await world.create({ deadlineMs: 600_000 });
  await world.runUntilStep(operation, 'web', 'unbind');
  expect(world.network.port('web-p0')?.binding?.host).toBeDefined();
  expect([world.claim('web'), world.port('web-p0')?.binding]).toEqual([undefined, undefined]);
  world.clock.now += 700_000;
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'deadline-passed' } });
  expect([world.port('web-p0'), world.network.port('web-p0')]).toEqual([undefined, undefined]);
  expect(world.violations).toEqual([]);
});

test('never: a port is bound where its instance has no claim, also when a delete ends a try and passes its own deadline', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  world.machines.fail({ task: 'build', times: 1 });
  const operation = await world.create();
  await world.runUntilStep(operation, 'web', 'unbind');
  world.network.faults.arm({ op: 'unbind', outcome: 'unavailable', times: 50 });
  world.network.faults.arm({ op: 'delete', outcome: 'unavailable', times: 50 });
  await world.pass();
  const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 60_000 };
  await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
  await world.pass();
  await world.pass();
  world.clock.now += 70_000;
  await world.settle();
  expect(world.item(command.operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
  expect(world.claim('web')).toBeUndefined();
  expect([...world.fleet.find(PORTS_BY_HOST, 'h2')]).toEqual([]);
  expect(world.violations).toEqual([]);
});

/** The host loses the segment after the back end has bound and before that is recorded. */
function loseMappingInFlight(world: InstancesWorld, op: 'bind' | 'activateBinding', host: string): void {
  const { network } = world;
  const attempt = network[op].bind(network);
  network[op] = async (order, fence) => {
    const carried = await attempt(order, fence);
    if (order.host === host) await world.edit(host, { physicalNetworks: [] });
    return carried;
  };
}

test('a physical network that is removed while a bind is under way is caught by the commit that records it', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  loseMappingInFlight(world, 'bind', 'h2');
  await world.create();
  await world.settle();
  expect(world.instance('web')?.attempts[0]).toMatchObject({ host: 'h2', fault: 'mapping-gone' });
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.machines.log).toEqual(['build web on h3']);
  expect(world.violations).toEqual([]);
});

test('the same in a move: it does not call the port connected there, and goes on', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  await world.create();
  await world.settle();
  loseMappingInFlight(world, 'activateBinding', 'h4');
  const operation = await move(world);
  await world.settle();
  expect(world.operationDoc(operation)?.state).toBe('succeeded');
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
  expect(world.degraded('web')).toEqual([]);
});

test('a delete of an instance that is being deleted answers with the open operation', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  await world.create();
  await world.settle();
  const remove = async (): Promise<string> => {
    const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 600_000 };
    return (await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...how }))).operation;
  };
  world.machines.fail({ task: 'destroy', times: 1000 });
  const first = await remove();
  await world.tick();
  const { revision } = world.fleet;
  expect(await remove()).toBe(first);
  expect(world.fleet.revision).toBe(revision);
  world.clock.now += 700_000;
  await world.tick();
  await world.tick();
  expect(world.operationDoc(first)?.state).toBe('failed');
  const second = await remove();
  expect(second).not.toBe(first);
  expect(await remove()).toBe(second);
});

test('deletes of some that are being deleted and some that are not end, whichever comes first', async () => {
  const world = await InstancesWorld.of();
  await world.create({ count: 3 });
  await world.settle();
  await world.disconnectHost('h2');
  const remove = async (...ids: readonly string[]): Promise<string> => {
    const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 3_600_000 };
    return (await world.commit((fleet) => deleteInstances(fleet, { ids, ...how }))).operation;
  };
  // While its host is silent all of them wait; each of them is in two operations.
  const operations = [
    await remove('web-1', 'web-2'),
    await remove('web-2', 'web-3'),
    await remove('web-3', 'web-1', 'web-2'),
  ];
  await world.tick();
  await world.reconnectHost('h2');
  await world.settle();
  expect(['web-1', 'web-2', 'web-3'].map((id) => world.instance(id))).toEqual([undefined, undefined, undefined]);
  expect(operations.map((id) => world.operationDoc(id)?.state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(world.violations).toEqual([]);
});

test('a deletion that is retried when its instance is gone leaves another of the same name alone', async () => {
  const world = await InstancesWorld.of();
  await world.create();
  await world.settle();
  const remove = async (): Promise<OperationId> => {
    const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 600_000 };
    return (await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...how }))).operation;
  };
  world.machines.fail({ task: 'destroy', times: 1 });
  const late = await remove();
  await world.tick();
  world.clock.now += 700_000;
  await world.tick();
  await world.tick();
  expect(world.operationDoc(late)?.state).toBe('failed');
  await remove();
  await world.settle();
  await world.create();
  await world.settle();
  await world.commit((fleet) => retryOperation(fleet, { id: late, kinds: KINDS, nowMs: world.nowMs }));
  await world.settle();
  expect(world.instance('web')?.state).toBe('active');
  expect(world.machines.hostsRunning('web')).toHaveLength(1);
});

test('never: an instance runs with an address that its port lost when a host of another segment was refused', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  world.machines.fail({ task: 'build', times: 1 });
  world.network.faults.arm({ op: 'bind', host: 'h3', outcome: 'binding-failed', times: 1 });
  await world.create();
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  expect(world.instance('web')?.attempts.map(({ host }) => host)).toEqual(['h2', 'h3', 'h4']);
  const held = world.network.port('web-p0')?.addresses.map(({ ip }) => ip);
  expect(held).toHaveLength(1);
  expect(world.addresses('web')).toEqual(held);
  expect(world.violations).toEqual([]);
});
