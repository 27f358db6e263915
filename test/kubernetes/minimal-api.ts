// The least that a cluster may offer: nodes, pods and evictions over plain HTTP, with no more fields than those need. Everything else is 404, in a page that is no
// object of Kubernetes. Nothing of Kubernetes runs behind it.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface MinimalPod {
  readonly name: string;
  readonly node: string;
  /** What its eviction answers before it is accepted, one after the other. */
  readonly refusals?: number[];
}

interface MinimalNode {
  readonly metadata: { readonly name: string; readonly uid: string; labels?: Record<string, string | null> };
  spec: Readonly<Record<string, unknown>>;
  readonly status: object;
}

interface Patch {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string | null>> };
  readonly spec?: Readonly<Record<string, unknown>>;
}

const NAMESPACE = 'apps';

export class MinimalApi {
  readonly url: string;
  /** Method and path of each call that was answered with 404. */
  readonly unknown: string[] = [];
  /** Method and path of each that changed something. */
  readonly changes: string[] = [];
  /** The bodies of evictions that were accepted. */
  readonly evictions: object[] = [];
  /** What callers have proved themselves by. */
  readonly tokens = new Set<string>();
  readonly #nodes = new Map<string, MinimalNode>();
  readonly #pods = new Map<string, MinimalPod>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async start(nodes: readonly string[], pods: readonly MinimalPod[]): Promise<MinimalApi> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const api = new MinimalApi(server);
    for (const name of nodes) {
      const status = { conditions: [{ type: 'Ready', status: 'True' }] };
      api.#nodes.set(name, { metadata: { name, uid: `uid-of-${name}` }, spec: {}, status });
    }
    for (const pod of pods) api.#pods.set(pod.name, pod);
    return api;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** As whoever has a node become one of the control plane. */
  label(name: string, label: string): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) node.metadata.labels = { ...node.metadata.labels, [label]: '' };
  }

  nodeSpec(name: string): object | undefined {
    return this.#nodes.get(name)?.spec;
  }

  get pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const { pathname, searchParams } = new URL(url, this.url);
    const body = await text(request);
    this.tokens.add((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    const found = this.#answer(`${method} ${pathname}`, searchParams, body === '' ? {} : (JSON.parse(body) as object));
    if (method !== 'GET' && found?.status !== undefined && found.status < 300)
      this.changes.push(`${method} ${pathname}`);
    if (found === undefined) {
      this.unknown.push(`${method} ${pathname}`);
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>');
      return;
    }
    response.writeHead(found.status, { 'content-type': 'application/json' }).end(JSON.stringify(found.body));
  }

  #answer(call: string, query: URLSearchParams, body: object): MinimalAnswer | undefined {
    if (call === 'GET /api/v1/nodes') return { status: 200, body: { items: [...this.#nodes.values()] } };
    if (call === 'GET /api/v1/pods') return { status: 200, body: { items: this.#podsOn(query.get('fieldSelector')) } };
    const node = /^(?<method>GET|PATCH|DELETE) \/api\/v1\/nodes\/(?<name>[^/]+)$/.exec(call)?.groups;
    if (node !== undefined) return this.#answerOfNode(node['method'] ?? '', node['name'] ?? '', body);
    const evicted = /^POST \/api\/v1\/namespaces\/apps\/pods\/(?<name>[^/]+)\/eviction$/.exec(call)?.groups?.['name'];
    return evicted === undefined ? undefined : this.#evict(evicted, body);
  }

  #podsOn(selector: string | null): object[] {
    return [...this.#pods.values()]
      .filter(({ node }) => selector === `spec.nodeName=${node}`)
      .map(({ name, node }) => ({
        metadata: {
          ...{ name, namespace: NAMESPACE, uid: `uid-of-${name}` },
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }],
        },
        spec: { nodeName: node },
        status: { phase: 'Running' },
      }));
  }

  #answerOfNode(method: string, name: string, patch: Patch): MinimalAnswer {
    const node = this.#nodes.get(name);
    if (node === undefined) return { status: 404, body: { code: 404, message: `nodes "${name}" not found` } };
    if (method === 'DELETE') this.#nodes.delete(name);
    if (method === 'PATCH') {
      node.metadata.labels = { ...node.metadata.labels, ...patch.metadata?.labels };
      node.spec = { ...node.spec, ...patch.spec };
    }
    return { status: 200, body: node };
  }

  #evict(name: string, body: object): MinimalAnswer {
    const pod = this.#pods.get(name);
    if (pod === undefined) return { status: 404, body: { code: 404, message: 'no such pod' } };
    const refused = pod.refusals?.shift();
    if (refused !== undefined) return { status: refused, body: refusalOf(refused) };
    this.#pods.delete(name);
    this.evictions.push(body);
    return { status: 201, body: {} };
  }
}

interface MinimalAnswer {
  readonly status: number;
  readonly body: object;
}

function refusalOf(code: number): object {
  const message =
    code === 429
      ? "Cannot evict pod as it would violate the pod's disruption budget."
      : 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message };
}
