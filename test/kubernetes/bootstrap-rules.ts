// What `kubeadm init` leaves in a cluster so that nodes can join it by a bootstrap token: the cluster's address and authority, which are public, and
// who may request a node's certificate. A cluster that kubeadm has made has this already.
import type { KubeClient } from './kube-client.ts';
import { kubeconfigOf } from './kubeconfig.ts';

/** The group that kubeadm gives to the tokens by which nodes join. */
export const JOINING_GROUP = 'system:bootstrappers:kubeadm:default-node-token';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface Cluster {
  readonly endpoint: string;
  readonly ca: string;
}

export async function allowJoins(client: KubeClient, { endpoint, ca }: Cluster): Promise<void> {
  const config = kubeconfigOf({ endpoint, ca, user: {} });
  await client.create('/api/v1/namespaces/kube-public/configmaps', {
    metadata: { name: 'cluster-info', namespace: 'kube-public' },
    // The controller manager signs it for every bootstrap token.
    data: { kubeconfig: config },
  });
  const reading = 'kubeadm:bootstrap-signer-clusterinfo';
  await client.create(`${RBAC}/namespaces/kube-public/roles`, {
    metadata: { name: reading, namespace: 'kube-public' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'], verbs: ['get'] }],
  });
  await client.create(`${RBAC}/namespaces/kube-public/rolebindings`, {
    metadata: { name: reading, namespace: 'kube-public' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: reading },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:anonymous' }],
  });
  await bindGroup(client, 'kubeadm:kubelet-bootstrap', 'system:node-bootstrapper');
  await bindGroup(
    client,
    'kubeadm:node-autoapprove-bootstrap',
    'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
  );
}

async function bindGroup(client: KubeClient, name: string, role: string): Promise<void> {
  await client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: JOINING_GROUP }],
  });
}
