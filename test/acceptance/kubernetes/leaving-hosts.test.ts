// Hosts that leave with workers on them: each worker is drained within its budgets before its instance moves, and serves again where it runs then.
import { describe, expect, test } from 'vitest';
import { retryOperation } from '../../../src/operations/index.ts';
import { WORKER } from '../../../src/kubernetes/decisions-fixture.ts';
import { HttpApi } from '../scale-in/http-fixture.ts';
import { LeavingWorkers } from './leaving-workers-fixture.ts';

const ROOMY = { replicas: 6, minAvailable: 4 };
/** Its budget allows no eviction. */
const STUCK = { replicas: 3, minAvailable: 3 };

describe('a host with workers leaves', () => {
  test('two-workers, an instance and a service: all leave, and the workers serve elsewhere', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'a', 'b'], pods: ROOMY });
    const { world } = edge;
    await world.place('web', 'a');
    const nat = world.designatedHostOf('nat:edge');
    await world.start(['a']);
    await world.untilState('drained', 'a');
    await edge.untilReturned(1, 2);
    expect(edge.hostsOf(1, 2)).not.toContain('a');
    expect(world.instance('web').host).not.toBe('a');
    expect(nat === 'a' && world.designatedHostOf('nat:edge') === 'a').toBe(false);
    expect([edge.isCordoned(1), edge.isCordoned(2)]).toEqual([false, false]);
    expect(edge.outAtMost).toBe(1);
    // No pod went to a worker that left next.
    expect(edge.timeline.filter((line) => line.startsWith('evict'))).toHaveLength(4);
    expect(edge.timeline).toMatchInlineSnapshot(`
      [
        "cordon node-1",
        "cordon node-2",
        "move web from a to c",
        "evict web-0 from node-1",
        "evict web-3 from node-1",
        "move w1 from a to d",
        "uncordon node-1",
        "evict web-1 from node-2",
        "evict web-4 from node-2",
        "move w2 from a to e",
        "uncordon node-2",
      ]
    `);
  });

  test('where-no-worker-stays, each is cordoned at its turn, so that pods have a place', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'a'], pods: { replicas: 4, minAvailable: 3 } });
    await edge.world.start(['a']);
    await edge.world.untilState('drained', 'a');
    await edge.untilReturned(1, 2);
    expect(edge.cordonedAtMost).toBe(1);
    expect(edge.pendingPods()).toEqual([]);
  });

  test('two-hosts-at-once: all workers are cordoned first, and one at a time is drained', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b', 'c', 'd'], pods: { replicas: 8, minAvailable: 5 } });
    await edge.world.start(['a', 'b', 'c']);
    await edge.world.untilState('drained', 'a', 'b', 'c');
    await edge.untilReturned(1, 2, 3);
    expect(edge.outAtMost).toBe(1);
    const cordons = edge.timeline.slice(0, 3);
    expect(cordons.toSorted()).toEqual(['cordon node-1', 'cordon node-2', 'cordon node-3']);
    expect(edge.timeline.filter((line) => line.startsWith('evict'))).toHaveLength(6);
    expect(edge.hostsOf(1, 2, 3).filter((host) => ['a', 'b', 'c'].includes(host ?? ''))).toEqual([]);
  });

  test('with-drains-at-once-2, two are out of service at a time', async () => {
    const edge = await LeavingWorkers.start({
      workers: ['a', 'a', 'a', 'b'],
      pods: { replicas: 8, minAvailable: 2 },
      cluster: { drainsAtOnce: 2 },
    });
    await edge.world.start(['a']);
    await edge.world.untilState('drained', 'a');
    await edge.untilReturned(1, 2, 3);
    expect(edge.outAtMost).toBe(2);
  });

  test('a-cluster-that-says-move: the instance moves as it is', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], cluster: { whenHostLeaves: 'move' }, pods: STUCK });
    await edge.world.start(['a']);
    await edge.world.untilState('drained', 'a');
    expect(edge.world.versionsOf(WORKER.name, 'edge.node-1').map((doc) => doc?.['state'])).not.toContain('draining');
    expect(edge.timeline.filter((line) => line.startsWith('evict'))).toEqual([]);
  });
});

describe('a drain that is blocked', () => {
  test('is-reported-with-pod-and-budget, and the rest of the host continues', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    const http = await HttpApi.start(world);
    await world.place('web', 'a');
    await world.start(['a']);
    await world.until('the other instance has moved', () => world.instance('web').host !== 'a');
    await world.clock.pass(60_000);
    expect(edge.hostsOf(1)).toEqual(['a']);
    const [pod] = edge.podsOn('node-1');
    const told = { code: 'budget-blocks', worker: 'edge.node-1', pod: `default/${pod}`, budget: 'web' };
    expect((await http.get('/api/v1/scale-in')).body).toMatchObject({
      hosts: [{ host: 'a', state: 'draining', left: { workers: 1, instances: 1 }, reason: told }],
    });
    const wait = { kind: 'wait', reason: told };
    const tenants = [
      { kind: 'instance', id: 'w1', evacuation: wait },
      { kind: 'worker', id: 'edge.node-1', evacuation: wait },
    ];
    expect((await http.get('/api/v1/hosts/a/tenants')).body).toMatchObject({ tenants });
    const preview = await http.post('/api/v1/scale-in/preview', { hosts: ['a'] });
    expect(preview.body).toMatchObject({ hosts: [{ host: 'a', tenants }] });
    expect((await http.get('/api/v1/scale-in/blocked')).body).toMatchObject({
      blocked: [{ kind: 'instance', id: 'w1', reason: told }],
    });
    await edge.deploy({ minAvailable: 2 });
    await world.untilState('drained', 'a');
    await edge.untilReturned(1);
  });

  test('fails-at-its-deadline and begins again: the worker stays cordoned, and the host says why', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    const { operation = '' } = await world.start(['a']);
    await world.until('the drain has failed', () => edge.drainItem(1)?.state === 'failed');
    expect(edge.drainItem(1)?.reason).toMatchObject({ code: 'deadline-passed', waitedFor: 'budget-blocks' });
    await world.until('the host says so', () => world.item(operation, 'a').reason?.code === 'deadline-passed');
    expect(edge.isCordoned(1)).toBe(true);
    await edge.deploy({ minAvailable: 2 });
    await world.untilState('drained', 'a');
    await edge.untilReturned(1);
    expect(edge.isCordoned(1)).toBe(false);
  });

  test('a-pod-that-blocks-for-good is reported without an eviction, and once it is gone the worker is drained', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: { replicas: 4 } });
    await edge.deploy({ ownerKind: 'none' });
    await edge.world.start(['a']);
    await edge.world.until('it is blocked', () => edge.drainItem(1)?.reason?.code === 'drain-blocked');
    expect(edge.timeline.filter((line) => line.startsWith('evict'))).toEqual([]);
    expect(edge.drainItem(1)?.reason).toMatchObject({ why: 'bare', worker: 'edge.node-1' });
    await edge.deploy({ ownerKind: 'ReplicaSet' });
    await edge.world.untilState('drained', 'a');
  });

  test('after-a-failure, workers that wait for their turn take pods again', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'a', 'b'], pods: { replicas: 6, minAvailable: 6 } });
    const { world } = edge;
    await world.start(['a']);
    await world.until('both are cordoned', () => edge.isCordoned(1) === true && edge.isCordoned(2) === true);
    await world.until('one takes pods again', () => edge.timeline.some((line) => line.startsWith('uncordon')));
    await edge.deploy({ minAvailable: 4 });
    await world.untilState('drained', 'a');
    await edge.untilReturned(1, 2);
    expect(edge.timeline.indexOf('uncordon node-1')).toBeLessThan(
      edge.timeline.findIndex((line) => line.startsWith('move')),
    );
  });
});

describe('a host that is brought back', () => {
  test('in-the-middle-of-a-drain: the worker is given back, and nothing more is evicted', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    await world.start(['a']);
    await world.until('it is blocked', () => edge.drainItem(1)?.reason?.code === 'budget-blocks');
    const evicted = edge.timeline.length;
    await world.recover(['a']);
    await edge.deploy({ minAvailable: 0 });
    await edge.untilReturned(1);
    expect(edge.isCordoned(1)).toBe(false);
    expect(edge.hostsOf(1)).toEqual(['a']);
    expect(edge.timeline.slice(evicted)).toEqual(['uncordon node-1']);
    await world.untilState('active', 'a');
  });

  test('after-the-drain-has-failed', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    await edge.world.start(['a']);
    await edge.world.until('the drain has failed', () => edge.drainItem(1)?.state === 'failed');
    await edge.world.recover(['a']);
    await edge.untilReturned(1);
    expect(edge.isCordoned(1)).toBe(false);
  });

  test('a-cordon-of-an-operator-stays', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    await edge.cordonByHand(1);
    await edge.world.start(['a']);
    await edge.world.until('it is blocked', () => edge.drainItem(1)?.reason?.code === 'budget-blocks');
    await edge.world.recover(['a']);
    await edge.untilReturned(1);
    expect(edge.isCordoned(1)).toBe(true);
  });
});

describe('limits of the scale-in', () => {
  test('after-its-deadline-nothing-is-evicted, and a retry goes on', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    const { operation = '' } = await world.start(['a'], { deadlineMs: 60_000 });
    await world.until('the scale-in has ended', () => world.operationDoc(operation).state === 'failed');
    await world.until('the drain has ended', () => edge.drainItem(1)?.state === 'failed');
    expect(edge.drainItem(1)?.reason).toMatchObject({ code: 'scale-in-ended' });
    const before = edge.timeline.length;
    await edge.deploy({ minAvailable: 0 });
    await world.clock.pass(60_000);
    expect(edge.timeline.slice(before)).toEqual([]);
    const kinds = world.program.operationKinds;
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds, nowMs: world.nowMs }));
    await world.untilState('drained', 'a');
    await edge.untilReturned(1);
  });

  test('removed-by-force: nothing more is evicted', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    await world.start(['a']);
    await world.until('it is blocked', () => edge.drainItem(1)?.reason?.code === 'budget-blocks');
    await world.end(['a'], { disconnect: true, force: { reason: 'burnt' } });
    const before = edge.timeline.length;
    await edge.deploy({ minAvailable: 0 });
    await world.untilState('removed', 'a');
    expect(edge.timeline.slice(before)).toEqual([]);
    expect(world.instance('w1').state).toBe('error');
  });
});

describe('a server that dies', () => {
  test('at-any-change-of-a-worker: all leave all the same, and nothing is evicted twice', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'a', 'b'], pods: ROOMY });
    const { world } = edge;
    await world.start(['a']);
    let restarts = 0;
    while (world.host('a').state !== 'drained' || edge.states(1, 2).some((state) => state !== 'in-service')) {
      if (restarts > 40) throw new Error('it does not end');
      const before = world.fleet.revision;
      await world.until('a worker changes', () => world.fleet.revision > before + 1);
      await world.restart();
      restarts += 1;
    }
    await edge.untilReturned(1, 2);
    expect(restarts).toBeGreaterThan(5);
    const evicted = edge.timeline.filter((line) => line.startsWith('evict'));
    expect(new Set(evicted).size).toBe(evicted.length);
    expect(edge.outAtMost).toBe(1);
  });
});

describe('a host that is dead', () => {
  test('its-workers-join-again: the Node goes, the instance is built elsewhere and joins, and is in service', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: ROOMY });
    const { world } = edge;
    await world.disconnect('a');
    await world.forceDown('a');
    await world.start(['a']);
    await world.until('it has joined again', () => edge.states(1)[0] === 'in-service' && edge.hostsOf(1)[0] !== 'a');
    expect(edge.worker(1).nodeUid).not.toBe('edge-node-1');
    expect(edge.worker(1)).not.toHaveProperty('work');
    const states = world.versionsOf(WORKER.name, 'edge.node-1').map((doc) => doc?.['state']);
    expect(states).toContain('joining');
    await world.untilState('drained', 'a');
    expect(edge.timeline.filter((line) => line.startsWith('evict'))).toEqual([]);
  });

  test('in-the-middle-of-a-drain', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: STUCK });
    const { world } = edge;
    await world.start(['a']);
    await world.until('it is blocked', () => edge.drainItem(1)?.reason?.code === 'budget-blocks');
    await world.disconnect('a');
    await world.forceDown('a');
    await world.until(
      'its instance is built elsewhere',
      () => world.instance('w1').host !== 'a' && world.instance('w1').state === 'active',
    );
    await edge.untilReturned(1);
    expect(edge.worker(1)).not.toHaveProperty('cordon');
    expect(edge.worker(1).nodeUid).not.toBe('edge-node-1');
    expect(edge.isCordoned(1)).toBe(false);
  });

  test('a-worker-that-Muster-has-never-joined is waited for, and is in service when its Node is Ready', async () => {
    const edge = await LeavingWorkers.start({ workers: ['a', 'b'], pods: ROOMY });
    const { world } = edge;
    await edge.setReach('none');
    await world.disconnect('a');
    await world.forceDown('a');
    await world.rebuild('w1');
    await world.until('it is waited for', () => edge.drainItem(1)?.reason?.code === 'worker-not-joined');
    await world.clock.pass(60_000);
    expect(edge.worker(1).state).toBe('joining');
    await edge.joinByHand(1);
    await world.until('it is in service', () => edge.worker(1).state === 'in-service');
  });
});
