// A control plane of its own, and on it twins: two groups of two nodes with the same pods and the same budget, of which one is drained by Muster and the other by
// kubectl. A drain brings all pods from one node of its group to the other, so that the next one goes back.
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FakeNodes } from '../../test/kubernetes/fake-nodes.ts';
import { ensureKubernetes } from '../../test/kubernetes/install.ts';
import { KubeClient } from '../../test/kubernetes/kube-client.ts';
import { startPlane } from '../../test/kubernetes/plane.ts';
import { WatchedCluster } from '../../test/kubernetes/watched-cluster.ts';
import { createBudget, createDeployment, createNamespace, untilReady } from '../../test/kubernetes/workloads.ts';
import { untilNodeIs } from '../../test/kubernetes/nodes.ts';
import type { Skipped } from '../benchmark.ts';
import type { BenchScope } from '../scope.ts';
import { startServer } from '../server-process.ts';

const MUSTER = resolve(import.meta.dirname, '../../bin/muster.js');
const WORKLOAD = 'web';

export interface BenchPlane {
  readonly client: KubeClient;
  readonly kubectl: string;
  /** Of whoever may do everything. */
  readonly kubeconfigFile: string;
  readonly kubeconfig: string;
}

export async function startBenchPlane(scope: BenchScope): Promise<BenchPlane | Skipped> {
  const found = await ensureKubernetes();
  if (found.kind === 'missing') return { skipped: `Kubernetes is missing: ${found.reason}` };
  const plane = await startPlane({ binDir: found.binDir });
  scope.onClose(() => plane.stop());
  const client = KubeClient.of(plane.adminKubeconfig);
  scope.onClose(() => client.close());
  const kubeconfigFile = join(await scope.tempDir(), 'kubeconfig');
  await writeFile(kubeconfigFile, plane.adminKubeconfig, { mode: 0o600 });
  return { client, kubectl: join(found.binDir, 'kubectl'), kubeconfigFile, kubeconfig: plane.adminKubeconfig };
}

/** A server that has the cluster `bench`, its commands, and its API. */
export interface BenchServer {
  muster(...args: readonly string[]): Promise<void>;
  /** What is refused is thrown. */
  send<T>(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<T>;
}

export async function startBenchServer(
  scope: BenchScope,
  { kubeconfigFile }: BenchPlane,
  { hosts }: { readonly hosts?: number } = {},
): Promise<BenchServer> {
  const data = await scope.tempDir();
  const { url } = await startServer(scope, { data, ...(hosts !== undefined && { simulatedHosts: hosts }) });
  const token = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
  const muster = (...args: readonly string[]) =>
    runProgram(process.execPath, [MUSTER, '--server', url, '--data', data, ...args]);
  await muster('clusters', 'add', 'bench', '--kubeconfig', kubeconfigFile);
  return { muster, send: (method, path, body) => sendTo({ url, token }, { method, path, body }) };
}

async function sendTo<T>(
  { url, token }: { readonly url: string; readonly token: string },
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: object | undefined },
): Promise<T> {
  const isJson = body === undefined ? {} : { 'content-type': 'application/json' };
  const answered = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...isJson },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const content = (await answered.json()) as T;
  if (!answered.ok) throw new Error(`${method} ${path}: ${answered.status} ${JSON.stringify(content)}`);
  return content;
}

export interface Wanted {
  readonly pods: number;
  readonly minAvailable: number;
}

export class Twin {
  readonly nodes: FakeNodes;
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #wanted: Wanted;
  readonly #watched: WatchedCluster;
  #from = 0;

  private constructor(parts: {
    client: KubeClient;
    nodes: FakeNodes;
    namespace: string;
    wanted: Wanted;
    watched: WatchedCluster;
  }) {
    this.nodes = parts.nodes;
    this.#client = parts.client;
    this.#namespace = parts.namespace;
    this.#wanted = parts.wanted;
    this.#watched = parts.watched;
  }

  static async start(scope: BenchScope, { client }: BenchPlane, wanted: Wanted): Promise<Twin> {
    const nodes = await FakeNodes.start(client, 2);
    scope.onClose(() => nodes.remove());
    await Promise.all(nodes.names.map((name) => untilNodeIs(client, name, 'True')));
    const namespace = await createNamespace(client, (clean) => scope.onClose(clean));
    const [, second = ''] = nodes.names;
    await client.patch(`/api/v1/nodes/${second}`, { spec: { unschedulable: true } });
    const { pods, minAvailable } = wanted;
    await createDeployment(client, { namespace, name: WORKLOAD, selector: nodes.selector, replicas: pods });
    await untilReady(client, namespace, pods);
    await createBudget(client, { namespace, name: WORKLOAD, minAvailable });
    const place = { client, nodes, namespace };
    const watched = await WatchedCluster.start(place, (clean) => scope.onClose(clean));
    return new Twin({ ...place, wanted, watched });
  }

  /** Milliseconds until the command that drains the node has ended, with no pod left there. */
  async drain(command: (node: string) => Promise<void>): Promise<number> {
    const [from = '', to = ''] = this.#from === 0 ? this.nodes.names : this.nodes.names.toReversed();
    this.#from = 1 - this.#from;
    // Those that are not placed yet would come to the other node.
    const ready = await untilReady(this.#client, this.#namespace, this.#wanted.pods);
    await this.#client.patch(`/api/v1/nodes/${to}`, { spec: { unschedulable: null } });
    if (ready.some(({ spec }) => spec.nodeName !== from)) throw new Error(`not all pods are on ${from}`);
    const beganMs = performance.now();
    await command(from);
    const tookMs = performance.now() - beganMs;
    const pods = await this.#client.list<(typeof ready)[number]>(`/api/v1/namespaces/${this.#namespace}/pods`);
    if (pods.some(({ spec }) => spec.nodeName === from)) throw new Error(`pods are left on ${from}`);
    return tookMs;
  }

  get fewestReady(): number {
    return this.#watched.fewestReady(WORKLOAD);
  }
}

export async function runProgram(file: string, args: readonly string[]): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
}
