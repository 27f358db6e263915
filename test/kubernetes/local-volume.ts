// A volume that is on one node alone, and the claim that has it.
import type { KubeClient, KubeObject } from './kube-client.ts';
import { waitFor } from '../ha/wait-for.ts';
import type { OnFinished } from './workloads.ts';

interface Place {
  readonly namespace: string;
  readonly node: string;
}

interface Claim extends KubeObject {
  readonly status?: { readonly phase?: string };
}

/** Answers the claim's name. */
export async function createClaimOn(
  client: KubeClient,
  { namespace, node }: Place,
  onFinished: OnFinished,
): Promise<string> {
  const [name, claim] = [`local-${namespace}`, 'data'];
  const size = { storage: '1Gi' };
  const shared = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const values = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }];
  await client.create('/api/v1/persistentvolumes', {
    metadata: { name },
    spec: {
      ...shared,
      capacity: size,
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: '/nowhere' },
      claimRef: { namespace, name: claim },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: values }] } },
    },
  });
  onFinished(async () => {
    await client.delete(`/api/v1/persistentvolumes/${name}`);
  });
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  const spec = { ...shared, volumeName: name, resources: { requests: size } };
  await client.create(claims, { metadata: { name: claim }, spec });
  await waitFor('the claim to be bound', async () => {
    const { status } = await client.get<Claim>(`${claims}/${claim}`);
    return status?.phase === 'Bound' || undefined;
  });
  return claim;
}

/** As the attachment of a storage driver to a node; nothing undoes it but `detach`, or the end of the test. */
export async function attachVolume(
  client: KubeClient,
  node: string,
  onFinished: OnFinished,
): Promise<{ detach(): Promise<void> }> {
  const path = '/apis/storage.k8s.io/v1/volumeattachments';
  const name = `attached-to-${node}`;
  await client.create(path, {
    metadata: { name },
    spec: { attacher: 'example.test', nodeName: node, source: { persistentVolumeName: 'elsewhere' } },
  });
  const detach = async (): Promise<void> => void (await client.delete(`${path}/${name}`));
  onFinished(detach);
  return { detach };
}
