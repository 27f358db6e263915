// An inventory outside the journal, in memory, that checks epochs: with answers that can be held back, lost, or given by others first.
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
} from '../drivers/inventory.ts';
import type { InventoryName } from '../model.ts';

interface ClaimedNode {
  epoch: number;
  instance: string | undefined;
  /** What is said of it beside that; as an ordinary machine otherwise. */
  facts?: Partial<InventoryNode>;
  /** When it changed last, as a count. */
  changed?: number;
}

/** `unreachable`: nothing happens; `answer-lost`: it is carried out. */
export type InventoryFault = 'unreachable' | 'answer-lost' | { readonly busyMs: number };

/** `partial`: half of a page is left out. */
export type ReadFate = 'pass' | 'unavailable' | 'partial' | 'hang';

export class FakeInventory implements Inventory {
  readonly name: InventoryName;
  readonly nodes = new Map<string, ClaimedNode>();
  readonly calls: (NodeFence & { readonly op: 'claim' | 'unclaim'; readonly answer: ClaimOutcome['kind'] })[] = [];
  /** Of the next calls, one each. */
  readonly faults: (InventoryFault | undefined)[] = [];
  mode: Awaited<ReturnType<Inventory['claims']>> = 'endpoint';
  isAway = false;
  /** Those of other clients. */
  readonly others = new Set<string>();
  /** Lists and looks, in their order. */
  readonly reads: string[] = [];
  /** What becomes of a read. */
  decideRead: (read: { readonly op: string; readonly at: string | undefined; readonly nth: number }) => ReadFate = () =>
    'pass';
  /** What others do before a read is answered, as with a call over a network. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();
  /** How many reads there were at once. */
  mostInFlight = 0;
  tellsChanges = true;
  #inFlight = 0;
  #changes = 0;
  /** Of all calls, for as long as it stands. */
  standing: InventoryFault | undefined;

  constructor(ids: readonly string[] = [], name: InventoryName = 'simulated') {
    this.name = name;
    for (const id of ids) this.nodes.set(id, { epoch: 0, instance: undefined });
  }

  /** Another client of the inventory claims it. */
  take(id: string, by = 'somebody'): void {
    const node = this.#nodeOf(id);
    node.instance = by;
    this.others.add(by);
    this.#touch(node);
  }

  holderOf(id: string): string | undefined {
    return this.nodes.get(id)?.instance;
  }

  claimedBy(instance: string): string[] {
    return [...this.nodes].filter(([, node]) => node.instance === instance).map(([id]) => id);
  }

  async claims(): Promise<'inline' | 'endpoint' | 'direct'> {
    return this.mode;
  }

  list(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<InventoryPage> {
    return this.#read('list', after, how, (fate) => {
      const { page, next } = cutPage([...this.nodes.keys()], after, limit);
      const shown = fate === 'partial' ? page.slice(0, page.length / 2) : page;
      return { nodes: shown.map((id) => this.#describe(id)), ...(next !== undefined && { next }) };
    });
  }

  listChanges({ since, after, limit }: ChangesRequest, how: InventoryCallOptions): Promise<ChangesPage | undefined> {
    if (!this.tellsChanges) return Promise.resolve(undefined);
    return this.#read('changes', after, how, () => {
      const ids = [...this.nodes]
        .filter(([, { changed = 0 }]) => changed > Number(since ?? Infinity))
        .map(([id]) => id);
      const { page, next } = cutPage(ids, after, limit);
      const nodes = page.map((id) => this.#describe(id));
      return { nodes, upTo: String(this.#changes), ...(next !== undefined && { next }) };
    });
  }

  listClaims(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<ClaimsPage> {
    return this.#read('claims', after, how, () => {
      const claimed = [...this.nodes].filter(
        ([, { instance }]) => instance !== undefined && !this.others.has(instance),
      );
      const { page, next } = cutPage(
        claimed.map(([id]) => id),
        after,
        limit,
      );
      const claims = page.map((node) => ({ node, instance: this.holderOf(node) as string }));
      return { claims, ...(next !== undefined && { next }) };
    });
  }

  claimIdOf({ instance }: InventoryClaim): string {
    return instance;
  }

  find(node: string, how: InventoryCallOptions): Promise<InventoryNode | 'gone'> {
    return this.#read('find', node, how, () => (this.nodes.has(node) ? this.#describe(node) : 'gone'));
  }

  async #read<T>(
    op: string,
    at: string | undefined,
    { signal }: InventoryCallOptions,
    answer: (fate: ReadFate) => T,
  ): Promise<T> {
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    this.reads.push(at === undefined ? op : `${op} ${at}`);
    try {
      const fate = this.isAway ? 'unavailable' : this.decideRead({ op, at, nth: this.reads.length });
      await this.meanwhile();
      if (fate === 'hang') await waitUntilAborted(signal);
      if (fate === 'unavailable' || fate === 'hang') throw new InventoryUnavailable('away, as it was armed');
      return answer(fate);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** It was changed there by hand. */
  change(id: string, facts: Partial<InventoryNode>): void {
    const node = this.#nodeOf(id);
    node.facts = { ...node.facts, ...facts };
    this.#touch(node);
  }

  #touch(node: ClaimedNode): void {
    node.changed = this.#changes += 1;
  }

  async claim({ node, nodeEpoch, instance }: ClaimRequest, _how: InventoryCallOptions): Promise<ClaimOutcome> {
    return this.#call('claim', { node, nodeEpoch, instance }, (claimed) => {
      if (claimed.instance === instance) return { kind: 'already' };
      if (claimed.instance !== undefined) return { kind: 'lost', reason: { code: 'claimed-by-other', node } };
      Object.assign(claimed, { epoch: nodeEpoch, instance });
      this.#touch(claimed);
      return { kind: 'applied' };
    });
  }

  async unclaim(fence: NodeFence, _how: InventoryCallOptions): Promise<ClaimOutcome> {
    return this.#call('unclaim', fence, (claimed) => {
      claimed.epoch = fence.nodeEpoch;
      if (claimed.instance !== fence.instance) return { kind: 'already' };
      claimed.instance = undefined;
      this.#touch(claimed);
      return { kind: 'applied' };
    });
  }

  #call(op: 'claim' | 'unclaim', fence: NodeFence, carryOut: (claimed: ClaimedNode) => ClaimOutcome): ClaimOutcome {
    const fault = this.isAway ? 'unreachable' : (this.standing ?? this.faults.shift());
    const node = this.nodes.get(fence.node);
    const isCarriedOut = fault === undefined || fault === 'answer-lost';
    const outcome: ClaimOutcome = !isCarriedOut
      ? unanswered(fault)
      : node === undefined
        ? withoutNode(op, fence)
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

  #describe(id: string): InventoryNode {
    const { instance, facts } = this.#nodeOf(id);
    return {
      id,
      traits: [],
      ...{ memoryMiB: 1, cpus: 1, localGiB: 1, power: 'off', isInMaintenance: false },
      isAvailable: instance === undefined,
      ...(instance !== undefined && { instance, claim: instance }),
      ...facts,
    };
  }
}

function waitUntilAborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}

function withoutNode(op: 'claim' | 'unclaim', { node }: NodeFence): ClaimOutcome {
  return op === 'unclaim' ? { kind: 'already' } : { kind: 'lost', reason: { code: 'claimed-by-other', node } };
}

function cutPage(
  ids: readonly string[],
  after: string | undefined,
  limit: number,
): { readonly page: readonly string[]; readonly next: string | undefined } {
  const left = ids.toSorted().filter((id) => after === undefined || id > after);
  return { page: left.slice(0, limit), next: left.length > limit ? left[limit - 1] : undefined };
}

function unanswered(fault: InventoryFault): ClaimOutcome {
  const reason = { code: 'inventory-unreachable', inventory: 'simulated' };
  return typeof fault === 'object'
    ? { kind: 'failed', reason: { ...reason, code: 'inventory-busy' }, retryAfterMs: fault.busyMs }
    : { kind: 'failed', reason };
}
