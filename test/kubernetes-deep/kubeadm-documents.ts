// What `kubeadm init` leaves in a cluster for the kubeadm of a worker: the settings of the cluster and of its kubelets, and who may read them.
import { stringify } from 'yaml';
import { JOINING_GROUP } from '../kubernetes/bootstrap-rules.ts';
import type { KubeClient } from '../kubernetes/kube-client.ts';

const SYSTEM = '/api/v1/namespaces/kube-system/configmaps';
const ANYWHERE = '/apis/rbac.authorization.k8s.io/v1';
const RBAC = `${ANYWHERE}/namespaces/kube-system`;

export async function createKubeadmDocuments(client: KubeClient, endpoint: string): Promise<void> {
  const cluster = {
    ...{ apiVersion: 'kubeadm.k8s.io/v1beta2', kind: 'ClusterConfiguration', kubernetesVersion: 'v1.20.2' },
    controlPlaneEndpoint: new URL(endpoint).host,
    networking: { serviceSubnet: '10.96.0.0/16', dnsDomain: 'cluster.local' },
  };
  const status = { apiVersion: 'kubeadm.k8s.io/v1beta2', kind: 'ClusterStatus', apiEndpoints: {} };
  const kubelet = {
    ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', cgroupDriver: 'cgroupfs' },
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' } },
    ...{ clusterDomain: 'cluster.local', resolvConf: '/run/resolv.conf', rotateCertificates: true },
    // The machine is one of many things here: its memory and disk are not the worker's to judge.
    evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    ...{
      enforceNodeAllocatable: [],
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      imageGCHighThresholdPercent: 100,
    },
    nodeStatusUpdateFrequency: '2s',
  };
  await createReadable(client, 'kubeadm-config', {
    ClusterConfiguration: stringify(cluster),
    ClusterStatus: stringify(status),
  });
  await createReadable(client, 'kubelet-config-1.20', { kubelet: stringify(kubelet) });
  await allowNodeLooks(client);
}

/** Whether a Node of its name is there already. */
async function allowNodeLooks(client: KubeClient): Promise<void> {
  const name = 'kubeadm:get-nodes';
  await client.create(`${ANYWHERE}/clusterroles`, {
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
  });
  await client.create(`${ANYWHERE}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: JOINING_GROUP }],
  });
}

async function createReadable(client: KubeClient, name: string, data: Readonly<Record<string, string>>): Promise<void> {
  await client.create(SYSTEM, { metadata: { name, namespace: 'kube-system' }, data });
  const role = `kubeadm:${name}`;
  await client.create(`${RBAC}/roles`, {
    metadata: { name: role, namespace: 'kube-system' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }],
  });
  await client.create(`${RBAC}/rolebindings`, {
    metadata: { name: role, namespace: 'kube-system' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
    subjects: [JOINING_GROUP, 'system:nodes'].map((group) => ({
      ...{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group },
    })),
  });
}
