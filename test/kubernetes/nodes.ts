// What tests read of Nodes.
import { waitFor } from '../ha/wait-for.ts';
import type { KubeClient, KubeObject } from './kube-client.ts';

export interface KubeNode extends KubeObject {
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** `Unknown` when its kubelet has been silent for too long. */
export function readinessOf({ status }: KubeNode): string | undefined {
  return status.conditions?.find(({ type }) => type === 'Ready')?.status;
}

export function getNode(client: KubeClient, name: string): Promise<KubeNode> {
  return client.get<KubeNode>(`/api/v1/nodes/${name}`);
}

export function untilNodeIs(client: KubeClient, name: string, readiness: 'True' | 'Unknown'): Promise<KubeNode> {
  return waitFor(`node ${name} with Ready=${readiness}`, async () => {
    const node = await client.find<KubeNode>(`/api/v1/nodes/${name}`);
    return node !== undefined && readinessOf(node) === readiness ? node : undefined;
  });
}
