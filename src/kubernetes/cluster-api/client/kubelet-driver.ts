// What a kubelet says of itself, said in the place of simulated workers: its Node, that this is Ready, and a Lease that is renewed.
import type { ClusterCallOptions, ClusterNode, NodeRegistration } from '../cluster-api.ts';
import { readAnswer } from './answers.ts';
import type { ClusterConnection } from './connection-driver.ts';
import type { ApiStatus } from './errors.ts';
import { describeNode } from './objects.ts';

const LEASES = 'kube-node-lease';
const LEASE_SECONDS = 40;
const MERGE_PATCH = 'application/strategic-merge-patch+json';

const isConflict = ({ code }: ApiStatus): true | undefined => (code === 409 ? true : undefined);
const isMissing = ({ code }: ApiStatus): true | undefined => (code === 404 ? true : undefined);

export class KubeletStandIn {
  readonly #connection: ClusterConnection;

  constructor(connection: ClusterConnection) {
    this.#connection = connection;
  }

  async heartbeat(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode> {
    const core = this.#connection.group(this.#connection.client.CoreV1Api);
    const { name, providerId } = node;
    const body = {
      metadata: { name, labels: { 'kubernetes.io/hostname': name } },
      spec: { ...(providerId !== undefined && { providerID: providerId }) },
    };
    await this.#connection.attempt(how, (options) => core.createNode({ body }, options), isConflict);
    await this.#renewLease(name, how);
    const now = new Date();
    const conditions = [
      {
        ...{ type: 'Ready', status: 'True', reason: 'SimulatedKubelet', message: 'The worker is simulated' },
        ...{ lastHeartbeatTime: now, lastTransitionTime: now },
      },
    ];
    const status = await this.#connection.call(
      how,
      (options) => core.patchNodeStatus({ name, body: { status: { conditions } } }, options),
      MERGE_PATCH,
    );
    return readAnswer(() => describeNode(status));
  }

  async #renewLease(name: string, how: ClusterCallOptions): Promise<void> {
    const api = this.#connection.group(this.#connection.client.CoordinationV1Api);
    // With microseconds, or it is refused.
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
    const renewed = await this.#connection.attempt(
      how,
      (options) => api.patchNamespacedLease({ name, namespace: LEASES, body: { spec } }, options),
      isMissing,
      MERGE_PATCH,
    );
    if (!('means' in renewed)) return;
    const body = { metadata: { name, namespace: LEASES }, spec };
    await this.#connection.attempt(
      how,
      (options) => api.createNamespacedLease({ namespace: LEASES, body: body as never }, options),
      isConflict,
    );
  }
}
