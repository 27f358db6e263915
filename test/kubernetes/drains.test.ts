// Drains by a real server on a real cluster: what only the real API can show of its order, its budgets and its refusals.
import { beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ApiProxy } from './api-proxy.ts';
import { KubeClient } from './kube-client.ts';
import { createClaimOn } from './local-volume.ts';
import { EXCLUDE_LABEL, ManagedCluster, type ManagedOptions } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { createRestrictedUser, NODES_AND_EVICTIONS, type Rule } from './restricted-user.ts';
import { createMirrorPod, endPod } from './special-pods.ts';
import { kubernetesSuite } from './suite.ts';
import { WatchedCluster } from './watched-cluster.ts';
import { createBarePod, createBudget, createDaemonSet, setMinAvailable, untilReady } from './workloads.ts';

kubernetesSuite('drains', ({ kubeconfig }) => {
  let server: MusterProcess;

  beforeAll(async () => {
    server = await MusterProcess.start();
  });

  type Finishing = Pick<TestContext, 'onTestFinished'>;

  function start({ onTestFinished }: Finishing, more: Partial<ManagedOptions> = {}): Promise<ManagedCluster> {
    return ManagedCluster.start({ server, kubeconfig, nodes: 2, onFinished: onTestFinished, ...more });
  }

  async function startWithProxy(context: Finishing, nodes: number): Promise<[ManagedCluster, ApiProxy]> {
    const proxy = await ApiProxy.start(kubeconfig);
    context.onTestFinished(() => proxy.stop());
    return [await start(context, { nodes, registered: proxy.kubeconfig }), proxy];
  }

  async function startRestricted(context: Finishing, rules?: readonly Rule[]): Promise<ManagedCluster> {
    const registered = await createRestrictedUser(kubeconfig, rules, context.onTestFinished);
    const restricted = KubeClient.of(registered);
    await waitFor(
      'its rights',
      async () => (await restricted.send('GET', '/api/v1/nodes')).status === 200 || undefined,
    );
    restricted.close();
    return start(context, { registered });
  }

  // Most of the time they wait for the cluster.
  describe.concurrent('a drain', () => {
    test('kubernetes-5: cordons-all-and-reads-that-back-before-the-first-eviction, and breaks no budget', async (context) => {
      const [cluster, { calls }] = await startWithProxy(context, 3);
      const [a = '', b = '', c = ''] = cluster.nodes.names;
      await cluster.deploy({ name: 'web', replicas: 9, minAvailable: 7 });
      // Replacements have no place until the budget is used up: how fast they are decides nothing.
      await cluster.setUnschedulable(c, true);
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const since = calls.length;
      const operation = await cluster.drain([a, b]);
      await watched.until('the budget is used up', () => watched.fewestReady('web') <= 7);
      await cluster.setUnschedulable(c, false);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect([await cluster.podsOn(a), await cluster.podsOn(b)]).toEqual([[], []]);

      const cordons = watched.of('cordoned').map(({ name }) => name);
      expect(cordons.toSorted()).toEqual([a, b].toSorted());
      const firstEvicted = watched.happenings.findIndex(({ what }) => what === 'terminating');
      expect(watched.happenings.slice(0, firstEvicted).map(({ what }) => what)).toEqual(['cordoned', 'cordoned']);
      expect(watched.fewestReady('web')).toBe(7);

      const own = calls.slice(since).map(({ method, path }) => `${method} ${path}`);
      const evictionAt = own.findIndex((call) => call.endsWith('/eviction'));
      const before = own.slice(0, evictionAt);
      for (const node of [a, b]) {
        const patchedAt = before.indexOf(`PATCH /api/v1/nodes/${node}`);
        expect(patchedAt).toBeGreaterThanOrEqual(0);
        expect(before.slice(patchedAt)).toContain(`GET /api/v1/nodes/${node}`);
      }
      expect(own.filter((call) => call.startsWith('DELETE'))).toEqual([]);
    });

    test('kubernetes-6: waits-for-a-budget, and names pod and budget in the preview and while it waits', async (context) => {
      const cluster = await start(context);
      const { namespace, name } = cluster;
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 2 });
      const waiting = server.startCommand('workers', 'drain', a, '--cluster', name, '--wait');
      await waiting.said(/the PodDisruptionBudget web allows no eviction of pod \S+\/web-\S+ now/);
      expect(await cluster.report(a)).toMatchObject({
        left: 2,
        terminating: 0,
        blockers: [1, 2].map(
          () => expect.objectContaining({ node: a, namespace, reason: 'budget', budget: 'web' }) as object,
        ),
      });
      await setMinAvailable(cluster.client, { namespace, name: 'web', minAvailable: 1 });
      expect(await waiting.ended).toMatchObject({ code: 0, out: expect.stringContaining('1/1 done') as string });
      expect(await cluster.podsOn(a)).toEqual([]);
      expect(await cluster.report(a)).toBeUndefined();
    });

    test('kubernetes-6: waits-for-a-budget-that-it-may-not-see: the API refuses with 429 and names it', async (context) => {
      const cluster = await startRestricted(context, NODES_AND_EVICTIONS);
      const { namespace } = cluster;
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 3, minAvailable: 3 });
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.drain([a]);
      const { reason } = await cluster.untilWaits(operation, a, 'budget-blocks');
      expect(reason).toMatchObject({
        budget: 'web',
        left: 3,
        pod: expect.stringContaining(`${namespace}/web-`) as string,
      });
      await setMinAvailable(cluster.client, { namespace, name: 'web', minAvailable: 2 });
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(watched.fewestReady('web')).toBe(2);
    });

    test('kubernetes-7: ends-at-once-for-two-budgets-on-one-pod, and nothing was evicted', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const { namespace, client } = cluster;
      const [a = '', b = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'odd', replicas: 1, minAvailable: 0 });
      await createBudget(client, { namespace, name: 'odd-2', app: 'odd', minAvailable: 0 });
      await cluster.deployOn(b, { name: 'web', replicas: 2 });
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.drain([a, b]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(operation, a)).reason).toMatchObject({ code: 'drain-blocked', why: 'two-budgets' });
      expect((await cluster.itemOf(operation, b)).reason).toMatchObject({ code: 'other-worker-failed' });
      expect(watched.of('terminating')).toEqual([]);
      expect([await cluster.isCordoned(a), await cluster.isCordoned(b)]).toEqual([true, true]);
    });

    test('kubernetes-7: ends-at-once-for-two-budgets-that-it-may-not-see: the API answers 500', async (context) => {
      const cluster = await startRestricted(context, NODES_AND_EVICTIONS);
      const { namespace, client } = cluster;
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'odd', replicas: 1, minAvailable: 0 });
      await createBudget(client, { namespace, name: 'odd-2', app: 'odd', minAvailable: 0 });
      const operation = await cluster.drain([a]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(operation, a)).reason).toMatchObject({ code: 'drain-blocked', why: 'two-budgets' });
      expect(await cluster.podsOn(a)).toHaveLength(1);
    });

    test('kubernetes-7: a-bare-pod-blocks, and goes for good when that is said', async (context) => {
      const cluster = await start(context);
      const { namespace, client } = cluster;
      const [a = ''] = cluster.nodes.names;
      await createBarePod(client, { namespace, name: 'lonely', selector: { 'kubernetes.io/hostname': a } });
      await untilReady(client, namespace, 1);
      const blocked = await cluster.drain([a]);
      expect(await cluster.untilEnded(blocked)).toMatchObject({ state: 'failed' });
      const { reason } = await cluster.itemOf(blocked, a);
      expect(reason).toMatchObject({ code: 'drain-blocked', why: 'bare', pod: `${namespace}/lonely` });
      expect(await cluster.podsOn(a)).toEqual(['lonely']);
      const { name } = cluster;
      const said = await server.run('workers', 'drain', a, '--cluster', name, '--evict-bare', '--wait');
      expect(said).toMatchObject({ code: 0 });
      expect(await cluster.podsOn(a)).toEqual([]);
    });

    test('kubernetes-7: an-emptydir-blocks-only-when-it-is-to-be-kept, and the preview says that it is lost', async (context) => {
      const cluster = await start(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'scratch', replicas: 1, hasEmptyDir: true });
      const kept = await cluster.drain([a], { keepEmptyDir: true });
      expect(await cluster.untilEnded(kept)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(kept, a)).reason).toMatchObject({ code: 'drain-blocked', why: 'empty-dir' });
      const shown = await server.run('workers', 'preview', a, '--cluster', cluster.name);
      expect(shown.out).toMatch(/scratch-\S+\s+evicted\b.*its emptyDir is lost/);
      expect(await cluster.podsOn(a)).toHaveLength(1);
      expect(await cluster.untilEnded(await cluster.drain([a]))).toMatchObject({ state: 'succeeded' });
      expect(await cluster.podsOn(a)).toEqual([]);
    });

    test('kubernetes-8: leaves-daemons, mirrors and finished pods, and waits for those that end already', async (context) => {
      const [cluster, { calls }] = await startWithProxy(context, 2);
      const { namespace, client, nodes } = cluster;
      const [a = ''] = nodes.names;
      const selector = { 'kubernetes.io/hostname': a };
      nodes.kubelet(a).ending = 'whole-grace';
      await createDaemonSet(client, { namespace, name: 'daemon', selector });
      for (const name of ['finished', 'ending'])
        await createBarePod(client, { namespace, name, selector, graceSeconds: 6 });
      await createMirrorPod(client, { namespace, name: 'mirror', node: a });
      await untilReady(client, namespace, 4);
      await endPod(client, { namespace, name: 'finished' });
      await client.delete(`/api/v1/namespaces/${namespace}/pods/ending`);
      const operation = await cluster.drain([a]);
      expect((await cluster.untilWaits(operation, a, 'pods-leaving')).reason).toMatchObject({
        left: 1,
        terminating: 1,
      });
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      const left = (await cluster.podsOn(a)).map((name) => name.replace(/-.*/, ''));
      expect(left.toSorted()).toEqual(['daemon', 'finished', 'mirror']);
      expect(calls.filter(({ path }) => path.endsWith('/eviction'))).toEqual([]);
    });

    test('kubernetes-7: a-volume-that-is-on-its-node-alone-blocks', async (context) => {
      const cluster = await start(context);
      const { namespace, client } = cluster;
      const [a = ''] = cluster.nodes.names;
      const claim = await createClaimOn(client, { namespace, node: a }, context.onTestFinished);
      await cluster.deploy({ name: 'db', replicas: 1, claim });
      const operation = await cluster.drain([a]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(operation, a)).reason).toMatchObject({ code: 'drain-blocked', why: 'local-volume' });
      expect(await cluster.podsOn(a)).toHaveLength(1);
    });

    test('kubernetes-9: an-operators-cordon-and-label-stay, whatever is given back', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const [a = '', b = '', c = ''] = cluster.nodes.names;
      await cluster.setUnschedulable(a, true);
      await cluster.client.patch(`/api/v1/nodes/${b}`, { metadata: { labels: { [EXCLUDE_LABEL]: 'by-operator' } } });
      const marks = async (): Promise<unknown> =>
        Promise.all([a, b, c].map(async (node) => [await cluster.isCordoned(node), await cluster.isExcluded(node)]));
      expect(await cluster.untilEnded(await cluster.drain([a, b, c]))).toMatchObject({ state: 'succeeded' });
      expect(await marks()).toEqual([
        [true, true],
        [true, true],
        [true, true],
      ]);
      expect(await cluster.untilEnded(await cluster.giveBack([a, b, c]))).toMatchObject({ state: 'succeeded' });
      expect(await marks()).toEqual([
        [true, false],
        [false, true],
        [false, false],
      ]);
      expect((await cluster.getNode(b)).metadata.labels?.[EXCLUDE_LABEL]).toBe('by-operator');
    });

    test('kubernetes-10: that-fails-leaves-its-cordons, and a retry drains the same workers with a new deadline', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const { namespace, client } = cluster;
      const [a = '', b = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 2 });
      const operation = await cluster.drain([a, b], { deadlineMs: 6000 });
      const failed = await cluster.untilEnded(operation);
      expect(failed).toMatchObject({ state: 'failed' });
      expect(failed.reason).toMatchObject({ failedFor: 'deadline-passed', waitedFor: 'budget-blocks', budget: 'web' });
      expect([await cluster.isCordoned(a), await cluster.isCordoned(b)]).toEqual([true, true]);
      await setMinAvailable(client, { namespace, name: 'web', minAvailable: 1 });
      // On a busy machine one deadline may be too short for all of it.
      const retried = await waitFor('a retry that succeeds', async () => {
        await cluster.command(operation, 'retry');
        const ended = await cluster.untilEnded(operation);
        return ended.state === 'succeeded' ? ended : undefined;
      });
      expect(retried.deadlineAtMs).toBeGreaterThan(failed.deadlineAtMs);
      const victims = (await cluster.items(operation)).map(({ target }) => target.id);
      expect(victims.toSorted()).toEqual([a, b].map((node) => `${cluster.name}.${node}`).toSorted());
      expect(await cluster.podsOn(a)).toEqual([]);
    });

    test('kubernetes-11: that-is-cancelled-evicts-nothing-more, and gives every victim back', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const { namespace, client } = cluster;
      const [a = '', b = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 3, minAvailable: 3 });
      const operation = await cluster.drain([a, b]);
      await cluster.untilWaits(operation, a, 'budget-blocks');
      await cluster.command(operation, 'cancel');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'cancelled' });
      await waitFor('both to be in service', async () => {
        const workers = await Promise.all([cluster.worker(a), cluster.worker(b)]);
        return workers.every((worker) => worker?.state === 'in-service') || undefined;
      });
      for (const node of [a, b]) {
        expect([await cluster.isCordoned(node), await cluster.isExcluded(node)]).toEqual([false, false]);
        expect(await cluster.worker(node)).not.toHaveProperty('cordon');
      }
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      await setMinAvailable(client, { namespace, name: 'web', minAvailable: 0 });
      // Another drain, of the other one, looks at pods and budgets as often as this one would have.
      expect(await cluster.untilEnded(await cluster.drain([b]))).toMatchObject({ state: 'succeeded' });
      expect(watched.of('terminating')).toEqual([]);
    });

    test('kubernetes-9: whose-cordon-an-operator-takes-back ends, and evicts nothing more', async (context) => {
      const cluster = await start(context);
      const { namespace, client } = cluster;
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 2 });
      const operation = await cluster.drain([a]);
      await cluster.untilWaits(operation, a, 'budget-blocks');
      await cluster.setUnschedulable(a, false);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(operation, a)).reason).toMatchObject({ code: 'node-uncordoned', node: a });
      await setMinAvailable(client, { namespace, name: 'web', minAvailable: 0 });
      expect(await cluster.podsOn(a)).toHaveLength(2);
    });

    test('kubernetes-1: by-one-who-may-only-look fails with what is refused, and what is missing was known before', async (context) => {
      const cluster = await startRestricted(context);
      const [a = ''] = cluster.nodes.names;
      await waitFor('what is missing', async () => {
        const { out } = await server.run('clusters', 'show', cluster.name);
        return /Muster may not\s.*patch nodes, delete nodes, create pods\/eviction/.test(out) || undefined;
      });
      const operation = await cluster.drain([a]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      const { reason } = await cluster.itemOf(operation, a);
      expect(reason).toMatchObject({
        code: 'cluster-refused',
        text: expect.stringContaining('cannot patch') as string,
      });
      expect(await cluster.isCordoned(a)).toBe(false);
    });
  });
});
