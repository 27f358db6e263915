// A cluster that a real server has registered, with nodes and a namespace of one test's own, which the server has adopted as workers.
import { randomBytes } from 'node:crypto';
import { waitFor } from '../ha/wait-for.ts';
import { FakeNodes } from './fake-nodes.ts';
import { KubeClient } from './kube-client.ts';
import type { MusterProcess } from './muster-process.ts';
import { getNode, untilNodeIs, type KubeNode } from './nodes.ts';
import {
  createBudget,
  createDeployment,
  createNamespace,
  podsOn,
  untilReady,
  type OnFinished,
  type KubeWorkload,
} from './workloads.ts';

export interface ManagedOptions {
  readonly server: MusterProcess;
  /** Of the cluster's administrator. */
  readonly kubeconfig: string;
  readonly nodes: number;
  readonly onFinished: OnFinished;
  /** The one that Muster is given, where that is another. */
  readonly registered?: string;
}

export interface ReasonSeen {
  readonly code: string;
  readonly [fact: string]: unknown;
}

export interface OperationSeen {
  readonly id: string;
  readonly state: 'running' | 'cancelling' | 'succeeded' | 'failed' | 'cancelled';
  readonly reason?: ReasonSeen;
  readonly deadlineAtMs: number;
  readonly finishedAtMs?: number;
}

export interface ItemSeen {
  readonly target: { readonly id: string };
  readonly state: string;
  readonly step: string;
  readonly reason?: ReasonSeen;
  readonly sentence?: string;
}

export interface WorkerSeen {
  readonly state: string;
  readonly readiness: string;
  readonly nodeUid: string;
  readonly cordon?: object;
  readonly work?: object;
}

export interface DrainPolicyGiven {
  readonly deadlineMs?: number;
  readonly evictBare?: boolean;
  readonly keepEmptyDir?: boolean;
}

export const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

const ENDED = ['succeeded', 'failed', 'cancelled'];

export class ManagedCluster {
  readonly name: string;
  readonly client: KubeClient;
  readonly nodes: FakeNodes;
  readonly namespace: string;
  readonly #server: MusterProcess;

  private constructor(server: MusterProcess, parts: Pick<ManagedCluster, 'name' | 'client' | 'nodes' | 'namespace'>) {
    this.#server = server;
    this.name = parts.name;
    this.client = parts.client;
    this.nodes = parts.nodes;
    this.namespace = parts.namespace;
  }

  static async start(options: ManagedOptions): Promise<ManagedCluster> {
    const { server, kubeconfig, onFinished, registered = kubeconfig } = options;
    const client = KubeClient.of(kubeconfig);
    const nodes = await FakeNodes.start(client, options.nodes);
    onFinished(async () => {
      await nodes.remove();
      client.close();
    });
    const namespace = await createNamespace(client, onFinished);
    await Promise.all(nodes.names.map((name) => untilNodeIs(client, name, 'True')));
    const name = `c-${randomBytes(4).toString('hex')}`;
    const cluster = new ManagedCluster(server, { name, client, nodes, namespace });
    await server.mustSend('POST', '/clusters', { name, kubeconfig: registered });
    await cluster.#adopt();
    return cluster;
  }

  /** Also one whose rights have reached every part of the cluster only by now. */
  async #adopt(): Promise<void> {
    const nodes = this.nodes.names.map((node) => ({ node }));
    await waitFor('the adoption', async () => {
      const { status, body } = await this.#server.send('POST', `/clusters/${this.name}/workers/adopt`, { nodes });
      if (status >= 300 && status !== 503) throw new Error(`adoption: ${JSON.stringify(body)}`);
      return status < 300 || undefined;
    });
  }

  /** Pods that are ready, on whichever of the nodes takes them, and the budget over them. */
  async deploy(
    workload: Partial<KubeWorkload> & {
      readonly name: string;
      readonly replicas: number;
      readonly minAvailable?: number;
    },
  ): Promise<void> {
    const { namespace, client } = this;
    const { minAvailable, ...rest } = workload;
    const before = (await this.readyCount()).length;
    await createDeployment(client, { namespace, selector: this.nodes.selector, ...rest });
    await untilReady(client, namespace, before + workload.replicas);
    if (minAvailable !== undefined) await createBudget(client, { namespace, name: workload.name, minAvailable });
  }

  readyCount(): ReturnType<typeof untilReady> {
    return untilReady(this.client, this.namespace, 0);
  }

  /** Cordons a Node as an operator would, without Muster. */
  async setUnschedulable(node: string, unschedulable: boolean): Promise<void> {
    await this.client.patch(`/api/v1/nodes/${node}`, { spec: { unschedulable: unschedulable || null } });
  }

  /** All pods come to this node: the others take none until that is done. */
  async deployOn(node: string, workload: Parameters<ManagedCluster['deploy']>[0]): Promise<void> {
    const others = this.nodes.names.filter((name) => name !== node);
    for (const other of others) await this.setUnschedulable(other, true);
    await this.deploy(workload);
    for (const other of others) await this.setUnschedulable(other, false);
  }

  drain(workers: readonly string[], policy: DrainPolicyGiven = {}): Promise<string> {
    return this.#begin('drain', { workers, ...policy });
  }

  remove(workers: readonly string[], policy: DrainPolicyGiven = {}): Promise<string> {
    return this.#begin('remove', { workers, ...policy });
  }

  giveBack(workers: readonly string[]): Promise<string> {
    return this.#begin('return', { workers });
  }

  async #begin(verb: 'drain' | 'remove' | 'return', body: object): Promise<string> {
    const path = `/clusters/${this.name}/workers/${verb}`;
    return (await this.#server.mustSend<{ operation: string }>('POST', path, body)).operation;
  }

  async command(operation: string, verb: 'cancel' | 'retry'): Promise<void> {
    await this.#server.mustSend('POST', `/operations/${operation}/${verb}`, {});
  }

  operation(id: string): Promise<OperationSeen> {
    return this.#server.mustSend('GET', `/operations/${id}`);
  }

  async items(operation: string): Promise<readonly ItemSeen[]> {
    const path = `/operations/${operation}/items`;
    return (await this.#server.mustSend<{ items: readonly ItemSeen[] }>('GET', path)).items;
  }

  async itemOf(operation: string, node: string): Promise<ItemSeen> {
    const item = (await this.items(operation)).find(({ target }) => target.id === `${this.name}.${node}`);
    if (item === undefined) throw new Error(`${operation} is not about ${node}`);
    return item;
  }

  /** Until it ended, in whichever way. */
  untilEnded(operation: string): Promise<OperationSeen> {
    return waitFor(`the end of ${operation}`, async () => {
      const seen = await this.operation(operation);
      return ENDED.includes(seen.state) ? seen : undefined;
    });
  }

  untilItem(operation: string, node: string, holds: (item: ItemSeen) => boolean): Promise<ItemSeen> {
    return waitFor(`the item of ${node}`, async () => {
      const item = await this.itemOf(operation, node);
      return holds(item) ? item : undefined;
    });
  }

  untilWaits(operation: string, node: string, code: string): Promise<ItemSeen> {
    return this.untilItem(operation, node, ({ reason }) => reason?.code === code);
  }

  /** Undefined when there is no such worker any more. */
  async worker(node: string): Promise<WorkerSeen | undefined> {
    const { status, body } = await this.#server.send('GET', `/workers/${this.name}.${node}`);
    return status === 404 ? undefined : (body as unknown as WorkerSeen);
  }

  async report(node: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { status, body } = await this.#server.send('GET', `/drain-reports/${this.name}.${node}`);
    return status === 404 ? undefined : body;
  }

  untilPodsOn(node: string, count: number): Promise<unknown> {
    return waitFor(`${count} pods on ${node}`, async () =>
      (await this.podsOn(node)).length >= count ? true : undefined,
    );
  }

  getNode(node: string): Promise<KubeNode> {
    return getNode(this.client, node);
  }

  async isCordoned(node: string): Promise<boolean> {
    return (await this.getNode(node)).spec.unschedulable === true;
  }

  async isExcluded(node: string): Promise<boolean> {
    return (await this.getNode(node)).metadata.labels?.[EXCLUDE_LABEL] !== undefined;
  }

  /** The namespace's own, by name. */
  async podsOn(node: string): Promise<readonly string[]> {
    const pods = await podsOn(this.client, node);
    return pods.filter(({ metadata }) => metadata.namespace === this.namespace).map(({ metadata }) => metadata.name);
  }
}
