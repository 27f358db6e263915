// Claims at an Ironic that answers as little as they need: in either version nothing is taken but the node that was requested. What the real one does is
// tried by `npm run test:ironic`.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { IronicInventory } from './inventory-driver.ts';
import { IronicClient } from './ironic-client-driver.ts';
import { claimUuid } from './ironic-nodes-driver.ts';

const NODES = ['node-1', 'node-2', 'node-3'];
const HOW = { signal: new AbortController().signal };

interface Answer {
  readonly status: number;
  readonly body?: object;
}

/** Every node is of one class and free: without candidates, any of them would do. */
class LittleIronic {
  readonly instanceOf = new Map<string, string>();
  readonly #extraOf = new Map<string, unknown>();
  readonly #allocations = new Map<string, { readonly uuid: string; readonly state: string; readonly extra: unknown }>();
  readonly #server: Server;
  url = '';

  constructor(minor: number) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const { pathname } = new URL(request.url ?? '/', 'http://ironic');
        const { status, body } = this.#answer(request.method ?? 'GET', pathname, text === '' ? {} : JSON.parse(text));
        response.writeHead(status, {
          'x-openstack-ironic-api-maximum-version': `1.${minor}`,
          'content-type': 'application/json',
        });
        response.end(body === undefined ? '' : JSON.stringify(body));
      });
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(method: string, path: string, body: unknown): Answer {
    const [, , kind, id = ''] = path.split('/');
    if (path === '/v1/') return { status: 200, body: {} };
    if (kind === 'nodes') return method === 'PATCH' ? this.#patch(id, body as Patch) : this.#showNode(id);
    if (method === 'POST') return this.#allocate(body as AllocationBody);
    const allocation = this.#allocations.get(id);
    return allocation === undefined ? { status: 404, body: {} } : { status: 200, body: allocation };
  }

  #showNode(uuid: string): Answer {
    const instance = this.instanceOf.get(uuid) ?? null;
    const common = { uuid, resource_class: 'baremetal', extra: this.#extraOf.get(uuid) ?? {} };
    return {
      status: 200,
      body: { ...common, provision_state: 'available', power_state: 'power off', instance_uuid: instance },
    };
  }

  #patch(uuid: string, ops: Patch): Answer {
    if (this.instanceOf.has(uuid)) return { status: 409, body: { error_message: `node ${uuid} has an instance` } };
    for (const { path, value } of ops) {
      if (path === '/instance_uuid') this.instanceOf.set(uuid, String(value));
      if (path === '/extra/muster') this.#extraOf.set(uuid, { muster: value });
    }
    return this.#showNode(uuid);
  }

  #allocate({ uuid, candidate_nodes: candidates = NODES, extra }: AllocationBody): Answer {
    const free = candidates.find((node) => !this.instanceOf.has(node));
    const allocation = { uuid, state: free === undefined ? 'error' : 'active', extra };
    this.#allocations.set(uuid, allocation);
    if (free !== undefined) this.instanceOf.set(free, uuid);
    return { status: 201, body: allocation };
  }
}

type Patch = readonly { readonly path: string; readonly value: unknown }[];

interface AllocationBody {
  readonly uuid: string;
  readonly candidate_nodes?: readonly string[];
  readonly extra: unknown;
}

const running: LittleIronic[] = [];

afterEach(() => {
  for (const one of running.splice(0)) one.close();
});

const anyClaims = fc.array(fc.record({ node: fc.constantFrom(...NODES), instance: fc.constantFrom('a', 'b', 'c') }), {
  minLength: 1,
  maxLength: 8,
});

test.each([
  ['allocations', 65, 'endpoint'],
  ['an API without allocations', 46, 'direct'],
] as const)('never: a claim by %s takes a node that was not requested', async (_name, minor, mode) => {
  await fc.assert(
    fc.asyncProperty(anyClaims, async (claims) => {
      const ironic = new LittleIronic(minor);
      running.push(ironic);
      await ironic.listen();
      const client = new IronicClient({ url: ironic.url, steadyMs: () => 0, sleep: async () => undefined });
      const inventory = new IronicInventory(client);
      expect(await inventory.claims(HOW)).toBe(mode);
      const expected = new Map<string, string>();
      for (const [at, claim] of claims.entries()) {
        const owner = expected.get(claim.node);
        const { kind } = await inventory.claim({ ...claim, nodeEpoch: at + 1, traits: [] }, HOW);
        const uuid = claimUuid(claim);
        expect(kind).toBe(owner === undefined ? 'applied' : owner === uuid ? 'already' : 'lost');
        if (owner === undefined) expected.set(claim.node, uuid);
        expect(ironic.instanceOf).toEqual(expected);
      }
      ironic.close();
    }),
    { numRuns: 25 },
  );
});
