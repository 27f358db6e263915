// The nodes of each manager, apart by the lease epoch under which it acquired them: whose a node is, and which are orphans, is known without looking
// at nodes. A function of the documents alone.
import type { AppliedChange, Projection, ProjectionState } from '../../fleet/index.ts';
import { NODE, type Node } from '../model.ts';

const NO_NODES: ReadonlySet<string> = new Set();
const NO_EPOCHS: ReadonlyMap<number, ReadonlySet<string>> = new Map();

export class ManagedNodes implements ProjectionState {
  readonly #byManager = new Map<string, Map<number, Set<string>>>();
  #count = 0;

  apply({ before, after }: AppliedChange): void {
    const [from, to] = [before?.doc as Node | undefined, after?.doc as Node | undefined];
    if (from?.manager === to?.manager && from?.managerEpoch === to?.managerEpoch) return;
    if (before !== undefined) this.#remove(before.doc as Node, before.id);
    if (after !== undefined) this.#add(after.doc as Node, after.id);
  }

  #add({ manager, managerEpoch }: Node, id: string): void {
    if (manager === undefined) return;
    let epochs = this.#byManager.get(manager);
    if (epochs === undefined) this.#byManager.set(manager, (epochs = new Map<number, Set<string>>()));
    let nodes = epochs.get(managerEpoch ?? 0);
    if (nodes === undefined) epochs.set(managerEpoch ?? 0, (nodes = new Set()));
    nodes.add(id);
    this.#count += 1;
  }

  #remove({ manager, managerEpoch }: Node, id: string): void {
    const epochs = manager === undefined ? undefined : this.#byManager.get(manager);
    const nodes = epochs?.get(managerEpoch ?? 0);
    if (manager === undefined || epochs === undefined || nodes?.delete(id) !== true) return;
    this.#count -= 1;
    if (nodes.size === 0) epochs.delete(managerEpoch ?? 0);
    if (epochs.size === 0) this.#byManager.delete(manager);
  }

  /** Of all managers. */
  get count(): number {
    return this.#count;
  }

  /** Those that have nodes, registered or not. */
  managers(): Iterable<string> {
    return this.#byManager.keys();
  }

  /** By lease epoch. */
  nodesOf(manager: string): ReadonlyMap<number, ReadonlySet<string>> {
    return this.#byManager.get(manager) ?? NO_EPOCHS;
  }

  nodesUnder(manager: string, leaseEpoch: number): ReadonlySet<string> {
    return this.#byManager.get(manager)?.get(leaseEpoch) ?? NO_NODES;
  }

  countOf(manager: string): number {
    let count = 0;
    for (const nodes of this.nodesOf(manager).values()) count += nodes.size;
    return count;
  }
}

export const MANAGED_NODES: Projection<ManagedNodes> = {
  name: 'managed-nodes',
  kinds: [NODE.name],
  create: () => new ManagedNodes(),
};
