// Watches of a real cluster, and what a drain makes of them: whatever becomes of its watches, it continues by reading.
import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ApiProxy, type ProxyFate, type ProxiedCall } from './api-proxy.ts';
import { ManagedCluster } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { kubernetesSuite } from './suite.ts';

const isWatch = ({ path }: ProxiedCall): boolean => path.includes('watch=true');
const isOf = (what: 'nodes' | 'pods') => (call: ProxiedCall) =>
  isWatch(call) && call.path.startsWith(`/api/v1/${what}?`);

kubernetesSuite('watches', ({ kubeconfig }) => {
  let server: MusterProcess;
  beforeAll(async () => {
    server = await MusterProcess.start();
  });

  describe.concurrent('a drain', () => {
    test('kubernetes-35: watches the pods of its cluster while it lasts, and its Nodes always', async ({
      onTestFinished,
    }) => {
      const [cluster, proxy] = await start(onTestFinished);
      await waitFor('the watch of Nodes', async () => proxy.calls.some(isOf('nodes')) || undefined);
      expect(proxy.calls.filter(isOf('pods'))).toEqual([]);
      const [a = ''] = cluster.nodes.names;
      await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 1 });
      expect(await cluster.untilEnded(await cluster.drain([a]))).toMatchObject({ state: 'succeeded' });
      expect(proxy.calls.filter(isOf('pods')).map(({ status }) => status)).toEqual([200]);
      expect(proxy.calls.filter(isOf('nodes')).map(({ status }) => status)).toEqual([200]);
    });

    test.each<[string, ProxyFate | 'silent']>([
      ['are-silent', 'silent'],
      ['break', 'cut'],
      ['are-unknown-there', { status: 404 }],
      ['have-always-expired', { status: 410 }],
      ['fail', { status: 500 }],
      ['are-forbidden', { status: 403 }],
    ])('kubernetes-35: whose-watches-%s ends all the same, and they are not begun again and again', async (_, fate) => {
      const finished: (() => Promise<void> | void)[] = [];
      try {
        const [cluster, proxy] = await start((clean) => finished.push(clean));
        if (fate === 'silent') proxy.delay = (call) => (isWatch(call) ? new Promise(() => {}) : Promise.resolve());
        else proxy.decide = (call) => (isWatch(call) ? fate : 'pass');
        const [a = ''] = cluster.nodes.names;
        await cluster.deployOn(a, { name: 'web', replicas: 2, minAvailable: 1 });
        expect(await cluster.untilEnded(await cluster.drain([a]))).toMatchObject({ state: 'succeeded' });
        expect(await cluster.podsOn(a)).toEqual([]);
        expect(proxy.calls.filter(isWatch).length).toBeGreaterThan(0);
        // Of each, seven in two minutes.
        expect(proxy.calls.filter(isWatch).length).toBeLessThan(20);
      } finally {
        for (const clean of finished.toReversed()) await clean();
      }
    });
  });

  async function start(onFinished: (clean: () => Promise<void> | void) => void): Promise<[ManagedCluster, ApiProxy]> {
    const proxy = await ApiProxy.start(kubeconfig);
    onFinished(() => proxy.stop());
    const registered = proxy.kubeconfig;
    return [await ManagedCluster.start({ server, kubeconfig, nodes: 2, registered, onFinished }), proxy];
  }
});
