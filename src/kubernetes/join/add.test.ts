// New workers on a simulated cluster: instances are built, joined and in service; however it goes, none of them twice.
import { describe, expect, test } from 'vitest';
import { INSTANCE } from '../../instances/index.ts';
import { ITEMS_BY_OPERATION } from '../../operations/index.ts';
import { cluster, EDGE, simulatedNode, WorkersWorld } from '../workers-fixture.ts';
import { JOINS_AT_ONCE } from './decide.ts';

const revokes = (world: WorkersWorld): string[] =>
  world.cluster.calls.filter(({ call }) => call === 'revokeBootstrapToken').map(({ what }) => what);
const tokens = (world: WorkersWorld): number =>
  world.cluster.calls.filter(({ call }) => call === 'createBootstrapToken').length;
const nodesOf = (workers: readonly string[]): string[] => workers.map((id) => id.slice(EDGE.length + 1));

describe('adding workers', () => {
  test('kubernetes-21: builds an instance for each, and has it join until its Node is Ready', async () => {
    const world = await WorkersWorld.joinable();
    const { operation, workers } = await world.add({ count: 3 });
    expect(world.worker(nodesOf(workers)[0] ?? '')).toMatchObject({ state: 'building', readiness: 'missing' });
    expect(await world.runOperation(operation)).toBe('succeeded');
    for (const node of nodesOf(workers)) {
      expect(world.worker(node)).toMatchObject({ state: 'in-service', readiness: 'ready', instance: node });
      expect(world.worker(node)).not.toHaveProperty('work');
      expect(world.cluster.look().readNode(node)).toMatchObject({ providerId: `muster:///${EDGE}/${node}` });
    }
    expect(world.instances().sort()).toEqual([...nodesOf(workers)].sort());
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-23: one-token-for-all, and revoked at the end', async () => {
    const world = await WorkersWorld.joinable();
    const { operation } = await world.add({ count: 12 });
    await world.runOperation(operation);
    await world.ticks(2);
    expect(tokens(world)).toBe(1);
    expect(revokes(world)).toEqual(['abcdef']);
    expect(world.cluster.objects.tokens.list()).toEqual([]);
    expect(world.joinDoc(operation)?.token).toMatchObject({ state: 'revoked' });
  });

  test('kubernetes-22: no-more-than-ten-join-at-once', async () => {
    const world = await WorkersWorld.joinable();
    world.cluster.fault = (call) => (call === 'heartbeatNode' ? 'unreachable' : undefined);
    const { operation, workers } = await world.add({ count: 13 });
    await world.ticks(40);
    const steps = workers.map((id) => world.item(operation, id));
    expect(steps.filter((one) => one?.step === 'join')).toHaveLength(JOINS_AT_ONCE);
    expect(steps.filter((one) => one?.reason?.code === 'joins-at-once')).toHaveLength(3);
    const queued = () => {
      const items = [...world.fleet.find(ITEMS_BY_OPERATION, operation)].filter(({ doc }) => doc.step === 'queue');
      return items.map(({ revision }) => revision);
    };
    const before = queued();
    await world.ticks(20);
    // Each look at the queue would be a commit, and each commit a look.
    expect(queued()).toEqual(before);
    world.cluster.fault = () => undefined;
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-22: a-node-that-is-never-ready-fails-its-worker-after-its-time, and a retry makes no further instance', async () => {
    const world = await WorkersWorld.joinable();
    const { operation, workers } = await world.add({ count: 2, joinDeadlineMs: 20_000 });
    const [sick = '', well = ''] = nodesOf(workers);
    await untilNode(world, sick);
    setSick(world, sick, true);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, `${EDGE}.${sick}`)).toMatchObject({
      reason: { code: 'join-timed-out', waitedFor: 'node-awaited', readiness: 'not-ready', node: sick },
    });
    expect(world.worker(well)).toMatchObject({ state: 'in-service' });
    expect(world.worker(sick)).toMatchObject({ state: 'joining', work: { operation } });
    await world.ticks(2);
    expect(revokes(world)).toHaveLength(1);
    const calls = world.cluster.calls.length;
    setSick(world, sick, false);
    await world.retry(operation);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.instances()).toHaveLength(2);
    expect(world.cluster.calls.slice(calls).filter(({ node, call }) => node === well && call === 'readNode')).toEqual(
      [],
    );
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-22: an-instance-that-cannot-be-built-fails-its-worker; a retry builds it again by the same name', async () => {
    const world = await WorkersWorld.joinable();
    world.machines.fail({ task: 'build', times: 10 });
    const { operation, workers } = await world.add();
    const [node = ''] = nodesOf(workers);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, `${EDGE}.${node}`)?.reason).toMatchObject({
      code: 'instance-not-running',
      state: 'error',
      instance: node,
    });
    world.machines.forgive();
    await world.retry(operation);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.instances()).toEqual([node]);
    expect(world.worker(node)).toMatchObject({ state: 'in-service' });
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-22: a-cancel-removes-what-is-not-in-service, with its instance; the rest stays', async () => {
    const world = await WorkersWorld.joinable();
    const { operation, workers } = await world.add({ count: 2 });
    const [well = '', late = ''] = nodesOf(workers);
    world.cluster.fault = (call, node) => (call === 'heartbeatNode' && node === late ? 'unreachable' : undefined);
    for (let nth = 0; nth < 60 && world.worker(well)?.state !== 'in-service'; nth += 1) await world.tick();
    await world.cancel(operation);
    await world.ticks(60);
    expect(world.operationDoc(operation)?.state).toBe('cancelled');
    expect(world.worker(late)).toBeUndefined();
    expect(world.worker(well)).toMatchObject({ state: 'in-service' });
    expect(world.instances()).toEqual([well]);
    expect(revokes(world)).toEqual(['abcdef']);
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-21: a-node-of-another-machine-by-that-name-is-neither-taken-nor-touched', async () => {
    const world = await WorkersWorld.joinable();
    const { operation, workers } = await world.add();
    const [node = ''] = nodesOf(workers);
    world.cluster.objects.nodes.put(node, simulatedNode(node, { providerId: 'other://1' }));
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, `${EDGE}.${node}`)?.reason).toMatchObject({ code: 'other-node', found: 'other://1' });
    await world.cancel(operation);
    await world.ticks(60);
    expect(world.worker(node)).toBeUndefined();
    expect(world.instances()).toEqual([]);
    expect(world.cluster.look().readNode(node)).toMatchObject({ providerId: 'other://1', isUnschedulable: false });
    expect(world.effects()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-23: a-token-whose-creation-was-not-answered-is-revoked, and once more when a late request may have arrived', async () => {
    const world = await WorkersWorld.joinable();
    world.cluster.fault = (call) => (call === 'createBootstrapToken' ? 'reply-lost' : undefined);
    const { operation } = await world.add({ count: 2 });
    for (let nth = 0; nth < 60 && tokens(world) === 0; nth += 1) await world.tick();
    expect(world.cluster.objects.tokens.list()).toHaveLength(1);
    await world.cancel(operation);
    await world.ticks(20);
    expect(world.cluster.objects.tokens.list()).toEqual([]);
    expect(world.joinDoc(operation)?.token).toMatchObject({ state: 'revoking' });
    const before = revokes(world).length;
    await world.ticks(60);
    expect(revokes(world).length).toBeGreaterThan(before);
    expect(world.joinDoc(operation)?.token).toMatchObject({ state: 'revoked' });
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-23: a-token-that-would-expire-before-the-join-ends-is-made-again', async () => {
    const world = await WorkersWorld.joinable();
    world.cluster.fault = (call) => (call === 'heartbeatNode' ? 'unreachable' : undefined);
    const { operation } = await world.add({ joinDeadlineMs: 60_000 });
    expect(await world.runOperation(operation)).toBe('failed');
    await world.ticks(2);
    world.cluster.fault = () => undefined;
    await world.retry(operation);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(tokens(world)).toBe(2);
    await world.ticks(2);
    expect(revokes(world)).toEqual(['abcdef', 'abcdef']);
  });

  test('instances-that-are-there-join, and stay when it is cancelled', async () => {
    const world = await WorkersWorld.joinable();
    await world.buildInstance('vnfc-1');
    world.cluster.fault = (call) => (call === 'heartbeatNode' ? 'unreachable' : undefined);
    const { operation } = await world.join([{ node: 'vnfc-1-node', instance: 'vnfc-1' }]);
    await world.ticks(10);
    expect(world.worker('vnfc-1-node')).toMatchObject({ state: 'joining', instance: 'vnfc-1' });
    await world.cancel(operation);
    await world.ticks(60);
    expect(world.worker('vnfc-1-node')).toBeUndefined();
    expect(world.instances()).toEqual(['vnfc-1']);
    world.cluster.fault = () => undefined;
    const again = await world.join([{ node: 'vnfc-1-node', instance: 'vnfc-1' }]);
    expect(await world.runOperation(again.operation)).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-24: a-lease-is-renewed-while-the-instance-runs, and a Node that was deleted does not come back', async () => {
    const world = await WorkersWorld.joinable();
    const { operation, workers } = await world.add({ count: 2 });
    await world.runOperation(operation);
    await world.ticks(100);
    const [kept = '', gone = ''] = nodesOf(workers);
    expect(world.cluster.look().readNode(kept)).toMatchObject({ readiness: 'ready' });
    const instance = world.fleet.get(INSTANCE, gone as never);
    if (instance === undefined) throw new Error('no instance');
    world.cluster.objects.nodes.remove(kept);
    await world.put({ kind: 'instance', id: gone, doc: { ...instance.doc, state: 'error' } });
    await world.ticks(60);
    expect(world.cluster.look().readNode(kept)).toBeUndefined();
    expect(world.cluster.look().readNode(gone)).toMatchObject({ readiness: 'unknown' });
  });
});

describe('a request for workers is refused, and nothing changed', () => {
  test.each([
    [{ count: 0 }, {}, 'wrong-worker-count', '/count'],
    [{ count: 201, ids: [] }, {}, 'wrong-worker-count', '/count'],
    [{ cluster: 'none' }, {}, 'unknown-cluster', undefined],
    [{ template: { flavor: 'none' } }, {}, 'unknown-flavor', '/flavor'],
    [{ template: { networks: [{ network: 'none' }] } }, {}, 'unknown-network', '/networks/0/network'],
    [{}, { reach: 'none' }, 'cluster-not-joinable', undefined],
    [{}, { reach: 'ssh' }, 'ca-pin-unknown', undefined],
    [{}, { reach: 'ssh', caPin: 'sha256:0' }, 'join-endpoint-unknown', undefined],
  ] as const)('%j of a cluster with %j: %s', async (facts, of, code, field) => {
    const world = await WorkersWorld.joinable();
    await world.put(cluster({ reach: 'simulated', ...of }));
    const before = world.fleet.revision;
    const request = world.addRequest();
    const template = 'template' in facts ? { ...request.template, ...facts.template } : request.template;
    const refusal = await world.refuseAdd({ ...facts, template } as never);
    expect(refusal).toMatchObject({ code, ...(field !== undefined && { field }) });
    expect(world.fleet.revision).toBe(before);
  });

  test('names-that-are-taken-take-more-digits, until there are none', async () => {
    const world = await WorkersWorld.joinable();
    const request = world.addRequest({ ids: ['w-00000001'], base: 'web' });
    await world.buildInstance('web-00000001');
    const { workers } = await world.add({ ids: request.ids, base: 'web' });
    expect(workers).toEqual(['edge.web-w00000001']);
    expect(await world.refuseAdd({ ids: request.ids, base: 'web' })).toMatchObject({
      code: 'name-taken',
      field: '/name',
    });
  });

  test.each([
    [[{ node: 'x', instance: 'none' }], 'unknown-instance'],
    [
      [
        { node: 'x', instance: 'a' },
        { node: 'x', instance: 'b' },
      ],
      'duplicate-worker',
    ],
    [[], 'wrong-worker-count'],
  ])('%j: %s', async (workers, code) => {
    const world = await WorkersWorld.joinable();
    expect(await world.refuseJoin(workers)).toMatchObject({ code });
  });
});

async function untilNode(world: WorkersWorld, node: string): Promise<void> {
  for (let nth = 0; nth < 60 && world.cluster.look().readNode(node) === undefined; nth += 1) await world.tick();
}

function setSick(world: WorkersWorld, name: string, isSick: boolean): void {
  const { isSick: _, ...node } = world.cluster.objects.nodes.get(name) ?? simulatedNode(name);
  world.cluster.objects.nodes.put(name, isSick ? { ...node, isSick: true } : node);
}
