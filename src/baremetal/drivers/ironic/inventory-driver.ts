// The inventory port on Ironic. A claim names the chosen node as its only candidate, so that Ironic settles races and nothing else is taken. Without
// the endpoint for allocations the instance is written on the node itself, which Ironic refuses where another one is: a claim is never widened.
import {
  InventoryUnavailable,
  type InventoryCallOptions,
  type ChangesPage,
  type ChangesRequest,
  type ClaimOutcome,
  type ClaimRequest,
  type ClaimsPage,
  type Inventory,
  type InventoryClaim,
  type InventoryNode,
  type InventoryPage,
  type NodeFence,
} from '../inventory.ts';
import { shortenText } from '../../../operations/index.ts';
import { composeMark } from './claim-mark.ts';
import type { IronicClient } from './ironic-client-driver.ts';
import { isClaimable, readIronicNode, toInventoryNode, toRecord, type IronicNode } from './ironic-node.ts';
import { claimUuid, IronicNodes, isRefusedWith, readOwnMark } from './ironic-nodes-driver.ts';

const LOOK_EVERY_MS = 100;
/** Busy: its workers are all in use. */
const BUSY_RETRY_MS = 1000;
/** Of what it says, as it is shown with what waits for it. */
const TEXT_MAX = 300;

export class IronicInventory implements Inventory {
  readonly name = 'ironic';
  readonly #client: IronicClient;
  readonly #nodes: IronicNodes;

  constructor(client: IronicClient) {
    this.#client = client;
    this.#nodes = new IronicNodes(client);
  }

  async claims(
    { signal }: InventoryCallOptions = { signal: AbortSignal.timeout(30_000) },
  ): Promise<'endpoint' | 'direct'> {
    return (await this.#nodes.hasAllocations({ signal })) ? 'endpoint' : 'direct';
  }

  async list(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<InventoryPage> {
    const { nodes, next } = await this.#readNodes({ sort_key: 'id' }, { after, limit }, how);
    return { nodes: await this.#describeAll(nodes, how), ...(next !== undefined && { next }) };
  }

  /**
   * By the time at which Ironic wrote them last, the newest first, down to those of the second in which the last read ended: its times have no more
   * than seconds, and are shown only with all the rest of a node. Traits are written beside a node and do not show; nodes that were never written have no such time.
   */
  async listChanges({ since, after, limit }: ChangesRequest, how: InventoryCallOptions): Promise<ChangesPage> {
    const page = { after, limit: since === undefined ? 1 : limit };
    const order = { sort_key: 'updated_at', sort_dir: 'desc' };
    const { items, next } = await this.#readPage('nodes/detail', order, page, how);
    const nodes = items.map(readListedNode);
    const upTo = nodes[0]?.updatedAt ?? since ?? '';
    if (since === undefined) return { nodes: [], upTo };
    const changed = nodes.filter(({ updatedAt }) => updatedAt !== undefined && updatedAt >= since);
    const hasMore = next !== undefined && changed.length === nodes.length;
    return { nodes: await this.#describeAll(changed, how), upTo, ...(hasMore && { next }) };
  }

  /** Those that stand on nodes were made before Ironic had allocations. */
  async listClaims(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<ClaimsPage> {
    const [, kind, marker] = /^([an]):(.*)$/.exec(after ?? 'a:') ?? [];
    const page = { after: marker === '' ? undefined : marker, limit };
    if (kind === 'a' && (await this.#nodes.hasAllocations(how))) return this.#listAllocations(page, how);
    const { nodes, next } = await this.#readNodes({ sort_key: 'id', associated: 'true' }, page, how);
    const claims = nodes.flatMap(({ uuid: node, instanceUuid: claim, extra }): InventoryClaim[] => {
      const mark = claim === undefined ? undefined : readOwnMark(extra, { node, claim });
      return mark === undefined ? [] : [{ node, instance: mark.instance }];
    });
    return { claims, ...(next !== undefined && { next: `n:${next}` }) };
  }

  async #listAllocations(page: PageRequest, how: InventoryCallOptions): Promise<ClaimsPage> {
    const query = { sort_key: 'id', fields: 'uuid,node_uuid,extra' };
    const { items, next } = await this.#readPage('allocations', query, page, how);
    const claims = items.flatMap((one): InventoryClaim[] => {
      const { uuid: claim, node_uuid: node, extra } = toRecord(one);
      if (typeof claim !== 'string' || typeof node !== 'string') return [];
      const mark = readOwnMark(extra, { node, claim });
      return mark === undefined ? [] : [{ node, instance: mark.instance }];
    });
    return { claims, next: next === undefined ? 'n:' : `a:${next}` };
  }

  claimIdOf(claim: InventoryClaim): string {
    return claimUuid(claim);
  }

  async #readNodes(
    query: Readonly<Record<string, string>>,
    page: PageRequest,
    how: InventoryCallOptions,
  ): Promise<{ readonly nodes: readonly IronicNode[]; readonly next: string | undefined }> {
    const fields = await read(() => this.#nodes.fields(how));
    const { items, next } = await this.#readPage('nodes', { ...query, fields }, page, how);
    return { nodes: items.map(readListedNode), next };
  }

  async #readPage(
    what: 'nodes' | 'nodes/detail' | 'allocations',
    query: Readonly<Record<string, string>>,
    { after, limit }: PageRequest,
    how: InventoryCallOptions,
  ): Promise<{ readonly items: readonly unknown[]; readonly next: string | undefined }> {
    const marker = after === undefined ? {} : { marker: after };
    const text = new URLSearchParams({ limit: String(limit), ...marker, ...query }).toString();
    const path = `/v1/${what}?${text}`;
    const answer = toRecord(await read(() => this.#client.send({ method: 'GET', path, ...how })));
    const items = answer[what === 'allocations' ? what : 'nodes'];
    if (!Array.isArray(items)) throw new InventoryUnavailable(`Ironic answered a list without ${what}`);
    const last = toRecord(items.at(-1))['uuid'];
    const hasMore = typeof answer['next'] === 'string' && typeof last === 'string';
    return { items, next: hasMore ? last : undefined };
  }

  async #describeAll(nodes: readonly IronicNode[], how: InventoryCallOptions): Promise<InventoryNode[]> {
    const unsaid = await this.#nodes.findUnsaid(how);
    return nodes.map((node) => toInventoryNode(node, { unsaid }));
  }

  async find(node: string, how: InventoryCallOptions): Promise<InventoryNode | 'gone'> {
    const found = await read(() => this.#nodes.find(node, how));
    if (found === undefined) return 'gone';
    const mark = await read(() => this.#nodes.markOf(found, how));
    const unsaid = await this.#nodes.findUnsaid(how);
    return toInventoryNode(found, { instance: mark?.instance, unsaid });
  }

  async claim(request: ClaimRequest, how: InventoryCallOptions): Promise<ClaimOutcome> {
    return settle(request, async () => {
      const node = await this.#nodes.find(request.node, how);
      if (node === undefined) return toLostOutcome(request, 'is not there any more');
      switch (await this.#nodes.ownershipOf(node, request, how)) {
        case 'ours':
          return { kind: 'already' };
        case 'stale':
          return { kind: 'stale' };
        case 'other':
          return toLostOutcome(request, 'has another instance');
        case 'free':
          return (await this.#nodes.hasAllocations(how))
            ? this.#allocate(request, node, how)
            : this.#writeOnNode(request, node, how);
      }
    });
  }

  async #allocate(request: ClaimRequest, node: IronicNode, how: InventoryCallOptions): Promise<ClaimOutcome> {
    const uuid = claimUuid(request);
    if (node.resourceClass === undefined)
      return toLostOutcome(request, 'has no resource class, without which Ironic allocates nothing');
    const body = {
      uuid,
      resource_class: node.resourceClass,
      candidate_nodes: [request.node],
      ...(request.traits.length > 0 && { traits: request.traits }),
      extra: composeMark(request),
    };
    try {
      await this.#client.send({ method: 'POST', path: '/v1/allocations', body, ...how });
    } catch (error) {
      // An earlier try of the same claim made it; it may have failed since.
      if (!isRefusedWith(error, 409)) throw error;
    }
    return this.#awaitAllocation(request, uuid, how);
  }

  async #awaitAllocation(request: ClaimRequest, uuid: string, how: InventoryCallOptions): Promise<ClaimOutcome> {
    for (;;) {
      const allocation = await this.#nodes.findAllocation(uuid, how);
      switch (allocation?.['state']) {
        case 'active':
          return { kind: 'applied' };
        case 'error': {
          const why = allocation['last_error'];
          await this.#removeAllocation(uuid, how);
          return toLostOutcome(request, typeof why === 'string' ? why : 'was not allocated');
        }
        case undefined:
          return toLostOutcome(request, 'lost its allocation');
        default:
          await this.#client.sleep(LOOK_EVERY_MS, how.signal);
          how.signal.throwIfAborted();
      }
    }
  }

  /** Ironic checks nothing here but that no other instance is there: what an allocation would require is compared before, and after. */
  async #writeOnNode(request: ClaimRequest, node: IronicNode, how: InventoryCallOptions): Promise<ClaimOutcome> {
    const denied = denyDirect(node, request) ?? (isClaimable(node) ? undefined : 'is not available');
    if (denied !== undefined) return toLostOutcome(request, denied);
    const mark = composeMark(request);
    const body = [
      { op: 'add', path: '/instance_uuid', value: claimUuid(request) },
      ...Object.entries(mark).map(([field, value]) => ({ op: 'add', path: `/extra/${field}`, value })),
    ];
    const path = `/v1/nodes/${request.node}`;
    try {
      const written = readIronicNode(await this.#nodes.sendToNode({ method: 'PATCH', path, body, ...how }));
      if (written === undefined) throw new InventoryUnavailable('Ironic answered something that is no node');
      if (isClaimable({ ...written, instanceUuid: undefined })) return { kind: 'applied' };
    } catch (error) {
      if (isRefusedWith(error, 409)) return toLostOutcome(request, error.message);
      throw error;
    }
    await this.#removeFromNode(request.node, how);
    return toLostOutcome(request, 'was taken out of service in the meantime');
  }

  async unclaim(fence: NodeFence, how: InventoryCallOptions): Promise<ClaimOutcome> {
    return settle(fence, async () => {
      const node = await this.#nodes.find(fence.node, how);
      if (node === undefined) return { kind: 'already' };
      const ownership = await this.#nodes.ownershipOf(node, fence, how);
      if (ownership === 'free') return this.#dropFailedAllocation(fence, how);
      if (ownership !== 'ours') return { kind: 'stale' };
      const uuid = claimUuid(fence);
      const hasAllocation =
        (await this.#nodes.hasAllocations(how)) && (await this.#nodes.findAllocation(uuid, how)) !== undefined;
      await (hasAllocation ? this.#removeAllocation(uuid, how) : this.#removeFromNode(fence.node, how));
      return { kind: 'applied' };
    });
  }

  /** One that never got its node would keep its id from being used again. */
  async #dropFailedAllocation(fence: NodeFence, how: InventoryCallOptions): Promise<ClaimOutcome> {
    if (await this.#nodes.hasAllocations(how)) await this.#removeAllocation(claimUuid(fence), how);
    return { kind: 'already' };
  }

  async #removeAllocation(uuid: string, how: InventoryCallOptions): Promise<void> {
    try {
      await this.#nodes.sendToNode({ method: 'DELETE', path: `/v1/allocations/${uuid}`, ...how });
    } catch (error) {
      if (!isRefusedWith(error, 404)) throw error;
    }
  }

  async #removeFromNode(node: string, how: InventoryCallOptions): Promise<void> {
    const body = [
      { op: 'remove', path: '/instance_uuid' },
      { op: 'remove', path: '/extra/muster' },
    ];
    await this.#nodes.sendToNode({ method: 'PATCH', path: `/v1/nodes/${node}`, body, ...how });
  }
}

/** Why a node does not match the request; the endpoint for allocations would say so. */
function denyDirect({ power, traits }: IronicNode, request: ClaimRequest): string | undefined {
  if (power === 'unknown') return 'has no known power state';
  const missing = request.traits.find((trait) => !traits.includes(trait));
  return missing === undefined ? undefined : `does not have trait ${missing}`;
}

function readListedNode(one: unknown): IronicNode {
  const node = readIronicNode(one);
  if (node === undefined) throw new InventoryUnavailable('Ironic listed something that is no node');
  return node;
}

interface PageRequest {
  readonly after: string | undefined;
  readonly limit: number;
}

function toLostOutcome({ node, instance }: NodeFence, why: string): ClaimOutcome {
  return { kind: 'lost', reason: { code: 'claimed-by-other', node, instance, text: why } };
}

/** A call without an answer may have taken effect: the claim is repeated, and finds what it has. */
async function settle({ node }: NodeFence, run: () => Promise<ClaimOutcome>): Promise<ClaimOutcome> {
  try {
    return await run();
  } catch (error) {
    const facts = { inventory: 'ironic', node, text: shortenText((error as Error).message, TEXT_MAX) };
    if (error instanceof InventoryUnavailable)
      return { kind: 'failed', reason: { code: 'inventory-unreachable', ...facts }, retryAfterMs: BUSY_RETRY_MS };
    if (isRefusedWith(error, 400, 403, 404, 406, 409))
      return { kind: 'failed', reason: { code: 'inventory-refused', ...facts } };
    throw error;
  }
}

/** A list or a look that is refused says nothing of the nodes. */
async function read<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isRefusedWith(error, 400, 403, 404, 406, 409))
      throw new InventoryUnavailable(`Ironic refuses it (${error.status}): ${error.message}`, { cause: error });
    throw error;
  }
}
