// What runs in a test's namespace: deployments on the test's own nodes, budgets, and what an eviction answers.
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import type { KubePod } from './fake-kubelet.ts';
import { type KubeAnswer, type KubeClient, type KubeObject, KubeRefusal } from './kube-client.ts';

/** Of a test: when it has ended. Tests that run beside others have one of their own in their context. */
export type OnFinished = (clean: () => Promise<void>) => void;

/** Removed with all that is in it when the test has ended, which is not waited for. */
export async function createNamespace(client: KubeClient, onFinished: OnFinished = onTestFinished): Promise<string> {
  const name = `test-${randomBytes(4).toString('hex')}`;
  await client.create('/api/v1/namespaces', { metadata: { name } });
  onFinished(async () => {
    await client.delete(`/api/v1/namespaces/${name}`);
  });
  // Without it pods are refused.
  await waitFor(`the service account of ${name}`, () =>
    client.find(`/api/v1/namespaces/${name}/serviceaccounts/default`),
  );
  return name;
}

export interface KubeWorkload {
  readonly namespace: string;
  readonly name: string;
  /** The nodes on which it may run. */
  readonly selector: Readonly<Record<string, string>>;
  readonly graceSeconds?: number;
  readonly hasEmptyDir?: true;
  /** The name of a volume claim. */
  readonly claim?: string;
}

function podTemplate({ name, selector, graceSeconds = 30, hasEmptyDir, claim }: KubeWorkload): object {
  const volumes = [
    ...(hasEmptyDir ? [{ name: 'scratch', emptyDir: {} }] : []),
    ...(claim === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName: claim } }]),
  ];
  return {
    metadata: { labels: { app: name } },
    spec: {
      nodeSelector: selector,
      terminationGracePeriodSeconds: graceSeconds,
      containers: [{ name: 'main', image: 'example.test/none' }],
      ...(volumes.length > 0 && { volumes }),
    },
  };
}

export async function createDeployment(
  client: KubeClient,
  workload: KubeWorkload & { readonly replicas: number },
): Promise<void> {
  const { namespace, name, replicas } = workload;
  await client.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(workload) },
  });
}

export async function createDaemonSet(client: KubeClient, workload: KubeWorkload): Promise<void> {
  const { namespace, name } = workload;
  await client.create(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, template: podTemplate(workload) },
  });
}

/** One that no controller recreates. Tried again while older servers have no token for the new namespace's service account, as controllers do. */
export async function createBarePod(client: KubeClient, workload: KubeWorkload): Promise<void> {
  const { namespace, name } = workload;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await waitFor(`the pod ${name}`, async () => {
    const answer = await client.send('POST', path, { ...podTemplate(workload), metadata: { name } });
    if (answer.status === 201) return true;
    if (answer.status < 500) throw new KubeRefusal(`POST ${path}`, answer);
    return undefined;
  });
}

interface Budget {
  readonly namespace: string;
  readonly name: string;
  /** The workload that it is for; one of its own name when nothing is said. */
  readonly app?: string;
  readonly minAvailable: number;
}

interface DisruptionBudget extends KubeObject {
  readonly status?: { readonly currentHealthy?: number; readonly observedGeneration?: number };
}

/** Returns when the controller has counted the pods: until then no eviction is allowed, or too many are. */
export async function createBudget(client: KubeClient, budget: Budget): Promise<void> {
  const { namespace, name, app = name, minAvailable } = budget;
  const budgets = `/apis/${await budgetVersion(client)}/namespaces/${namespace}/poddisruptionbudgets`;
  await client.create(budgets, { metadata: { name }, spec: { minAvailable, selector: { matchLabels: { app } } } });
  await waitFor(`the budget ${name} to be counted`, async () => {
    const { status } = await client.get<DisruptionBudget>(`${budgets}/${name}`);
    const isCounted = status?.observedGeneration !== undefined && (status.currentHealthy ?? 0) >= minAvailable;
    return isCounted || undefined;
  });
}

/** As an operator who unblocks a drain, or blocks it. */
export async function setMinAvailable(client: KubeClient, budget: Budget): Promise<void> {
  const { namespace, name, minAvailable } = budget;
  const path = `/apis/${await budgetVersion(client)}/namespaces/${namespace}/poddisruptionbudgets/${name}`;
  await client.patch(path, { spec: { minAvailable } }, 'merge');
}

/** Servers before 1.21 have only the older one, and from 1.25 only the newer. */
async function budgetVersion(client: KubeClient): Promise<string> {
  const group = await client.get<{ preferredVersion: { groupVersion: string } }>('/apis/policy');
  return group.preferredVersion.groupVersion;
}

export function podsIn(client: KubeClient, namespace: string): Promise<readonly KubePod[]> {
  return client.list<KubePod>(`/api/v1/namespaces/${namespace}/pods`);
}

export function podsOn(client: KubeClient, node: string): Promise<readonly KubePod[]> {
  return client.list<KubePod>(`/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${node}`)}`);
}

export function isReady({ metadata, status }: KubePod): boolean {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return metadata.deletionTimestamp === undefined && ready?.status === 'True';
}

/** Answers all that are ready when at least so many are. */
export function untilReady(client: KubeClient, namespace: string, count: number): Promise<readonly KubePod[]> {
  return waitFor(`${count} ready pods in ${namespace}`, async () => {
    const ready = (await podsIn(client, namespace)).filter(isReady);
    return ready.length >= count ? ready : undefined;
  });
}

/** Without a version all servers take it: the newer one is unknown before 1.22. */
export function evict(client: KubeClient, { metadata: { name, namespace } }: KubePod): Promise<KubeAnswer> {
  return client.send('POST', `/api/v1/namespaces/${namespace ?? ''}/pods/${name}/eviction`, {
    metadata: { name, namespace },
  });
}
