// Pods that a drain leaves alone: the mirror of one that a kubelet made from a file, and one that has finished.
import type { KubeClient } from './kube-client.ts';

interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}

export async function createMirrorPod(client: KubeClient, pod: NamedPod & { readonly node: string }): Promise<void> {
  const { namespace, name, node } = pod;
  await client.create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name, annotations: { 'kubernetes.io/config.mirror': 'of-a-file' } },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'example.test/none' }] },
  });
}

/** As when its container has ended by itself. */
export async function endPod(client: KubeClient, { namespace, name }: NamedPod): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }];
  await client.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: { phase: 'Succeeded', conditions },
  });
}
