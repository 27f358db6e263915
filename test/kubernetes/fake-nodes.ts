// The nodes that one test file has for itself in a cluster that it shares with others: pods come to them only by the selector.
import { randomBytes } from 'node:crypto';
import { FakeKubelet } from './fake-kubelet.ts';
import type { KubeClient } from './kube-client.ts';

const GROUP_LABEL = 'muster.test/group';

export class FakeNodes {
  /** For `nodeSelector`, and for who lists these nodes. */
  readonly selector: Readonly<Record<string, string>>;
  readonly #client: KubeClient;
  readonly #group = `fake-${randomBytes(4).toString('hex')}`;
  readonly #kubelets = new Map<string, FakeKubelet>();

  private constructor(client: KubeClient) {
    this.#client = client;
    this.selector = { [GROUP_LABEL]: this.#group };
  }

  static async start(client: KubeClient, count: number): Promise<FakeNodes> {
    const nodes = new FakeNodes(client);
    await Promise.all(Array.from({ length: count }, () => nodes.add()));
    return nodes;
  }

  get names(): readonly string[] {
    return [...this.#kubelets.keys()];
  }

  async add({ providerId }: { readonly providerId?: string } = {}): Promise<FakeKubelet> {
    const name = `${this.#group}-${this.#kubelets.size + 1}`;
    const kubelet = new FakeKubelet({
      client: this.#client,
      name,
      labels: this.selector,
      ...(providerId !== undefined && { providerId }),
    });
    this.#kubelets.set(name, kubelet);
    await kubelet.start();
    return kubelet;
  }

  kubelet(name: string): FakeKubelet {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) throw new Error(`there is no fake node ${name}`);
    return kubelet;
  }

  /** Takes the nodes out of the cluster, and what is left on them. */
  async remove(): Promise<void> {
    await Promise.all([...this.#kubelets.values()].map((kubelet) => kubelet.die()));
    await Promise.all(this.names.map((name) => this.#client.delete(`/api/v1/nodes/${name}`)));
    for (const name of this.names) {
      const pods = `/api/v1/pods?fieldSelector=spec.nodeName=${name}`;
      for (const { metadata } of await this.#client.list(pods)) {
        const path = `/api/v1/namespaces/${metadata.namespace ?? ''}/pods/${metadata.name}`;
        await this.#client.delete(path, { gracePeriodSeconds: 0 });
      }
    }
  }
}
