// Nodes of Ironic and the claims on them: reads, and who may act. A claim is an allocation, or the instance on the node where allocations do not
// exist; both carry a mark with the instance and the node's epoch. Ironic knows nothing of managers, so that an epoch after the claim's is not checked.
import { createHash } from 'node:crypto';
import {
  InventoryUnavailable,
  requireRight,
  type InventoryCallOptions,
  type NodeFence,
  type UnsaidField,
} from '../inventory.ts';
import { readMark, type ClaimMark } from './claim-mark.ts';
import { IronicRefusal, type IronicClient } from './ironic-client-driver.ts';
import { readIronicNode, toRecord, type IronicNode } from './ironic-node.ts';

const FIELDS =
  'uuid,name,provision_state,power_state,target_power_state,maintenance,instance_uuid,last_error,properties,extra';

/** Fields of a node that came later: the version that brought each, and what it is here. */
const LATER_FIELDS: readonly (readonly [since: number, field: string, unsaid: UnsaidField])[] = [
  [21, 'resource_class', 'resourceClass'],
  [37, 'traits', 'traits'],
  [50, 'owner', 'owner'],
  [65, 'lessee', 'lessee'],
];

const NOT_FOUND = 404;
const CONFLICT = 409;
const NO_SUCH_NODE = /could not be found/;
/** Another call has the lock of the node; Ironic says so instead of waiting. */
const LOCKED = /is locked by host/;
const LOCK_RETRY_MS = 200;

/** The id that Ironic knows a claim by: an instance has one on each node. */
export function claimUuid({ instance, node }: Pick<NodeFence, 'instance' | 'node'>): string {
  const hex = createHash('sha256').update(`claim of ${node} for ${instance}`).digest('hex');
  const variant = '89ab'[Number.parseInt(hex[16] ?? '0', 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The mark of a claim that we have made: its id follows from the mark. */
export function readOwnMark(
  extra: unknown,
  { node, claim }: { readonly node: string; readonly claim: string },
): ClaimMark | undefined {
  const mark = readMark(extra);
  return mark !== undefined && claimUuid({ instance: mark.instance, node }) === claim ? mark : undefined;
}

export type NodeOwnership = 'ours' | 'free' | 'other' | 'stale';

export class IronicNodes {
  readonly client: IronicClient;

  constructor(client: IronicClient) {
    this.client = client;
  }

  hasAllocations({ signal }: InventoryCallOptions): Promise<boolean> {
    return this.client.hasAllocations(signal);
  }

  async fields({ signal }: InventoryCallOptions): Promise<string> {
    const [, minor] = await this.client.version(signal);
    const later = LATER_FIELDS.filter(([since]) => minor >= since).map(([, field]) => field);
    return [FIELDS, ...later].join(',');
  }

  /** What its version cannot say of a node. */
  async findUnsaid({ signal }: InventoryCallOptions): Promise<readonly UnsaidField[]> {
    const [, minor] = await this.client.version(signal);
    return LATER_FIELDS.filter(([since]) => minor < since).map(([, , unsaid]) => unsaid);
  }

  /** Undefined when Ironic itself says that there is no such node: whatever else answers 404 says nothing of it. */
  async find(node: string, how: InventoryCallOptions): Promise<IronicNode | undefined> {
    const path = `/v1/nodes/${encodeURIComponent(node)}?fields=${await this.fields(how)}`;
    const found = await this.#findOrNone(path, how, NO_SUCH_NODE);
    if (found === undefined) return undefined;
    const read = readIronicNode(found);
    if (read === undefined) throw new InventoryUnavailable('Ironic answered something that is no node');
    return read;
  }

  /** One that must be there: what acts on it had it a moment ago. */
  async get(node: string, how: InventoryCallOptions): Promise<IronicNode> {
    const found = await this.find(node, how);
    if (found === undefined) throw new IronicRefusal(NOT_FOUND, `Ironic has no node ${node} any more.`);
    return found;
  }

  /** Undefined when there is none. */
  async findAllocation(
    uuid: string,
    how: InventoryCallOptions,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const found = await this.#findOrNone(`/v1/allocations/${uuid}`, how);
    return found === undefined ? undefined : toRecord(found);
  }

  /** The mark of the claim that a node has; undefined for one without, or with one of another client. */
  async markOf(node: IronicNode, how: InventoryCallOptions): Promise<ClaimMark | undefined> {
    const { instanceUuid: uuid, uuid: id, extra } = node;
    if (uuid === undefined) return undefined;
    const onNode = readOwnMark(extra, { node: id, claim: uuid });
    if (onNode !== undefined) return onNode;
    if (!(await this.hasAllocations(how))) return undefined;
    return readOwnMark((await this.findAllocation(uuid, how))?.['extra'], { node: id, claim: uuid });
  }

  async ownershipOf(node: IronicNode, fence: NodeFence, how: InventoryCallOptions): Promise<NodeOwnership> {
    if (node.instanceUuid === undefined) return 'free';
    const mark = await this.markOf(node, how);
    // The id alone says whose it is: an allocation that is not there any more ended after the node was read.
    if (mark === undefined && node.instanceUuid === claimUuid(fence)) return 'ours';
    if (mark?.instance !== fence.instance) return 'other';
    return mark.nodeEpoch > fence.nodeEpoch ? 'stale' : 'ours';
  }

  /** Sent again while another call has the node's lock. */
  async sendToNode(
    request: InventoryCallOptions & {
      readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
      readonly path: string;
      readonly body?: object;
    },
  ): Promise<unknown> {
    for (;;) {
      requireRight(request);
      try {
        return await this.client.send(request);
      } catch (error) {
        if (!isLocked(error)) throw error;
        await this.client.sleep(LOCK_RETRY_MS, request.signal);
      }
    }
  }

  async #findOrNone(path: string, { signal }: InventoryCallOptions, saying?: RegExp): Promise<unknown> {
    try {
      return (await this.client.send({ method: 'GET', path, signal })) ?? {};
    } catch (error) {
      if (!isRefusedWith(error, NOT_FOUND)) throw error;
      if (saying !== undefined && !saying.test(error.message))
        throw new InventoryUnavailable(`what answers ${path} at ${this.client.url} is not Ironic`, { cause: error });
      return undefined;
    }
  }
}

function isLocked(error: unknown): error is IronicRefusal {
  return isRefusedWith(error, CONFLICT) && LOCKED.test(error.message);
}

export function isRefusedWith(error: unknown, ...statuses: readonly number[]): error is IronicRefusal {
  return error instanceof IronicRefusal && statuses.includes(error.status);
}
