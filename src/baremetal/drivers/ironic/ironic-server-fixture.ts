// A small Ironic over HTTP, in memory, for tests of its driver: nodes, allocations, versions, lists in pages. It answers as the real one was seen to answer
// (`npm run test:ironic` puts the same suites on that).
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { IronicClient } from './ironic-client-driver.ts';
import { fail, Provisioning, type IronicAnswer, type ProvisionedNode } from './ironic-provisioning-fixture.ts';

export interface ServedNode extends ProvisionedNode {
  readonly uuid: string;
  name: string | null;
  resource_class: string | null;
  traits: string[];
  owner: string | null;
  lessee: string | null;
  properties: Record<string, unknown>;
  updated_at: string | null;
}

interface IronicAllocation {
  readonly uuid: string;
  readonly node_uuid: string | null;
  readonly state: 'active' | 'error';
  readonly last_error: string | null;
  readonly extra: unknown;
  readonly traits: readonly string[];
}

/** `hang` never answers, `cut` ends the connection in the middle of the answer. */
type RequestFate = 'pass' | 'busy' | 'cut' | 'hang';

export class IronicServer {
  /** In the order in which they were made. */
  readonly nodes = new Map<string, ServedNode>();
  readonly allocations = new Map<string, IronicAllocation>();
  /** Method and path of each request. */
  readonly calls: string[] = [];
  decide: (call: string) => RequestFate = () => 'pass';
  /** The newest minor version that it knows. */
  minor = 80;
  /** What it does with machines. */
  readonly provisioning = new Provisioning((allocation) => void this.allocations.delete(allocation));
  /** Called before a node is written: what others do in between. */
  beforeWrite: (node: ServedNode) => void = () => undefined;
  /** Called before a node alone is shown. */
  beforeShown: (node: ServedNode) => void = () => undefined;
  #second = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<IronicServer> {
    const ironic = new IronicServer();
    ironic.#server.listen(0, '127.0.0.1');
    await once(ironic.#server, 'listening');
    onTestFinished(() => ironic.close());
    return ironic;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  client(steadyMs: () => number = () => 0): IronicClient {
    return new IronicClient({ url: this.url, steadyMs, sleep: () => Promise.resolve() });
  }

  add(uuid: string, facts: Partial<ServedNode> = {}): ServedNode {
    const node: ServedNode = {
      uuid,
      ...{
        name: `name-of-${uuid.slice(-2)}`,
        provision_state: 'available',
        power_state: 'power off',
        maintenance: false,
      },
      ...{ instance_uuid: null, resource_class: 'baremetal', traits: [], owner: null, lessee: null },
      properties: { cpus: 8, memory_mb: '16384', local_gb: 100, cpu_arch: 'x86_64' },
      extra: {},
      updated_at: null,
      ...{ target_power_state: null, instance_info: {}, last_error: null },
      ...facts,
    };
    this.nodes.set(uuid, node);
    return node;
  }

  change(uuid: string, facts: Partial<ServedNode>): void {
    this.#second += 1;
    Object.assign(this.nodes.get(uuid) as ServedNode, facts);
    this.#touch(this.nodes.get(uuid) as ServedNode);
  }

  /** Times have seconds and no more: two changes may have the same. */
  #touch(node: ServedNode): void {
    node.updated_at = new Date(this.#second * 1000).toISOString().replace('.000Z', '+00:00');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method = 'GET', url: path = '' } = request;
    const text = Buffer.concat(chunks).toString();
    this.calls.push(`${method} ${path.split('?')[0]}`);
    const fate = this.decide(`${method} ${path}`);
    if (fate === 'hang') return;
    const version = Number(String(request.headers['x-openstack-ironic-api-version'] ?? '1.1').split('.')[1]);
    const body = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
    const { status, body: answered } =
      fate === 'busy'
        ? fail(503, 'no worker is free')
        : path !== '/v1/' && version > this.minor
          ? fail(406, 'this version is not known')
          : this.#answer(method, new URL(path, 'http://x'), { version, body });
    const answer = answered === undefined ? '' : JSON.stringify(answered);
    response.writeHead(status, {
      'content-length': Buffer.byteLength(answer),
      'x-openstack-ironic-api-maximum-version': `1.${this.minor}`,
    });
    if (fate === 'cut') response.write(answer.slice(0, answer.length / 2), () => response.destroy());
    else response.end(answer);
  }

  #answer(
    method: string,
    url: URL,
    { version, body }: { version: number; body: Record<string, unknown> | undefined },
  ): IronicAnswer {
    const [, , kind = '', id, ...rest] = url.pathname.split('/');
    if (kind === '') return { status: 200, body: {} };
    if (kind === 'nodes') {
      // It takes the time of a change for no field, and shows it with everything else.
      if (url.searchParams.get('fields')?.includes('updated_at') === true)
        return fail(400, 'Field updated_at is not a valid field.');
      if (id === undefined || id === 'detail') return this.#listNodes(url, version);
      const node = this.nodes.get(id);
      if (node === undefined) return fail(404, `Node ${id} could not be found.`);
      const asked = this.provisioning.answer(node, { method, path: rest.join('/'), body: body ?? {} });
      if (asked !== undefined) return asked;
      if (method === 'PATCH') return this.#patch(node, body, version);
      this.beforeShown(node);
      const shown = { status: 200, body: shownAs(node, version) };
      this.provisioning.advance(node);
      return shown;
    }
    if (kind !== 'allocations' || version < 52) return fail(404, 'Not found');
    if (method === 'POST') return this.#allocate(body ?? {});
    if (id === undefined) return { status: 200, body: pageOf('allocations', [...this.allocations.values()], url) };
    const allocation = this.allocations.get(id);
    if (allocation === undefined) return fail(404, `Allocation ${id} could not be found.`);
    if (method === 'GET') return { status: 200, body: allocation };
    const node = this.nodes.get(allocation.node_uuid ?? '');
    if (node?.provision_state === 'active' && !node.maintenance)
      return fail(409, `Cannot remove allocation ${id}, because the node is active (and maintenance mode is off)`);
    this.allocations.delete(id);
    if (node !== undefined) this.change(node.uuid, { instance_uuid: null });
    return { status: 204 };
  }

  #listNodes(url: URL, version: number): IronicAnswer {
    let nodes = [...this.nodes.values()];
    if (url.searchParams.get('associated') === 'true') nodes = nodes.filter((node) => node.instance_uuid !== null);
    // As its database sorts: those without a time come last.
    if (url.searchParams.get('sort_key') === 'updated_at')
      nodes.sort((one, other) => ((one.updated_at ?? '') < (other.updated_at ?? '') ? 1 : -1));
    const marker = url.searchParams.get('marker');
    if (marker !== null && !this.nodes.has(marker)) return fail(404, `Node ${marker} could not be found.`);
    return {
      status: 200,
      body: pageOf(
        'nodes',
        nodes.map((node) => ({
          ...shownAs(node, version),
          ...(url.pathname.endsWith('/detail') && { updated_at: node.updated_at }),
        })),
        url,
      ),
    };
  }

  #patch(node: ServedNode, body: unknown, version: number): IronicAnswer {
    this.beforeWrite(node);
    const refused = this.provisioning.denyPatch(node);
    if (refused !== undefined) return refused;
    for (const { op, path, value } of body as readonly { op: string; path: string; value?: unknown }[]) {
      const [, field = '', name = ''] = path.split('/');
      if (field === 'instance_uuid') {
        if (op === 'add' && node.instance_uuid !== null)
          return fail(409, `Node ${node.uuid} is associated with instance ${node.instance_uuid}.`);
        this.change(node.uuid, { instance_uuid: op === 'remove' ? null : String(value) });
      } else if (field === 'instance_info') {
        node.instance_info = value as Record<string, unknown>;
      } else {
        if (op === 'remove' && !Object.hasOwn(node.extra, name))
          return fail(400, `Couldn't apply patch: can't remove a non-existent object '${name}'`);
        const rest = Object.entries(node.extra).filter(([one]) => one !== name);
        node.extra = Object.fromEntries(op === 'remove' ? rest : [...rest, [name, value]]);
      }
    }
    return { status: 200, body: shownAs(node, version) };
  }

  #allocate(body: Record<string, unknown>): IronicAnswer {
    const uuid = String(body['uuid']);
    if (this.allocations.has(uuid)) return fail(409, `An allocation with UUID ${uuid} already exists.`);
    const [candidate] = body['candidate_nodes'] as readonly string[];
    const node = this.nodes.get(candidate ?? '');
    const traits = (body['traits'] ?? []) as readonly string[];
    const isFree =
      node?.provision_state === 'available' &&
      !node.maintenance &&
      node.instance_uuid === null &&
      node.power_state !== null;
    const isTaken = node !== undefined && isFree && traits.every((trait) => node.traits.includes(trait));
    if (isTaken) this.change(node.uuid, { instance_uuid: uuid });
    const allocation: IronicAllocation = {
      ...{ uuid, traits, extra: body['extra'] },
      ...(isTaken
        ? { node_uuid: node.uuid, state: 'active', last_error: null }
        : { node_uuid: null, state: 'error', last_error: 'no candidate is available' }),
    };
    this.allocations.set(uuid, allocation);
    return { status: 201, body: allocation };
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function shownAs(node: ServedNode, version: number): object {
  const { resource_class, traits, owner, lessee, updated_at: _, ...rest } = node;
  return {
    ...rest,
    ...(version >= 21 && { resource_class }),
    ...(version >= 37 && { traits }),
    ...(version >= 50 && { owner }),
    ...(version >= 65 && { lessee }),
  };
}

function pageOf(what: string, items: readonly object[], url: URL): object {
  const marker = url.searchParams.get('marker');
  const limit = Number(url.searchParams.get('limit') ?? 1000);
  const from = marker === null ? 0 : items.findIndex((one) => (one as { uuid: string }).uuid === marker) + 1;
  const next = from + limit < items.length ? { next: 'there is more' } : {};
  return { [what]: items.slice(from, from + limit), ...next };
}
