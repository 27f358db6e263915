// Drains, removals and returns of workers, on a simulated cluster.
import { describe, expect, test } from 'vitest';
import { WorkersWorld, simulatedNode, worker, workload } from '../workers-fixture.ts';

const WEB = workload('web', { replicas: 4, minAvailable: 3 });

describe('a drain', () => {
  test('evicts-within-the-budget, and leaves the workers cordoned', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], WEB);
    expect(world.podsOn('a')).toHaveLength(2);
    const operation = await world.drain(['a']);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.podsOn('a')).toEqual([]);
    expect(world.worker('a')).toMatchObject({
      state: 'drained',
      cordon: { wasUnschedulable: false, isConfirmed: true },
    });
    expect(world.worker('a')).not.toHaveProperty('work');
    expect(world.isCordoned('a')).toBe(true);
    expect(world.report('a')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('cordons-all-before-the-first-eviction', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 6 }));
    await world.runOperation(await world.drain(['a', 'b']));
    const effects = world.effects();
    const firstEviction = effects.findIndex((effect) => effect.startsWith('evict'));
    expect(effects.slice(0, firstEviction).map((effect) => effect.slice(0, 10))).toEqual(['markNode a', 'markNode b']);
    expect(effects.filter((effect) => effect.startsWith('evict'))).toHaveLength(4);
    expect(world.podsOn('c')).toHaveLength(6);
  });

  test('a-budget-is-waited-for, named in the reason and in the report', async () => {
    const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
    const operation = await world.drain(['a']);
    await world.ticks(10);
    expect(world.item(operation, 'edge.a')).toMatchObject({
      state: 'waiting',
      step: 'evict',
      reason: { code: 'budget-blocks', worker: 'edge.a', pod: 'default/web-0', budget: 'web', left: 1 },
    });
    expect(world.report('a')).toMatchObject({
      left: 1,
      blockers: [{ node: 'a', namespace: 'default', pod: 'web-0', reason: 'budget', budget: 'web' }],
    });
    world.cluster.objects.workloads.put('web', workload('web', { replicas: 3, minAvailable: 2, nextPod: 2 }));
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('a-budget-that-never-gives-way-fails-at-the-deadline: cordons stay, and a retry drains the same workers', async () => {
    const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
    const operation = await world.drain(['a']);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.operationDoc(operation)?.reason).toMatchObject({
      failedFor: 'deadline-passed',
      waitedFor: 'budget-blocks',
    });
    expect(world.nowMs - (world.operationDoc(operation)?.createdAtMs ?? 0)).toBeGreaterThan(300_000);
    expect(world.worker('a')).toMatchObject({ state: 'draining', work: { operation } });
    expect(world.isCordoned('a')).toBe(true);
    world.cluster.objects.workloads.put('web', workload('web', { replicas: 2, minAvailable: 1, nextPod: 2 }));
    await world.retry(operation);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.worker('a')).toMatchObject({ state: 'drained', cordon: { wasUnschedulable: false } });
    expect(world.violations).toEqual([]);
  });

  test('kubernetes-31: names-a-hundred-that-block, and counts the others', async () => {
    const world = await WorkersWorld.of(['a', 'b'], workload('odd', { replicas: 0, ownerKind: 'none' }));
    for (let nth = 0; nth < 130; nth += 1) {
      const name = `odd-${nth}`;
      const pod = { cluster: 'edge', namespace: 'default', name, uid: name, workload: 'odd', node: 'a', readyAtMs: 0 };
      world.cluster.objects.pods.put(`default.${name}`, pod);
    }
    const operation = await world.drain(['a']);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.report('a')).toMatchObject({ left: 130, moreBlockers: 30 });
    expect(world.report('a')?.blockers).toHaveLength(100);
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'drain-blocked', others: 129 });
  });

  test.each([
    ['a bare pod', { ownerKind: 'none' }, 'bare'],
    ['a pod with a local volume', { hasLocalVolume: true }, 'local-volume'],
    ['a pod under two budgets', { minAvailable: 0, hasSecondBudget: true }, 'two-budgets'],
  ] as const)('%s-ends-it-before-any-eviction, on all its nodes', async (_, facts, why) => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3 }));
    world.cluster.objects.workloads.put('odd', workload('odd', { replicas: 0, ...facts }));
    const pod = {
      cluster: 'edge',
      namespace: 'default',
      name: 'odd-0',
      uid: 'u',
      workload: 'odd',
      node: 'b',
      readyAtMs: 0,
    };
    world.cluster.objects.pods.put('default.odd-0', pod);
    const operation = await world.drain(['a', 'b']);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, 'edge.b')?.reason).toMatchObject({ code: 'drain-blocked', pod: 'default/odd-0', why });
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'other-worker-failed', other: 'edge.b' });
    expect(world.effects().filter((effect) => effect.startsWith('evict'))).toEqual([]);
    expect([world.isCordoned('a'), world.isCordoned('b')]).toEqual([true, true]);
    expect(world.violations).toEqual([]);
  });

  test('an-operators-own-cordon-stays, when the worker is given back', async () => {
    const world = await WorkersWorld.of(['a', 'b'], WEB);
    world.cluster.objects.nodes.put('a', simulatedNode('a', { isUnschedulable: true }));
    await world.runOperation(await world.drain(['a']));
    expect(await world.runOperation(await world.giveBack(['a']))).toBe('succeeded');
    expect(world.cluster.look().readNode('a')).toMatchObject({
      isUnschedulable: true,
      isExcludedFromLoadBalancers: false,
    });
    expect(world.worker('a')).toMatchObject({ state: 'in-service' });
    expect(world.worker('a')).not.toHaveProperty('cordon');
    expect(world.violations).toEqual([]);
  });

  test('an-operator-who-uncordons-ends-it: nothing is evicted any more', async () => {
    const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
    const operation = await world.drain(['a']);
    await world.ticks(6);
    const before = world.effects().length;
    world.cluster.look().markNode({ name: 'a', uid: 'uid-a' }, { isUnschedulable: false });
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'node-uncordoned' });
    expect(world.effects()).toHaveLength(before);
  });

  test('a-cancel-gives-every-victim-back', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3, minAvailable: 3 }));
    const operation = await world.drain(['a', 'b']);
    await world.ticks(6);
    await world.cancel(operation);
    await world.ticks(10);
    expect(world.operationDoc(operation)?.state).toBe('cancelled');
    expect([world.isCordoned('a'), world.isCordoned('b')]).toEqual([false, false]);
    expect(world.worker('a')).toMatchObject({ state: 'in-service' });
    expect(world.violations).toEqual([]);
  });

  test('a-cancel-gives-back-also-those-that-are-drained-already', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3, minAvailable: 3 }));
    world.cluster.objects.pods.remove('default.web-1');
    world.cluster.objects.workloads.put('web', workload('web', { replicas: 2, minAvailable: 2, nextPod: 3 }));
    const operation = await world.drain(['a', 'b']);
    await world.ticks(6);
    expect(world.worker('b')).toMatchObject({ state: 'drained' });
    expect(world.item(operation, 'edge.b')).toMatchObject({ state: 'waiting', reason: { code: 'others-to-drain' } });
    await world.cancel(operation);
    await world.ticks(10);
    expect([world.isCordoned('a'), world.isCordoned('b')]).toEqual([false, false]);
    expect([world.worker('a')?.state, world.worker('b')?.state]).toEqual(['in-service', 'in-service']);
    expect(world.violations).toEqual([]);
  });

  test('marks-that-an-operator-made-are-not-made-again', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    world.cluster.objects.nodes.put('a', simulatedNode('a', { isExcludedFromLoadBalancers: true }));
    const marks = { isUnschedulable: true, isExcludedFromLoadBalancers: true };
    world.cluster.objects.nodes.put('b', simulatedNode('b', marks));
    expect(await world.runOperation(await world.drain(['a', 'b']))).toBe('succeeded');
    expect(world.effects()).toEqual(['markNode a {"isUnschedulable":true}']);
    expect(world.worker('b')).toMatchObject({
      cordon: { isConfirmed: true, wasUnschedulable: true, wasExcluded: true },
    });
  });

  test('an-api-that-is-away-is-waited-for; three errors of the server in a row are not', async () => {
    const world = await WorkersWorld.of(['a', 'b'], WEB);
    world.cluster.fault = () => 'unreachable';
    const operation = await world.drain(['a']);
    await world.ticks(30);
    expect(world.item(operation, 'edge.a')).toMatchObject({
      state: 'waiting',
      reason: { code: 'cluster-unreachable' },
    });
    world.cluster.fault = () => undefined;
    expect(await world.runOperation(operation)).toBe('succeeded');
    await world.runOperation(await world.giveBack(['a']));
    world.cluster.fault = (call) => (call === 'evict' ? { status: 500 } : undefined);
    const second = await world.drain(['b']);
    expect(await world.runOperation(second)).toBe('failed');
    expect(world.item(second, 'edge.b')?.reason).toMatchObject({ code: 'cluster-refused', tries: 3 });
  });

  test('on-an-unreachable-node-pods-get-a-second, and are not waited for', async () => {
    const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2 }));
    world.cluster.objects.nodes.put('a', simulatedNode('a', { renewedAtMs: world.nowMs - 60_000 }));
    const operation = await world.drain(['a']);
    expect(await world.runOperation(operation, 20)).toBe('succeeded');
    expect(world.podsOn('a')).toEqual(['web-0']);
  });

  test('another-node-of-the-same-name-is-not-touched', async () => {
    const world = await WorkersWorld.of(['a', 'b'], WEB);
    world.cluster.objects.nodes.put('a', simulatedNode('a', { uid: 'another' }));
    const operation = await world.drain(['a']);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'node-replaced' });
    expect(world.effects()).toEqual([]);
  });

  test('a-kill-at-any-moment-costs-only-time: the same victims, evicted once', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], WEB);
    const operation = await world.drain(['a', 'b']);
    for (let nth = 0; nth < 40 && world.operationDoc(operation)?.finishedAtMs === undefined; nth += 1) {
      await world.tick();
      await world.restart();
    }
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    const evicted = world.effects().filter((effect) => effect.startsWith('evict'));
    expect(new Set(evicted).size).toBe(evicted.length);
    expect(world.violations).toEqual([]);
  });
});

describe('a removal', () => {
  test('drains-all, then takes out nodes, then instances', async () => {
    const world = await WorkersWorld.of(['web-1', 'web-2', 'c'], workload('web', { replicas: 6, minAvailable: 4 }));
    await world.build('web-1');
    await world.build('web-2');
    const operation = await world.remove(['web-1', 'web-2']);
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(
      world.cluster
        .look()
        .listNodes()
        .map(({ name }) => name),
    ).toEqual(['c']);
    expect([world.hasInstance('web-1'), world.hasInstance('web-2')]).toEqual([false, false]);
    expect(world.worker('web-1')).toBeUndefined();
    const effects = world.effects().map((effect) => effect.split(' ')[0]);
    expect(effects.lastIndexOf('evict')).toBeLessThan(effects.indexOf('deleteNode'));
    expect(world.podsOn('c')).toHaveLength(6);
    expect(world.violations).toEqual([]);
  });

  test('removes-nothing-while-one-is-blocked', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3, minAvailable: 3 }));
    const operation = await world.remove(['a', 'b']);
    expect(await world.runOperation(operation)).toBe('failed');
    expect(world.cluster.look().listNodes()).toHaveLength(3);
    expect(world.effects().filter((effect) => effect.startsWith('deleteNode'))).toEqual([]);
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'deadline-passed' });
  });

  describe('while others of the batch are drained', () => {
    /** `a` is drained, and `b` waits for its budget. */
    async function begin(): Promise<{ world: WorkersWorld; operation: string; release: () => void }> {
      const world = await WorkersWorld.of(['b'], workload('web', { replicas: 1, minAvailable: 1, nextPod: 1 }));
      await world.put(worker('a'));
      for (const node of ['a', 'c']) world.cluster.objects.nodes.put(node, simulatedNode(node));
      const operation = await world.remove(['a', 'b']);
      await world.ticks(6);
      expect(world.item(operation, 'edge.a')).toMatchObject({ step: 'detach', reason: { code: 'others-to-drain' } });
      const release = () => world.cluster.objects.workloads.put('web', workload('web', { replicas: 1, nextPod: 1 }));
      return { world, operation, release };
    }

    test('a-pod-that-comes-leaves-before-the-node-goes', async () => {
      const { world, operation, release } = await begin();
      const pod = { cluster: 'edge', namespace: 'default', name: 'web-9', uid: 'u9', workload: 'web', node: 'a' };
      world.cluster.objects.pods.put('default.web-9', { ...pod, readyAtMs: 0 });
      release();
      expect(await world.runOperation(operation)).toBe('succeeded');
      const effects = world.effects();
      expect(effects.findIndex((effect) => effect.startsWith('evict') && effect.includes('web-9'))).toBeGreaterThan(0);
      expect(effects.findLastIndex((effect) => effect.startsWith('evict'))).toBeLessThan(
        effects.findIndex((effect) => effect.startsWith('deleteNode a')),
      );
      expect(world.violations).toEqual([]);
    });

    test('an-operator-who-uncordons-keeps-the-node', async () => {
      const { world, operation, release } = await begin();
      world.cluster.look().markNode({ name: 'a', uid: 'uid-a' }, { isUnschedulable: false });
      release();
      expect(await world.runOperation(operation)).toBe('failed');
      expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'node-uncordoned' });
      expect(world.cluster.look().readNode('a')).toBeDefined();
    });
  });

  test('deletes-a-node-without-pods, and one that is gone is no failure', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    world.cluster.objects.nodes.remove('b');
    expect(await world.runOperation(await world.remove(['a', 'b']))).toBe('succeeded');
    expect(world.cluster.look().listNodes()).toEqual([]);
    expect([world.worker('a'), world.worker('b')]).toEqual([undefined, undefined]);
    expect(world.violations).toEqual([]);
  });

  test('a-node-that-comes-back-is-deleted-again', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    await world.build('a');
    const operation = await world.remove(['a']);
    for (let nth = 0; nth < 60 && world.item(operation, 'edge.a')?.step !== 'await-instance'; nth += 1)
      await world.tick();
    world.cluster.objects.nodes.put('a', simulatedNode('a', { uid: 'came-back' }));
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.cluster.look().readNode('a')).toBeUndefined();
  });

  test('waits-a-minute-for-volumes, and no longer', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    world.cluster.objects.nodes.put('a', simulatedNode('a', { attachedVolumes: 2 }));
    const operation = await world.remove(['a']);
    await world.ticks(10);
    expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'volumes-attached', attached: 2 });
    const before = world.nowMs;
    expect(await world.runOperation(operation)).toBe('succeeded');
    expect(world.nowMs - before).toBeGreaterThan(45_000);
    expect(world.nowMs - before).toBeLessThan(75_000);
  });

  test('cancelled-while-it-drains: every worker is given back, and nothing is removed', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3, minAvailable: 3 }));
    const operation = await world.remove(['a', 'b']);
    await world.ticks(6);
    await world.cancel(operation);
    await world.ticks(10);
    expect(world.operationDoc(operation)?.state).toBe('cancelled');
    expect(world.worker('a')).toMatchObject({ state: 'in-service' });
    expect([world.isCordoned('a'), world.isCordoned('b')]).toEqual([false, false]);
    expect(world.violations).toEqual([]);
  });
});
