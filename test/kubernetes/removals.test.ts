// Removals by a real server on a real cluster: in which order Nodes go, and what a Node that is gone, new or back again means.
import { beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ApiProxy } from './api-proxy.ts';
import { attachVolume } from './local-volume.ts';
import { ManagedCluster, type ManagedOptions } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { untilNodeIs } from './nodes.ts';
import { kubernetesSuite } from './suite.ts';
import { WatchedCluster } from './watched-cluster.ts';

kubernetesSuite('removals', ({ kubeconfig }) => {
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

  const nodeOf = ({ client }: ManagedCluster, node: string) => client.find(`/api/v1/nodes/${node}`);

  describe.concurrent('a removal', () => {
    test('kubernetes-14: deletes-no-node-before-every-victim-is-drained, also one without pods', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const [a = '', b = '', c = ''] = cluster.nodes.names;
      cluster.nodes.kubelet(a).ending = 'whole-grace';
      await cluster.deployOn(a, { name: 'slow', replicas: 2, graceSeconds: 4 });
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.remove([a, b]);
      await cluster.untilWaits(operation, b, 'others-to-drain');
      expect(await nodeOf(cluster, b)).toBeDefined();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      await watched.until('both deletions', () => watched.of('node-deleted').length === 2);
      const order = watched.of('pod-deleted', 'node-deleted').map(({ what }) => what);
      expect(order).toEqual(['pod-deleted', 'pod-deleted', 'node-deleted', 'node-deleted']);
      expect([await cluster.worker(a), await cluster.worker(b)]).toEqual([undefined, undefined]);
      expect(await cluster.worker(c)).toMatchObject({ state: 'in-service' });
      expect(await cluster.podsOn(c)).toHaveLength(2);
    });

    test('kubernetes-14: whose-drain-fails removes nothing, and goes on when it is retried', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const [a = '', b = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'scratch', replicas: 1, hasEmptyDir: true });
      const operation = await cluster.remove([a, b], { keepEmptyDir: true });
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect([await cluster.isCordoned(a), await cluster.isCordoned(b)]).toEqual([true, true]);
      const [pod = ''] = await cluster.podsOn(a);
      await cluster.client.delete(`/api/v1/namespaces/${cluster.namespace}/pods/${pod}`);
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect([await nodeOf(cluster, a), await nodeOf(cluster, b)]).toEqual([undefined, undefined]);
    });

    test('kubernetes-11: that-is-cancelled-gives-back-every-victim-whose-node-is-there', async (context) => {
      const cluster = await start(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 1, minAvailable: 1 });
      const operation = await cluster.remove([a]);
      await cluster.untilWaits(operation, a, 'budget-blocks');
      await cluster.command(operation, 'cancel');
      await waitFor('its return', async () => (await cluster.worker(a))?.state === 'in-service' || undefined);
      expect([await cluster.isCordoned(a), await cluster.isExcluded(a)]).toEqual([false, false]);
      expect(await cluster.podsOn(a)).toHaveLength(1);
    });

    test('kubernetes-15: deletes-a-node-again that came back', async (context) => {
      const [cluster, proxy] = await startWithProxy(context, 2);
      const [a = ''] = cluster.nodes.names;
      const kubelet = cluster.nodes.kubelet(a);
      const path = `/api/v1/nodes/${a}`;
      const before = (await cluster.getNode(a)).metadata.uid;
      let back: string | undefined;
      // Between the deletion and the look whether it came back.
      proxy.delay = async ({ method, path: called }) => {
        const isDeleted = proxy.calls.some(
          (call) => call.method === 'DELETE' && call.path === path && call.status === 200,
        );
        if (method !== 'GET' || called !== path || !isDeleted || back !== undefined) return;
        back = '';
        await kubelet.die();
        await kubelet.start();
        back = (await untilNodeIs(cluster.client, a, 'True')).metadata.uid;
      };
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      expect(await cluster.untilEnded(await cluster.remove([a]))).toMatchObject({ state: 'succeeded' });
      await watched.until('both deletions', () => watched.of('node-deleted').length === 2);
      expect(back).not.toBe(before);
      expect(await nodeOf(cluster, a)).toBeUndefined();
      expect(await cluster.worker(a)).toBeUndefined();
    });

    test('kubernetes-14: of-a-node-that-is-gone-already is no failure', async (context) => {
      const cluster = await start(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.client.delete(`/api/v1/nodes/${a}`);
      expect(await cluster.untilEnded(await cluster.remove([a]))).toMatchObject({ state: 'succeeded' });
      expect(await cluster.worker(a)).toBeUndefined();
    });

    test('kubernetes-15: leaves-another-node-of-that-name alone', async (context) => {
      const cluster = await start(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 1, minAvailable: 1 });
      const operation = await cluster.remove([a]);
      await cluster.untilWaits(operation, a, 'budget-blocks');
      await cluster.client.delete(`/api/v1/nodes/${a}`);
      await cluster.nodes.kubelet(a).die();
      await cluster.nodes.kubelet(a).start();
      const { metadata } = await untilNodeIs(cluster.client, a, 'True');
      const ended = await cluster.untilEnded(operation);
      const isLeft = (await nodeOf(cluster, a))?.metadata.uid === metadata.uid;
      if (ended.state === 'failed') {
        expect((await cluster.itemOf(operation, a)).reason?.code).toBe('node-replaced');
        expect(isLeft).toBe(true);
      } else if (isLeft) {
        // It looked while there was none, which is a drained one, and had ended before the other one came: Kubernetes says so in seconds.
        const cameMs = Date.parse(metadata.creationTimestamp ?? '') + 1000;
        expect(cameMs).toBeGreaterThan(ended.finishedAtMs ?? Infinity);
      }
    });

    test('kubernetes-17: of-a-number-takes-the-unhealthy-first', async (context) => {
      const cluster = await start(context, { nodes: 3 });
      const [, b = ''] = cluster.nodes.names;
      await cluster.client.delete(`/api/v1/nodes/${b}`);
      await waitFor('it to be missing', async () => (await cluster.worker(b))?.readiness === 'missing' || undefined);
      const { out, code } = await server.run('workers', 'remove', '--count', '1', '--cluster', cluster.name, '--wait');
      expect({ out, code }).toMatchObject({ code: 0, out: expect.stringContaining(`${cluster.name}.${b}`) as string });
      expect(await cluster.worker(b)).toBeUndefined();
    });

    test('kubernetes-16: waits-for-volumes-that-are-attached', async (context) => {
      const cluster = await start(context);
      const [a = ''] = cluster.nodes.names;
      const volume = await attachVolume(cluster.client, a, context.onTestFinished);
      const operation = await cluster.remove([a]);
      expect((await cluster.untilWaits(operation, a, 'volumes-attached')).reason).toMatchObject({ attached: 1 });
      expect(await nodeOf(cluster, a)).toBeDefined();
      await volume.detach();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(await nodeOf(cluster, a)).toBeUndefined();
    });

    test('kubernetes-19: whose-answers-are-lost does each thing once', async (context) => {
      const [cluster, proxy] = await startWithProxy(context, 2);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 3, minAvailable: 1 });
      const lost = new Set<string>();
      // The first of each kind is carried out, and its answer does not arrive.
      proxy.decide = ({ method, path }) => {
        const kind = path.endsWith('/eviction') ? 'evict' : method;
        if (!['PATCH', 'DELETE', 'evict'].includes(kind) || lost.has(kind)) return 'pass';
        lost.add(kind);
        return 'lose-answer';
      };
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      expect(await cluster.untilEnded(await cluster.remove([a]))).toMatchObject({ state: 'succeeded' });
      expect([...lost].toSorted()).toEqual(['DELETE', 'PATCH', 'evict']);
      expect(watched.of('cordoned')).toHaveLength(1);
      expect(watched.of('terminating')).toHaveLength(3);
      await watched.until('the deletion', () => watched.of('node-deleted').length === 1);
      expect(watched.fewestReady('web')).toBeGreaterThanOrEqual(1);
    });
  });
});
