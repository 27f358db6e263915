// A user who may read and change nothing: for what Muster reports when it may not do what a drain needs.
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { KubeClient } from './kube-client.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import type { OnFinished } from './workloads.ts';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const LOOK_ONLY: readonly Rule[] = [{ apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'list', 'watch'] }];

/** All that a drain needs, and nothing of what limits evictions. */
export const NODES_AND_EVICTIONS: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
];

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** The kubeconfig of a service account with these rights and no others, removed when the test has ended. */
export async function createRestrictedUser(
  kubeconfig: string,
  rules: readonly Rule[] = LOOK_ONLY,
  onFinished: OnFinished = onTestFinished,
): Promise<string> {
  const client = KubeClient.of(kubeconfig);
  const name = `restricted-${randomBytes(4).toString('hex')}`;
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name }];
  await client.create(accounts, { metadata: { name } });
  await client.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await client.create(`${RBAC}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
  onFinished(async () => {
    for (const path of [`${RBAC}/clusterrolebindings`, `${RBAC}/clusterroles`, accounts])
      await client.delete(`${path}/${name}`);
    client.close();
  });
  const { status } = await client.create<{ status: { token: string } }>(`${accounts}/${name}/token`, {
    spec: { expirationSeconds: 3600 },
  });
  return kubeconfigOf({ ...client.access, user: { token: status.token } });
}
