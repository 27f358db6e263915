// The cluster that the other suites stand on does what they take from it: nodes, pods, budgets, drains and joins as Kubernetes has them.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ApiProxy } from './api-proxy.ts';
import { type Ending, FakeKubelet } from './fake-kubelet.ts';
import { FakeNodes } from './fake-nodes.ts';
import {
  bootstrapKubelet,
  createBootstrapToken,
  discoverCluster,
  DiscoveryFailure,
  hashOfAuthority,
  isSignedBy,
  revokeBootstrapToken,
} from './joins.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { runKubectl } from './kubectl.ts';
import { getNode, untilNodeIs } from './nodes.ts';
import { createRestrictedUser } from './restricted-user.ts';
import { kubernetesSuite } from './suite.ts';
import {
  createBarePod,
  createBudget,
  createDaemonSet,
  createDeployment,
  createNamespace,
  evict,
  isReady,
  podsIn,
  podsOn,
  untilReady,
  type KubeWorkload,
} from './workloads.ts';

interface Status {
  readonly reason: string;
  readonly details: { readonly causes: readonly { readonly reason: string; readonly message: string }[] };
}

kubernetesSuite('kubernetes', (kubernetes) => {
  const client = KubeClient.of(kubernetes.kubeconfig);
  let nodes: FakeNodes;

  beforeAll(async () => {
    nodes = await FakeNodes.start(client, 3);
  });

  afterAll(async () => {
    await nodes.remove();
    client.close();
  });

  async function deploy(replicas: number): Promise<{ namespace: string; name: string }> {
    const namespace = await createNamespace(client);
    const workload = { namespace, name: 'web', selector: nodes.selector };
    await createDeployment(client, { ...workload, replicas });
    await untilReady(client, namespace, replicas);
    return workload;
  }

  /** A bare one, on a node of its own. */
  async function runPodThat(
    ending: Ending,
    pod: Pick<KubeWorkload, 'namespace' | 'name' | 'graceSeconds'>,
  ): Promise<void> {
    const kubelet = await nodes.add();
    kubelet.ending = ending;
    onTestFinished(() => {
      kubelet.ending = 'at-once';
    });
    await untilNodeIs(client, kubelet.name, 'True');
    await createBarePod(client, { ...pod, selector: { 'kubernetes.io/hostname': kubelet.name } });
  }

  describe('fake nodes', () => {
    test('three-are-ready and run thirty pods of a deployment', async () => {
      await Promise.all(nodes.names.map((name) => untilNodeIs(client, name, 'True')));
      const { namespace } = await deploy(30);
      const pods = await podsIn(client, namespace);
      expect(pods).toHaveLength(30);
      expect(pods.every((pod) => nodes.names.includes(pod.spec.nodeName ?? ''))).toBe(true);
    });

    test('one-that-dies is unreachable, keeps its pods, and comes back', async () => {
      const kubelet = await nodes.add();
      await untilNodeIs(client, kubelet.name, 'True');
      await kubelet.die();
      const { spec } = await untilNodeIs(client, kubelet.name, 'Unknown');
      await waitFor('its taint', async () => {
        const { taints = [] } = (await getNode(client, kubelet.name)).spec;
        return taints.some(({ key }) => key === 'node.kubernetes.io/unreachable') || undefined;
      });
      expect(spec.unschedulable).toBeUndefined();
      await kubelet.start();
      await untilNodeIs(client, kubelet.name, 'True');
    });

    test('a-node-that-is-deleted stays away until its kubelet starts anew', async () => {
      const kubelet = await nodes.add({ providerId: 'muster://1' });
      const { metadata } = await untilNodeIs(client, kubelet.name, 'True');
      await client.delete(`/api/v1/nodes/${kubelet.name}`);
      // Its lease is still renewed.
      const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${kubelet.name}`;
      const renewed = async (): Promise<string | undefined> =>
        (await client.find<{ spec: { renewTime: string } }>(lease))?.spec.renewTime;
      const before = await renewed();
      await waitFor('its next renewal', async () => ((await renewed()) === before ? undefined : true));
      expect(await client.find(`/api/v1/nodes/${kubelet.name}`)).toBeUndefined();
      await kubelet.die();
      await kubelet.start();
      const again = await untilNodeIs(client, kubelet.name, 'True');
      expect(again.spec.providerID).toBe('muster://1');
      expect(again.metadata.uid).not.toBe(metadata.uid);
    });
  });

  describe('evictions', () => {
    test('a-budget refuses with 429, its name and no time to come again', async () => {
      const { namespace, name } = await deploy(3);
      await createBudget(client, { namespace, name, minAvailable: 3 });
      const [pod] = await podsIn(client, namespace);
      const { status, headers, body } = await evict(client, pod!);
      expect(status).toBe(429);
      expect(headers['retry-after']).toBeUndefined();
      const { reason, details } = body as unknown as Status;
      expect(reason).toBe('TooManyRequests');
      expect(details.causes).toEqual([
        expect.objectContaining({
          reason: 'DisruptionBudget',
          message: expect.stringContaining('needs 3 healthy') as string,
        }),
      ]);
    });

    test('one-that-the-budget-allows is accepted, and the pod made anew', async () => {
      const { namespace, name } = await deploy(3);
      await createBudget(client, { namespace, name, minAvailable: 2 });
      const [pod] = await podsIn(client, namespace);
      expect((await evict(client, pod!)).status).toBe(201);
      await waitFor('another pod', async () => {
        const pods = (await podsIn(client, namespace)).filter(isReady);
        return (pods.length === 3 && pods.every(({ metadata }) => metadata.uid !== pod!.metadata.uid)) || undefined;
      });
    });

    test('two-budgets-on-one-pod are refused for good with 500', async () => {
      const { namespace, name } = await deploy(2);
      await createBudget(client, { namespace, name, minAvailable: 1 });
      await createBudget(client, { namespace, name: `${name}-again`, app: name, minAvailable: 1 });
      const [pod] = await podsIn(client, namespace);
      expect((await evict(client, pod!)).status).toBe(500);
    });

    test('pods-end at once, after their whole grace, or never', async () => {
      const namespace = await createNamespace(client);
      const names = async (): Promise<string[]> =>
        (await podsIn(client, namespace)).map(({ metadata }) => metadata.name);
      const isGone = (name: string): Promise<boolean> =>
        waitFor(`the end of ${name}`, async () => !(await names()).includes(name) || undefined);
      await runPodThat('at-once', { namespace, name: 'prompt', graceSeconds: 600 });
      await runPodThat('whole-grace', { namespace, name: 'slow', graceSeconds: 600 });
      await runPodThat('never', { namespace, name: 'stuck', graceSeconds: 1 });
      for (const pod of await untilReady(client, namespace, 3)) expect((await evict(client, pod)).status).toBe(201);
      await isGone('prompt');
      expect(await names()).toEqual(['slow', 'stuck']);
      const terminating = (await podsIn(client, namespace)).every(({ metadata }) => metadata.deletionTimestamp);
      expect(terminating).toBe(true);
      // A grace that is made shorter is kept; it ends after that of the stuck one.
      await client.delete(`/api/v1/namespaces/${namespace}/pods/slow`, { gracePeriodSeconds: 2 });
      await isGone('slow');
      expect(await names()).toEqual(['stuck']);
      await client.delete(`/api/v1/namespaces/${namespace}/pods/stuck`, { gracePeriodSeconds: 0 });
      await isGone('stuck');
    });
  });

  test('kubectl-drain empties a node, within the budget and without its daemons', async () => {
    const { namespace, name } = await deploy(12);
    await createBudget(client, { namespace, name, minAvailable: 10 });
    await createDaemonSet(client, { namespace, name: 'daemon', selector: nodes.selector });
    await untilReady(client, namespace, 12 + nodes.names.length);
    const [node = ''] = nodes.names;
    onTestFinished(async () => {
      await client.patch(`/api/v1/nodes/${node}`, { spec: { unschedulable: null } });
    });
    const drained = await runKubectl(kubernetes, 'drain', node, '--ignore-daemonsets', '--timeout=120s');
    expect(drained).toMatchObject({ code: 0 });
    expect((await getNode(client, node)).spec.unschedulable).toBe(true);
    const left = (await podsOn(client, node)).filter(({ metadata }) => metadata.namespace === namespace);
    expect(left.map(({ metadata }) => metadata.labels?.['app'])).toEqual(['daemon']);
  });

  describe('joins', () => {
    const { endpoint, ca = '' } = readKubeconfig(kubernetes.kubeconfig);

    test('a-bootstrap-token brings a node into the cluster, as itself', async () => {
      const token = await createBootstrapToken(client);
      const cluster = await discoverCluster(endpoint, token, hashOfAuthority(ca));
      const name = `${nodes.names[0]}-joined`;
      const kubelet = new FakeKubelet({ client: KubeClient.of(await bootstrapKubelet(cluster, token, name)), name });
      onTestFinished(async () => {
        await kubelet.die();
        await client.delete(`/api/v1/nodes/${name}`);
      });
      await kubelet.start();
      await untilNodeIs(client, name, 'True');
      expect(await revokeBootstrapToken(client, token)).toBe(true);
      expect(await revokeBootstrapToken(client, token)).toBe(false);
    });

    test('a-node may not change another', async () => {
      const token = await createBootstrapToken(client);
      const cluster = await discoverCluster(endpoint, token, hashOfAuthority(ca));
      const node = KubeClient.of(await bootstrapKubelet(cluster, token, 'somebody'));
      onTestFinished(() => node.close());
      const cordon = { spec: { unschedulable: true } };
      await expect(node.patch(`/api/v1/nodes/${nodes.names[0]}`, cordon)).rejects.toMatchObject({ status: 403 });
    });

    test('a-wrong-pin or a token that another has signed with is no cluster to join', async () => {
      const token = await createBootstrapToken(client);
      const wrong = `sha256:${'0'.repeat(64)}`;
      await expect(discoverCluster(endpoint, token, wrong)).rejects.toThrow(DiscoveryFailure);
      const info = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
      const { data } = await client.get<KubeObject & { data: Record<string, string> }>(info);
      const signature = data[`jws-kubeconfig-${token.id}`] ?? '';
      expect(isSignedBy(token, data['kubeconfig'] ?? '', signature)).toBe(true);
      expect(isSignedBy(token, `${data['kubeconfig']} `, signature)).toBe(false);
      expect(isSignedBy({ ...token, secret: '0'.repeat(16) }, data['kubeconfig'] ?? '', signature)).toBe(false);
    });

    test('an-expired-token opens nothing, and the cluster removes it', async () => {
      const token = await createBootstrapToken(client, -1000);
      const cluster = readKubeconfig(kubernetes.kubeconfig);
      await expect(bootstrapKubelet(cluster, token, 'late')).rejects.toMatchObject({ status: 401 });
      const secret = `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${token.id}`;
      await waitFor('its removal', async () => ((await client.find(secret)) === undefined ? true : undefined));
    });
  });

  test('a-restricted-user may look at nodes, and neither cordon nor evict', async () => {
    const { namespace } = await deploy(1);
    const restricted = KubeClient.of(await createRestrictedUser(kubernetes.kubeconfig));
    onTestFinished(() => restricted.close());
    await waitFor('its rights', async () => {
      const answer = await restricted.send('GET', '/api/v1/nodes');
      return answer.status === 200 || undefined;
    });
    const cordon = { spec: { unschedulable: true } };
    await expect(restricted.patch(`/api/v1/nodes/${nodes.names[0]}`, cordon)).rejects.toMatchObject({ status: 403 });
    const [pod] = await podsIn(client, namespace);
    expect((await evict(restricted, pod!)).status).toBe(403);
  });

  describe('the proxy', () => {
    async function throughProxy(): Promise<{ proxy: ApiProxy; through: KubeClient }> {
      const proxy = await ApiProxy.start(kubernetes.kubeconfig);
      const through = KubeClient.of(proxy.kubeconfig);
      onTestFinished(async () => {
        through.close();
        await proxy.stop();
      });
      return { proxy, through };
    }
    const nodePath = (): string => `/api/v1/nodes/${nodes.names[0]}`;

    test('passes-all on, as the one in whose place it stands', async () => {
      const { proxy, through } = await throughProxy();
      expect((await through.get(nodePath())).metadata.name).toBe(nodes.names[0]);
      const labels = { metadata: { labels: { passed: 'yes' } } };
      expect((await through.patch(nodePath(), labels)).metadata.labels).toMatchObject({ passed: 'yes' });
      expect(proxy.calls.map(({ method, status }) => `${method} ${status}`)).toEqual(['GET 200', 'PATCH 200']);
    });

    test('refuses-callers without its token', async () => {
      const { proxy } = await throughProxy();
      const stranger = new KubeClient({ ...readKubeconfig(proxy.kubeconfig), user: {} });
      onTestFinished(() => stranger.close());
      expect((await stranger.send('GET', nodePath())).status).toBe(401);
    });

    test('is-cut and restored, watches with it', async () => {
      const { proxy, through } = await throughProxy();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { type } of through.watch('/api/v1/nodes', new AbortController().signal)) seen.push(type);
      })();
      await waitFor('the watch', async () => seen.length >= nodes.names.length || undefined);
      proxy.cut();
      await watching.catch(() => {}); // it ends, in which way does not matter
      await expect(through.send('GET', nodePath())).rejects.toThrow();
      await proxy.restore();
      expect((await through.send('GET', nodePath())).status).toBe(200);
    });

    test('falls-silent: a call has no answer until it is restored, and then a broken one', async () => {
      const { proxy, through } = await throughProxy();
      await through.get(nodePath());
      proxy.silence();
      const call = through.send('GET', nodePath()).then(
        () => 'answered',
        () => 'broken',
      );
      await waitFor('the call', async () => proxy.calls.length === 2 || undefined);
      await proxy.restore();
      expect(await call).toBe('broken');
      expect((await through.send('GET', nodePath())).status).toBe(200);
    });

    test('holds-a-call back until it is released', async () => {
      const { proxy, through } = await throughProxy();
      const { promise, resolve } = Promise.withResolvers<undefined>();
      proxy.delay = () => promise;
      const call = through.patch(nodePath(), { metadata: { labels: { held: 'yes' } } });
      await waitFor('the call', async () => proxy.calls.length === 1 || undefined);
      expect((await client.get(nodePath())).metadata.labels).not.toHaveProperty('held');
      resolve(undefined);
      expect((await call).metadata.labels).toHaveProperty('held', 'yes');
    });

    test('answers-in-place of the API, refuses a call before it, and loses an answer after it', async () => {
      const { proxy, through } = await throughProxy();
      const change = (value: string) => ({ metadata: { labels: { changed: value } } });
      const changed = async () => (await client.get(nodePath())).metadata.labels?.['changed'];
      proxy.decide = () => ({ status: 503, headers: { 'retry-after': '1' } });
      const answer = await through.send('GET', nodePath());
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
      proxy.decide = () => 'cut';
      await expect(through.patch(nodePath(), change('before'))).rejects.toThrow();
      expect(await changed()).toBeUndefined();
      proxy.decide = ({ method }) => (method === 'PATCH' ? 'lose-answer' : 'pass');
      await expect(through.patch(nodePath(), change('after'))).rejects.toThrow();
      expect(await changed()).toBe('after');
    });
  });
});
