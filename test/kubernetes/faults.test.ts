// Drains and removals while things break: the API, nodes, and the server itself.
import { beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiProxy, countEvictions } from './api-proxy.ts';
import { ManagedCluster, type ManagedOptions } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { untilNodeIs } from './nodes.ts';
import { kubernetesSuite } from './suite.ts';
import { WatchedCluster } from './watched-cluster.ts';

const AWAY_MS = 30_000;

kubernetesSuite('faults', ({ kubeconfig }) => {
  let server: MusterProcess;

  beforeAll(async () => {
    server = await MusterProcess.start();
  });

  type Finishing = Pick<TestContext, 'onTestFinished'>;

  function start({ onTestFinished }: Finishing, more: Partial<ManagedOptions> = {}): Promise<ManagedCluster> {
    return ManagedCluster.start({ server, kubeconfig, nodes: 2, onFinished: onTestFinished, ...more });
  }

  async function startWithProxy(
    context: Finishing,
    more: Partial<ManagedOptions> = {},
  ): Promise<[ManagedCluster, ApiProxy]> {
    const proxy = await ApiProxy.start(kubeconfig);
    context.onTestFinished(() => proxy.stop());
    return [await start(context, { registered: proxy.kubeconfig, ...more }), proxy];
  }

  describe.concurrent('a fault', () => {
    test('kubernetes-12: the-api-is-away for 30 s amid a drain: it is waited for, and the drain goes on', async (context) => {
      const [cluster, proxy] = await startWithProxy(context);
      const [a = ''] = cluster.nodes.names;
      cluster.nodes.kubelet(a).ending = 'whole-grace';
      await cluster.deployOn(a, { name: 'web', replicas: 3, minAvailable: 2, graceSeconds: 2 });
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.drain([a]);
      await watched.until('an eviction', () => watched.of('terminating').length > 0);
      proxy.cut();
      const waiting = await cluster.untilWaits(operation, a, 'cluster-unreachable');
      expect(waiting.sentence).toMatch(/The API of cluster \S+ does not answer/);
      await sleep(AWAY_MS);
      expect(await cluster.operation(operation)).toMatchObject({ state: 'running' });
      await proxy.restore();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(countEvictions(proxy.calls)).toEqual([1, 1, 1]);
      expect(watched.fewestReady('web')).toBe(2);
    });

    test('kubernetes-12: the-api-accepts-and-says-nothing for longer than a call may last: the drain goes on', async (context) => {
      const [cluster, proxy] = await startWithProxy(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2 });
      proxy.silence();
      const operation = await cluster.drain([a]);
      await cluster.untilWaits(operation, a, 'cluster-unreachable');
      await proxy.restore();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(await cluster.podsOn(a)).toEqual([]);
    });

    test('kubernetes-12: an-api-that-is-overloaded is waited for; one that fails three times in a row is not', async (context) => {
      const [cluster, proxy] = await startWithProxy(context);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 1 });
      const statuses = [503, 429, 500, 500];
      proxy.decide = ({ path }) => {
        const status = path.endsWith('/eviction') ? statuses.shift() : undefined;
        return status === undefined ? 'pass' : { status };
      };
      expect(await cluster.untilEnded(await cluster.drain([a]))).toMatchObject({ state: 'succeeded' });
      expect(statuses).toEqual([]);
      await cluster.untilEnded(await cluster.giveBack([a]));
      await cluster.deployOn(a, { name: 'other', replicas: 1 });
      proxy.decide = ({ path }) => (path.endsWith('/eviction') ? { status: 500 } : 'pass');
      const since = proxy.calls.length;
      const operation = await cluster.drain([a]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect((await cluster.itemOf(operation, a)).reason).toMatchObject({ code: 'cluster-refused', tries: 3 });
      expect(proxy.calls.slice(since).filter(({ path }) => path.endsWith('/eviction'))).toHaveLength(3);
    });

    test('kubernetes-13: a-node-nobody-reaches: its pods get a second, and are not waited for', async (context) => {
      const cluster = await start(context);
      const { client, nodes } = cluster;
      const [a = '', b = ''] = nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2 });
      await nodes.kubelet(a).die();
      await untilNodeIs(client, a, 'Unknown');
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.remove([a]);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(watched.of('terminating').map(({ graceSeconds }) => graceSeconds)).toEqual([1, 1]);
      const [last, deletion] = [watched.of('terminating').at(-1), watched.of('node-deleted')[0]];
      expect(last?.revision).toBeLessThan(deletion?.revision ?? 0);
      await cluster.untilPodsOn(b, 2);
    });

    test('kubernetes-13: a-node-dies amid its drain: what is left of it there is not waited for', async (context) => {
      const cluster = await start(context);
      const { nodes } = cluster;
      const [a = '', b = ''] = nodes.names;
      nodes.kubelet(a).ending = 'whole-grace';
      await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 1, graceSeconds: 600 });
      const operation = await cluster.drain([a]);
      await cluster.untilItem(operation, a, ({ reason }) => reason?.['terminating'] === 2);
      await nodes.kubelet(a).die();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      await cluster.untilPodsOn(b, 2);
    });
  });
});
