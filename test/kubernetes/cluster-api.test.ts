// The product's client passes the contract suite of cluster APIs on a real cluster.
import { waitFor } from '../ha/wait-for.ts';
import { describeClusterApi, type ClusterHarness, type WantedPods } from '../../src/kubernetes/cluster-api/contract.ts';
import { ApiClient } from '../../src/kubernetes/runtime.ts';
import { FakeNodes } from './fake-nodes.ts';
import { KubeClient } from './kube-client.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { kubernetesSuite } from './suite.ts';
import { createBudget, createDeployment, untilReady } from './workloads.ts';

const TIMEOUT_MS = 120_000;

kubernetesSuite('the official client', ({ kubeconfig }) => {
  describeClusterApi('on a real cluster', () => startHarness(kubeconfig), TIMEOUT_MS);
});

async function startHarness(kubeconfig: string): Promise<ClusterHarness> {
  const client = KubeClient.of(kubeconfig);
  const nodes = await FakeNodes.start(client, 2);
  const namespace = await createOwnNamespace(client);
  const [first = '', second = ''] = nodes.names;
  const api = new ApiClient(accessOf(kubeconfig));
  return {
    api,
    nodes: [first, second],
    deploy: (pods) => deployPods(client, { namespace, selector: nodes.selector }, pods),
    until: async (what, holds) => {
      await waitFor(what, async () => (await holds()) || undefined);
    },
    close: async () => {
      await client.delete(`/api/v1/namespaces/${namespace}`);
      await nodes.remove();
      client.close();
    },
  };
}

function accessOf(kubeconfig: string): ConstructorParameters<typeof ApiClient>[0] {
  const { endpoint, ca, user } = readKubeconfig(kubeconfig);
  const { token, certificate, key } = user;
  return {
    ...{ name: 'real', endpoint },
    ...(ca !== undefined && { caCertificate: ca }),
    ...(token !== undefined && { credentials: { kind: 'token', token } }),
    ...(certificate !== undefined && key !== undefined && { credentials: { kind: 'certificate', certificate, key } }),
  };
}

let namespaces = 0;

/** Of one test; the harness removes it. */
async function createOwnNamespace(client: KubeClient): Promise<string> {
  const name = `contract-${process.pid}-${(namespaces += 1)}`;
  await client.create('/api/v1/namespaces', { metadata: { name } });
  await waitFor('its service account', () => client.find(`/api/v1/namespaces/${name}/serviceaccounts/default`));
  return name;
}

interface Place {
  readonly namespace: string;
  readonly selector: Readonly<Record<string, string>>;
}

async function deployPods(client: KubeClient, place: Place, pods: WantedPods): Promise<void> {
  const { name, replicas, minAvailable, hasSecondBudget, hasEmptyDir } = pods;
  await createDeployment(client, { ...place, name, replicas, graceSeconds: 1, ...(hasEmptyDir && { hasEmptyDir }) });
  await untilReady(client, place.namespace, replicas);
  if (minAvailable === undefined) return;
  await createBudget(client, { namespace: place.namespace, name, minAvailable });
  if (hasSecondBudget)
    await createBudget(client, { namespace: place.namespace, name: `${name}-2`, app: name, minAvailable });
}
