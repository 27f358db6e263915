// The server is killed amid its work, and started again on the same data: the work continues with the same victims, and each thing is done once.
import { describe, expect, test, type TestContext } from 'vitest';
import { ApiProxy, countEvictions, type ProxiedCall } from './api-proxy.ts';
import { ManagedCluster } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { kubernetesSuite } from './suite.ts';
import { WatchedCluster } from './watched-cluster.ts';

kubernetesSuite('a server that is killed', ({ kubeconfig }) => {
  async function start(
    { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
    server: MusterProcess,
  ): Promise<[ManagedCluster, ApiProxy]> {
    const proxy = await ApiProxy.start(kubeconfig);
    onTestFinished(() => proxy.stop());
    const registered = proxy.kubeconfig;
    return [
      await ManagedCluster.start({ server, kubeconfig, registered, nodes: 3, onFinished: onTestFinished }),
      proxy,
    ];
  }

  describe.concurrent('goes on', () => {
    test('kubernetes-18: amid-a-drain-and-a-removal, with the same victims, each thing once', async (context) => {
      const own = await MusterProcess.start();
      const [drained, drainProxy] = await start(context, own);
      const [removed, removeProxy] = await start(context, own);
      const begin = async (cluster: ManagedCluster): Promise<WatchedCluster> => {
        const [a = ''] = cluster.nodes.names;
        cluster.nodes.kubelet(a).ending = 'whole-grace';
        await cluster.deployOn(a, { name: 'web', replicas: 4, minAvailable: 3, graceSeconds: 3 });
        return WatchedCluster.start(cluster, context.onTestFinished);
      };
      const [drain, removal] = await Promise.all([begin(drained), begin(removed)]);
      const operations = [
        await drained.drain(drained.nodes.names.slice(0, 2)),
        await removed.remove(removed.nodes.names.slice(0, 2)),
      ] as const;
      for (const watched of [drain, removal])
        await watched.until('an eviction', () => watched.of('terminating').length > 0);
      await own.kill();
      await own.restart();
      expect(await drained.untilEnded(operations[0])).toMatchObject({ state: 'succeeded' });
      expect(await removed.untilEnded(operations[1])).toMatchObject({ state: 'succeeded' });
      for (const [watched, { calls }] of [
        [drain, drainProxy],
        [removal, removeProxy],
      ] as const) {
        expect(countEvictions(calls)).toEqual([1, 1, 1, 1]);
        expect(watched.of('cordoned')).toHaveLength(2);
        expect(watched.fewestReady('web')).toBe(3);
      }
      const [a = '', b = '', c = ''] = drained.nodes.names;
      expect(await Promise.all([a, b, c].map((node) => drained.isCordoned(node)))).toEqual([true, true, false]);
      await removal.until('both deletions', () => removal.of('node-deleted').length === 2);
      const deleted = removal.of('node-deleted').map(({ name }) => name);
      expect(deleted.toSorted()).toEqual(removed.nodes.names.slice(0, 2).toSorted());
    });

    test('kubernetes-18: between-the-deletions-of-two-nodes: the other goes as well, and nothing else', async (context) => {
      const own = await MusterProcess.start();
      const [cluster, proxy] = await start(context, own);
      const [a = '', b = '', c = ''] = cluster.nodes.names;
      const isDeletion = ({ method }: ProxiedCall): boolean => method === 'DELETE';
      let isAlive = true;
      // The second one never reaches the API while this server lives.
      proxy.decide = (call) =>
        isAlive && isDeletion(call) && proxy.calls.filter(isDeletion).length > 1 ? 'cut' : 'pass';
      const watched = await WatchedCluster.start(cluster, context.onTestFinished);
      const operation = await cluster.remove([a, b]);
      await watched.until('the first deletion', () => watched.of('node-deleted').length === 1);
      await own.kill();
      isAlive = false;
      await own.restart();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      await watched.until('both deletions', () => watched.of('node-deleted').length === 2);
      expect(
        watched
          .of('node-deleted')
          .map(({ name }) => name)
          .toSorted(),
      ).toEqual([a, b].toSorted());
      expect(await cluster.isCordoned(c)).toBe(false);
    });
  });
});
