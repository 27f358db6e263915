// Bootstrap tokens: Secrets of kube-system by which a new node may join, for as long as they last.
import type { BootstrapToken, ClusterCallOptions } from '../cluster-api.ts';
import type { ClusterConnection } from './connection-driver.ts';
import type { ApiStatus } from './errors.ts';

const NAMESPACE = 'kube-system';
const GROUP = 'system:bootstrappers:kubeadm:default-node-token';

export class BootstrapTokens {
  readonly #connection: ClusterConnection;

  constructor(connection: ClusterConnection) {
    this.#connection = connection;
  }

  /** One that is there under this id is replaced: it may have expired. */
  async create(token: BootstrapToken, how: ClusterCallOptions): Promise<void> {
    const core = this.#connection.group(this.#connection.client.CoreV1Api);
    const body = composeSecret(token);
    const made = await this.#connection.attempt(
      how,
      (options) => core.createNamespacedSecret({ namespace: NAMESPACE, body }, options),
      ({ code }: ApiStatus) => (code === 409 ? true : undefined),
    );
    if (!('means' in made)) return;
    const { name } = body.metadata;
    await this.#connection.call(how, (options) =>
      core.replaceNamespacedSecret({ namespace: NAMESPACE, name, body }, options),
    );
  }

  async revoke(id: string, how: ClusterCallOptions): Promise<void> {
    const core = this.#connection.group(this.#connection.client.CoreV1Api);
    await this.#connection.attempt(
      how,
      (options) => core.deleteNamespacedSecret({ namespace: NAMESPACE, name: nameOf(id) }, options),
      ({ code }: ApiStatus) => (code === 404 ? true : undefined),
    );
  }
}

function nameOf(id: string): string {
  return `bootstrap-token-${id}`;
}

function composeSecret({ id, secret, expiresAtMs, about }: BootstrapToken) {
  return {
    metadata: { name: nameOf(id), namespace: NAMESPACE },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      ...{ 'token-id': id, 'token-secret': secret, description: about },
      ...{ 'usage-bootstrap-authentication': 'true', 'usage-bootstrap-signing': 'true', 'auth-extra-groups': GROUP },
      expiration: new Date(expiresAtMs).toISOString(),
    },
  };
}
