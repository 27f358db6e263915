// An inventory outside the journal, in memory, that checks epochs: with answers that can be held back, lost, or given by others first.
import {
  InventoryUnavailable,
  type CallOptions,
  type ClaimOutcome,
  type ClaimRequest,
  type Inventory,
  type InventoryNode,
  type InventoryPage,
  type NodeFence,
} from '../drivers/inventory.ts';

interface ClaimedNode {
  epoch: number;
  instance: string | undefined;
}

/** `unreachable`: nothing happens; `answer-lost`: it is carried out. */
export type InventoryFault = 'unreachable' | 'answer-lost' | { readonly busyMs: number };

export class FakeInventory implements Inventory {
  readonly name = 'simulated';
  readonly nodes = new Map<string, ClaimedNode>();
  readonly calls: (NodeFence & { readonly op: 'claim' | 'unclaim'; readonly answer: ClaimOutcome['kind'] })[] = [];
  /** Of the next calls, one each. */
  readonly faults: (InventoryFault | undefined)[] = [];
  mode: Awaited<ReturnType<Inventory['claims']>> = 'asked';
  isAway = false;
  /** Of all calls, for as long as it stands. */
  standing: InventoryFault | undefined;

  constructor(ids: readonly string[] = []) {
    for (const id of ids) this.nodes.set(id, { epoch: 0, instance: undefined });
  }

  /** Another client of the inventory claims it. */
  take(id: string, by = 'somebody'): void {
    this.#nodeOf(id).instance = by;
  }

  holderOf(id: string): string | undefined {
    return this.nodes.get(id)?.instance;
  }

  claimedBy(instance: string): string[] {
    return [...this.nodes].filter(([, node]) => node.instance === instance).map(([id]) => id);
  }

  async claims(): Promise<'inline' | 'asked' | 'direct'> {
    return this.mode;
  }

  async list(after: string | undefined, limit: number, _how: CallOptions): Promise<InventoryPage> {
    this.#demandReachable();
    const ids = [...this.nodes.keys()].sort().filter((id) => after === undefined || id > after);
    const next = ids[limit - 1];
    const nodes = ids.slice(0, limit).map((id) => this.#describe(id));
    return { nodes, ...(ids.length > limit && next !== undefined && { next }) };
  }

  async find(node: string, _how: CallOptions): Promise<InventoryNode | 'gone'> {
    this.#demandReachable();
    return this.nodes.has(node) ? this.#describe(node) : 'gone';
  }

  async claim({ node, nodeEpoch, instance }: ClaimRequest, _how: CallOptions): Promise<ClaimOutcome> {
    return this.#call('claim', { node, nodeEpoch, instance }, (claimed) => {
      if (claimed.instance === instance) return { kind: 'already' };
      if (claimed.instance !== undefined) return { kind: 'lost', reason: { code: 'claimed-by-other', node } };
      Object.assign(claimed, { epoch: nodeEpoch, instance });
      return { kind: 'applied' };
    });
  }

  async unclaim(fence: NodeFence, _how: CallOptions): Promise<ClaimOutcome> {
    return this.#call('unclaim', fence, (claimed) => {
      claimed.epoch = fence.nodeEpoch;
      if (claimed.instance !== fence.instance) return { kind: 'already' };
      claimed.instance = undefined;
      return { kind: 'applied' };
    });
  }

  #call(op: 'claim' | 'unclaim', fence: NodeFence, carryOut: (claimed: ClaimedNode) => ClaimOutcome): ClaimOutcome {
    const fault = this.isAway ? 'unreachable' : (this.standing ?? this.faults.shift());
    const node = this.#nodeOf(fence.node);
    const isCarriedOut = fault === undefined || fault === 'answer-lost';
    const outcome: ClaimOutcome = !isCarriedOut
      ? unanswered(fault)
      : fence.nodeEpoch < node.epoch
        ? { kind: 'stale' }
        : carryOut(node);
    const answer = fault === 'answer-lost' ? unanswered(fault) : outcome;
    this.calls.push({ ...fence, op, answer: answer.kind });
    return answer;
  }

  #nodeOf(id: string): ClaimedNode {
    let node = this.nodes.get(id);
    if (node === undefined) this.nodes.set(id, (node = { epoch: 0, instance: undefined }));
    return node;
  }

  #demandReachable(): void {
    if (this.isAway) throw new InventoryUnavailable('away, as it was armed');
  }

  #describe(id: string): InventoryNode {
    const { instance } = this.#nodeOf(id);
    return {
      id,
      traits: [],
      ...{ memoryMiB: 1, cpus: 1, localGiB: 1, power: 'off', isInMaintenance: false },
      isAvailable: instance === undefined,
      ...(instance !== undefined && { instance }),
    };
  }
}

function unanswered(fault: InventoryFault): ClaimOutcome {
  const reason = { code: 'inventory-unreachable', inventory: 'simulated' };
  return typeof fault === 'object'
    ? { kind: 'failed', reason: { ...reason, code: 'inventory-busy' }, retryAfterMs: fault.busyMs }
    : { kind: 'failed', reason };
}
