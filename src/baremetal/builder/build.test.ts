// Builds on bare metal, from the request to the deployed node, with managers and machines that fail on the way.
import { describe, expect, test } from 'vitest';
import { actOnMachine } from '../drivers/simulated/act.ts';
import { fixtureN, metal, NodesWorld } from './nodes-world-fixture.ts';

describe('a build', () => {
  test('reserves-a-node, connects-it, and-deploys-to-it', async () => {
    const world = await NodesWorld.of();
    const operation = await world.create({ image: 'debian' });
    expect(world.instance('db')).toMatchObject({ state: 'building', builder: 'bare-metal' });
    expect(world.item(operation, 'db')).toMatchObject({ step: 'reserve', assignee: 'm1', state: 'running' });
    await world.settle();
    const { node = '' } = world.instance('db') ?? {};
    expect(world.instance('db')).toMatchObject({ state: 'active', wasActive: true, power: 'on', site: 'central' });
    expect(world.node(node)).toMatchObject({
      state: 'active',
      instance: 'db',
      manager: 'm1',
      dirty: true,
      power: 'on',
    });
    expect(world.callsInWords()).toEqual([`connect ${node} for db by m1`, `deploy ${node} for db by m1`]);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('requests-what-flavor-image-and-request-say', async () => {
    const bareMetal = { ephemeralGiB: 5, swapMiB: 2, rxtxFactor: 1.5, extraSpecs: { 'resources:CUSTOM_GPU': '1' } };
    const world = await NodesWorld.of([...fixtureN(), metal('gpu', bareMetal)]);
    const place = { requiredTraits: ['NVME'], forbiddenTraits: ['SLOW'] };
    const image = { image: 'debian', imageProperties: { architecture: 'x86_64' } };
    const operation = await world.create({ flavor: 'gpu', place, ...image });
    const { args, ...task } = world.task('m1', 'reserve');
    expect(task).toMatchObject({ id: `${operation}.db:reserve:1`, kind: 'reserve' });
    expect(args['request']).toEqual({
      instance_uuid: 'db',
      build: `${operation}.db`,
      manager: 'm1',
      project: 'default',
      ...{ memory_mb: 1024, vcpus: 4, root_gb: 10, ephemeral_gb: 5, swap: 2, rxtx_factor: 1.5 },
      extra_specs: { 'trait:NVME': 'required', 'trait:SLOW': 'forbidden', 'resources:CUSTOM_GPU': '1' },
      image: { id: 'debian', properties: { architecture: 'x86_64' } },
    });
  });

  test('the-driver-gets-the-image-and-the-partition-of-the-disk', async () => {
    const world = await NodesWorld.of([...fixtureN(['seg0']), metal('gpu', { ephemeralGiB: 5, swapMiB: 2 })]);
    await world.create({ flavor: 'gpu', image: 'debian', imageProperties: { kernel: 'http://images/k' } });
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.pass();
    await world.answer('m1', world.task('m1', 'connect'), { outcome: 'done' });
    expect(world.task('m1', 'deploy').args).toMatchObject({
      ...{ image: 'debian', imageProperties: { kernel: 'http://images/k' } },
      ...{ rootGiB: 10, ephemeralGiB: 5, swapMiB: 2 },
    });
  });

  test('its-ports-get-addresses-of-what-the-node-is-wired-to, in-the-commit-that-reserves-it', async () => {
    const world = await NodesWorld.of(fixtureN(['seg2']));
    await world.create();
    expect(world.port('db-p0')).toMatchObject({ addresses: [], instance: 'db', serial: 0 });
    const before = world.fleet.revision;
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    expect(world.fleet.revision).toBe(before + 1);
    expect(world.node('n1')).toMatchObject({ state: 'reserved', instance: 'db', epoch: 1 });
    expect(world.instance('db')).toMatchObject({ node: 'n1', attempts: [{ node: 'n1', pools: ['segment:seg2'] }] });
    expect(world.port('db-p0')).toMatchObject({
      addresses: [{ ip: '10.2.0.2', chosenBy: 'bind' }],
      binding: { node: 'n1', segment: 'seg2', type: 'baremetal', serial: 1 },
    });
    await world.settle();
    expect(world.instance('db')?.state).toBe('active');
  });

  test('the-driver-gets-the-ports-to-connect', async () => {
    const world = await NodesWorld.of(fixtureN(['seg2']));
    await world.create();
    world.running.delete('m1');
    await world.reserveFor(world.task('m1', 'reserve'), 'm1').catch(() => undefined);
    world.running.add('m1');
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.pass();
    const { mac } = world.port('db-p0')!;
    const wired = { port: 'db-p0', serial: 1, mac, segment: 'seg2', physicalNetwork: 'phys-seg2', type: 'vlan' };
    expect(world.task('m1', 'connect')).toMatchObject({
      ...{ node: 'n1', nodeEpoch: 1, instance: 'db', inventory: 'simulated' },
      args: { ports: [wired] },
    });
    // Whatever is done to the machine from here on, it is cleaned before it is free again.
    expect(world.node('n1')).toMatchObject({ state: 'deploying', dirty: true });
  });

  test('without-NICs-there-is-nothing-to-connect', async () => {
    const world = await NodesWorld.of();
    await world.create({ networks: 'none' });
    await world.settle();
    expect(world.calls().map(({ op }) => op)).toEqual(['deploy']);
    await world.delete('db');
    await world.settle();
    expect(world.calls().map(({ op }) => op)).toEqual(['deploy', 'clean']);
  });

  test('baremetal-29: 30 builds over 3 managers are 10 each, those that have no node yet included', async () => {
    const world = await NodesWorld.of(fixtureN(Array.from({ length: 30 }, () => 'seg0')), ['m1', 'm2', 'm3']);
    world.running.clear();
    for (let nth = 0; nth < 10; nth += 1) await world.create({ name: `one-${nth}` });
    await world.create({ name: 'many', count: 20 });
    const assigned = ['m1', 'm2', 'm3'].map((name) => world.tasks(name).length);
    expect(assigned).toEqual([10, 10, 10]);
    for (const name of ['m1', 'm2', 'm3']) world.running.add(name);
    await world.settle();
    const managed = ['m1', 'm2', 'm3'].map((name) => world.nodesOf(name).length);
    expect(managed).toEqual([10, 10, 10]);
  });

  test('goes-to-the-manager-with-the-fewest-nodes; none-that-drains', async () => {
    const world = await NodesWorld.of(fixtureN(), ['m1', 'm2', 'm3']);
    await world.drain('m2');
    await world.create({ name: 'a', count: 2 });
    await world.settle();
    expect([
      world.node(world.instance('a-1')!.node!).manager,
      world.node(world.instance('a-2')!.node!).manager,
    ]).toEqual(['m1', 'm3']);
    await world.delete('a-2');
    await world.settle();
    await world.create({ name: 'b' });
    expect(world.instance('b')?.attempts).toMatchObject([{ manager: 'm3' }]);
  });
});

describe('a manager that is lost', () => {
  test('before-there-is-a-node: another-one-requests-it, and-no-try-is-used-up', async () => {
    const world = await NodesWorld.of(fixtureN(), ['m1', 'm2']);
    const operation = await world.create();
    const late = world.task('m1', 'reserve');
    await world.lose('m1');
    await world.pass();
    expect(world.item(operation, 'db')).toMatchObject({ assignee: 'm2', step: 'reserve', state: 'running' });
    expect(world.instance('db')?.attempts).toMatchObject([{ nth: 1, manager: 'm2' }]);
    // The one before wakes up with what it remembers.
    await world.register('m1');
    expect(await world.reserveFor(late, 'm1')).toMatchObject({ refusal: { code: 'build-not-waiting' } });
    await world.settle();
    expect(world.node(world.instance('db')!.node!).manager).toBe('m2');
    expect(world.violations).toEqual([]);
  });

  test('baremetal-15: after the reservation, before the deploy: adopted by another', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1', 'm2']);
    await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.lose('m1');
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', node: 'n1' });
    expect(world.node('n1')).toMatchObject({ manager: 'm2', epoch: 2 });
    expect(world.callsInWords()).toEqual(['connect n1 for db by m2', 'deploy n1 for db by m2']);
  });

  test('baremetal-15: and with its build deleted: released, at once, and nothing was done to the machine', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.lose('m1');
    await world.delete('db');
    await world.settle();
    expect(world.instance('db')).toBeUndefined();
    expect(world.node('n1')).toMatchObject({ state: 'available', epoch: 1 });
    expect([world.node('n1').instance, world.reservation('db'), world.calls()]).toEqual([undefined, undefined, []]);
    expect(world.violations).toEqual([]);
  });

  test('baremetal-16: while it deploys: resumed at the stored step, and the journal of calls shows one deploy', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1', 'm2']);
    await world.set({ deployMs: 60_000 });
    const operation = await world.create();
    while (world.calls().length < 2) await world.tick();
    expect(world.item(operation, 'db')).toMatchObject({ step: 'deploy' });
    await world.lose('m1');
    await world.settle();
    expect(world.callsInWords()).toEqual(['connect n1 for db by m1', 'deploy n1 for db by m1']);
    expect(world.instance('db')).toMatchObject({ state: 'active', node: 'n1' });
    expect(world.node('n1')).toMatchObject({ manager: 'm2', epoch: 2, state: 'active' });
    expect(world.violations).toEqual([]);
  });

  test('without-another-manager: the build waits, says so, and continues when there is one', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    const operation = await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.lose('m1');
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({
      state: 'waiting',
      step: 'connect',
      reason: { code: 'node-unmanaged', node: 'n1', manager: 'm1', epoch: 1 },
    });
    await world.register('m1');
    await world.settle();
    expect(world.instance('db')?.state).toBe('active');
    expect(world.node('n1')).toMatchObject({ manager: 'm1', epoch: 2 });
  });

  test('no-manager-at-all: accepted, and-done-once-one-is-there', async () => {
    const world = await NodesWorld.of(fixtureN(), []);
    const operation = await world.create();
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'waiting', reason: { code: 'no-manager-alive' } });
    const { revision } = world.fleet;
    await world.settle();
    expect(world.fleet.revision).toBe(revision);
    await world.register('m1');
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', attempts: [{ nth: 1, manager: 'm1' }] });
  });
});

describe('a try that fails', () => {
  test.each(['connect', 'deploy'] as const)(
    '%s: the machine is cleaned, and another node is tried with the same ports',
    async (op) => {
      const world = await NodesWorld.of(fixtureN(['seg0', 'seg2']), ['m1']);
      await world.arm({ op, outcome: 'failed' });
      await world.create();
      while (world.instance('db')?.attempts[0]?.fault === undefined) await world.tick();
      while (world.instance('db')?.node !== undefined) await world.tick();
      expect(world.port('db-p0')?.binding).toBeUndefined();
      await world.settle();
      const [first, second] = world.instance('db')!.attempts;
      expect(first).toMatchObject({ nth: 1, fault: `${op}-failed`, excludes: 'node', manager: 'm1' });
      expect(second).toMatchObject({ nth: 2, manager: 'm1' });
      expect(second?.node).not.toBe(first?.node);
      expect(world.node(first!.node!)).toMatchObject({ state: 'available' });
      expect(world.node(first!.node!).instance).toBeUndefined();
      const calls = world.calls().filter(({ node }) => node === first?.node);
      // A machine that nothing came to is clean.
      const teardown = op === 'deploy' ? ['disconnect', 'clean'] : ['disconnect'];
      expect(calls.map((call) => call.op).slice(-teardown.length)).toEqual(teardown);
      expect(world.instance('db')).toMatchObject({ state: 'active', node: second?.node, nics: [{ port: 'db-p0' }] });
      // The other rack has another segment: the address of the first try is given back.
      const racks = new Set(['10.0.0.2', '10.2.0.2']);
      expect(world.port('db-p0')?.addresses).toHaveLength(1);
      expect(racks.has(world.port('db-p0')!.addresses[0]!.ip)).toBe(true);
      expect(world.violations).toEqual([]);
    },
  );

  test('each-time: after-three-tries-the-build-ends, holding-nothing', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0', 'seg0', 'seg0']), ['m1']);
    await world.arm({ op: 'deploy', outcome: 'failed', times: 9 });
    const operation = await world.create();
    await world.settle();
    expect(world.instance('db')).toMatchObject({
      state: 'error',
      nics: [],
      fault: { code: 'attempts-exhausted', message: 'Failed after 3 of 3 tries. The last one: deploy-failed' },
    });
    expect(world.instance('db')?.node).toBeUndefined();
    expect(new Set(world.instance('db')?.attempts.map(({ node }) => node)).size).toBe(3);
    expect([world.port('db-p0'), world.reservation('db')]).toEqual([undefined, undefined]);
    expect(['n1', 'n2', 'n3', 'n4'].map((id) => world.node(id).state)).toEqual(Array(4).fill('available'));
    expect(world.operationDoc(operation)?.state).toBe('failed');
    expect(world.violations).toEqual([]);
  });

  test('no-match: the build ends after one try, with the nodes that were left after each stage', async () => {
    const world = await NodesWorld.of([...fixtureN(), metal('huge', { ephemeralGiB: 9000 })]);
    const operation = await world.create({ flavor: 'huge' });
    await world.settle();
    const { fault, attempts } = world.instance('db')!;
    expect(fault).toMatchObject({ code: 'no-match' });
    expect(fault?.nodes?.find(({ stage }) => stage === 'sizes')).toEqual({ stage: 'sizes', left: 0 });
    expect(attempts).toHaveLength(1);
    expect(world.instance('db')).toMatchObject({ state: 'error', nics: [] });
    expect(world.port('db-p0')).toBeUndefined();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'failed', reason: { code: 'no-match' } });
    await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.reservation('db')]).toEqual([undefined, undefined]);
    expect(world.violations).toEqual([]);
  });

  test('addresses-run-out: the build ends and says so', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.create({ networks: [{ network: 'n', fixedIp: '10.0.0.9' }], name: 'a' });
    await world.settle();
    expect(world.port('a-p0')?.addresses).toMatchObject([{ ip: '10.0.0.9' }]);
    expect(await world.refuse({ networks: [{ network: 'n', fixedIp: '10.0.0.9' }] })).toMatchObject({
      code: 'address-in-use',
    });
  });

  test('baremetal-35: overload of the endpoint costs no try, and the build continues by itself', async () => {
    const world = await NodesWorld.of();
    world.managers.overloads = 5;
    await world.create();
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', attempts: [{ nth: 1 }] });
  });

  test('an-answer-whose-code-is-no-code: it-is-not-kept, and-the-build-goes-on', async () => {
    const world = await NodesWorld.of();
    const operation = await world.create();
    const reason = { code: 'x'.repeat(10_000) };
    await world.answer('m1', world.task('m1', 'reserve'), { outcome: 'failed', facts: { reason } });
    expect(world.item(operation, 'db')).toMatchObject({ reason: { why: 'reservation-failed' } });
    await world.settle();
    expect(world.instance('db')?.state).toBe('active');
  });

  test('a-manager-that-deploys-without-a-task: the-build-goes-its-way', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    const operation = await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    for (const note of ['call-x', 'call-y']) {
      const call = { node: 'n1', nodeEpoch: 1, instance: 'db', action: 'deploy', manager: 'm1', args: {} } as const;
      await world.commit((fleet) => actOnMachine(fleet, { call, note, nowMs: world.nowMs }, () => undefined));
    }
    expect(world.node('n1').state).toBe('active');
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'done' });
    expect(world.instance('db')).toMatchObject({ state: 'active', node: 'n1' });
    expect(world.callsInWords().filter((call) => call.startsWith('connect'))).toHaveLength(1);
    expect(world.violations).toEqual([]);
  });

  test('a-machine-that-is-not-cleaned-stays-out-of-service, and-the-build-goes-on', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']), ['m1']);
    await world.arm({ op: 'deploy', outcome: 'failed' });
    await world.arm({ op: 'clean', outcome: 'failed', times: 3 });
    await world.create();
    await world.settle();
    const [first, second] = world.instance('db')!.attempts;
    expect(world.node(first!.node!)).toMatchObject({
      state: 'clean-failed',
      dirty: true,
      fault: { code: 'node-clean-failed' },
    });
    expect(world.instance('db')).toMatchObject({ state: 'active', node: second?.node });
    expect(world.alarms()).toEqual([`node-clean-failed: ${first?.node}`]);
    expect(world.violations).toEqual([]);
  });
});

describe('a build that is ended', () => {
  test.each([1, 2, 3, 4, 5])('by-a-cancel after %i ticks: the instance and all that it had are gone', async (ticks) => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.set({ deployMs: 7000, cleanMs: 7000 });
    const operation = await world.create();
    for (let tick = 0; tick < ticks; tick += 1) await world.tick();
    await world.cancel(operation);
    await world.settle();
    const isDone = world.item(operation, 'db')?.state === 'done';
    expect(world.instance('db')?.state).toBe(isDone ? 'active' : undefined);
    if (!isDone) expect([world.node('n1').state, world.port('db-p0')]).toEqual(['available', undefined]);
    expect(world.violations).toEqual([]);
  });

  test('by-its-deadline: the machine is cleaned, and the instance says why', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.arm({ op: 'deploy', outcome: 'hang' });
    const operation = await world.create({ deadlineMs: 600_000 });
    await world.settle();
    world.clock.now += 600_000;
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
    expect(world.instance('db')).toMatchObject({ state: 'error', nics: [], fault: { code: 'deadline-passed' } });
    expect(world.instance('db')?.node).toBeUndefined();
    expect(world.node('n1')).toMatchObject({ state: 'available' });
    expect([world.port('db-p0'), world.reservation('db')]).toEqual([undefined, undefined]);
    await world.delete('db');
    await world.settle();
    expect(world.instance('db')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('by-its-deadline, and-deleted-before-anything-was-released: both come to an end', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.arm({ op: 'deploy', outcome: 'hang' });
    await world.create({ deadlineMs: 600_000 });
    await world.settle();
    world.clock.now += 600_000;
    await world.pass();
    expect(world.instance('db')?.state).toBe('error');
    await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.node('n1').state, world.open()]).toEqual([undefined, 'available', []]);
    expect(world.violations).toEqual([]);
  });

  test('by-its-deadline-without-a-node: nothing is left to be released', async () => {
    const world = await NodesWorld.of(fixtureN(), []);
    await world.create({ deadlineMs: 60_000 });
    world.clock.now += 61_000;
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'error', nics: [], fault: { code: 'deadline-passed' } });
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});
