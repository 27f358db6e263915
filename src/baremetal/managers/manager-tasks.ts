// The open items of each manager, found through the node that they are about (by its id, or by the instance that has it), or by their assignee
// while there is no node. It follows the documents, so that no reader looks at all nodes of a manager; whether an item has a task now, its
// operation kind says.
import type { AppliedChange, Projection, ProjectionState } from '../../fleet/index.ts';
import { isOpen, ITEM, targetKey, type Item } from '../../operations/index.ts';
import { NODE, type Node } from '../model.ts';

/** The kinds of targets that lead to a node. */
const NODE_TARGET = NODE.name;
const INSTANCE_TARGET = 'instance';

const NO_ITEMS: ReadonlySet<string> = new Set();
const NO_ASSIGNEES: ReadonlyMap<string, string | undefined> = new Map();

/** What items of one kind of target are about: under their ids as they are, since making a key of each would cost more than all the rest. */
interface Targets {
  /** The manager of a node, and of the instance that has it. */
  readonly managers: Map<string, string>;
  /** By target, the items with their assignees. */
  readonly items: Map<string, Map<string, string | undefined>>;
}

const newTargets = (): Targets => ({ managers: new Map(), items: new Map() });

export class ManagerTasks implements ProjectionState {
  readonly #nodes = newTargets();
  readonly #instances = newTargets();
  /** Targets that never have a manager, under keys with their kinds. */
  readonly #others = newTargets();
  readonly #itemsOfManager = new Map<string, Set<string>>();

  apply({ kind, before, after }: AppliedChange): void {
    if (kind === ITEM.name)
      this.#applyItem(before?.doc as Item | undefined, after?.doc as Item | undefined, (after ?? before)?.id);
    else this.#applyNode(before, after);
  }

  /** In the order in which they became the manager's. */
  itemsOf(manager: string): ReadonlySet<string> {
    return this.#itemsOfManager.get(manager) ?? NO_ITEMS;
  }

  /** Open items about a node: by its id, and by the instance that has it. */
  *itemsOn(node: string, instance: string | undefined): Iterable<string> {
    yield* this.#nodes.items.get(node)?.keys() ?? [];
    if (instance !== undefined) yield* this.#instances.items.get(instance)?.keys() ?? [];
  }

  #applyItem(before: Item | undefined, after: Item | undefined, id = ''): void {
    const [from, to] = [placeOf(before), placeOf(after)];
    if (from?.kind === to?.kind && from?.target === to?.target && from?.assignee === to?.assignee) return;
    if (from !== undefined) this.#removeItem(id, from);
    if (to !== undefined) this.#addItem(id, to);
  }

  #targetsOf({ kind }: ItemPlace): Targets {
    if (kind === NODE_TARGET) return this.#nodes;
    return kind === INSTANCE_TARGET ? this.#instances : this.#others;
  }

  #addItem(id: string, place: ItemPlace): void {
    const { managers, items: byTarget } = this.#targetsOf(place);
    const { target, assignee } = place;
    let items = byTarget.get(target);
    if (items === undefined) byTarget.set(target, (items = new Map<string, string | undefined>()));
    items.set(id, assignee);
    this.#give(id, managers.get(target) ?? assignee);
  }

  #removeItem(id: string, place: ItemPlace): void {
    const { managers, items: byTarget } = this.#targetsOf(place);
    const { target, assignee } = place;
    const items = byTarget.get(target);
    items?.delete(id);
    if (items?.size === 0) byTarget.delete(target);
    this.#take(id, managers.get(target) ?? assignee);
  }

  #applyNode(before: AppliedChange['before'], after: AppliedChange['after']): void {
    const [from, to] = [before?.doc as Node | undefined, after?.doc as Node | undefined];
    if (from?.manager === to?.manager && from?.instance === to?.instance) return;
    this.#setManager(this.#nodes, (after ?? before)?.id ?? '', to?.manager);
    const had = from?.manager === undefined ? undefined : from.instance;
    const has = to?.manager === undefined ? undefined : to.instance;
    if (had !== undefined && had !== has) this.#setManager(this.#instances, had, undefined);
    if (has !== undefined) this.#setManager(this.#instances, has, to?.manager);
  }

  #setManager({ managers, items }: Targets, target: string, manager: string | undefined): void {
    const former = managers.get(target);
    if (former === manager) return;
    if (manager === undefined) managers.delete(target);
    else managers.set(target, manager);
    for (const [id, assignee] of items.get(target) ?? NO_ASSIGNEES) {
      this.#take(id, former ?? assignee);
      this.#give(id, manager ?? assignee);
    }
  }

  #give(id: string, manager: string | undefined): void {
    if (manager === undefined) return;
    let items = this.#itemsOfManager.get(manager);
    if (items === undefined) this.#itemsOfManager.set(manager, (items = new Set()));
    items.add(id);
  }

  #take(id: string, manager: string | undefined): void {
    const items = manager === undefined ? undefined : this.#itemsOfManager.get(manager);
    if (manager === undefined || items?.delete(id) !== true) return;
    if (items.size === 0) this.#itemsOfManager.delete(manager);
  }
}

interface ItemPlace {
  readonly kind: string;
  readonly target: string;
  readonly assignee: string | undefined;
}

/** Where an item is looked for; undefined when no manager may ever have a task of it. */
function placeOf(item: Item | undefined): ItemPlace | undefined {
  if (item === undefined || !isOpen(item) || item.host !== undefined) return undefined;
  const { target, assignee } = item;
  const { kind, id } = target;
  if (kind === NODE_TARGET || kind === INSTANCE_TARGET) return { kind, target: id, assignee };
  return assignee === undefined ? undefined : { kind, target: targetKey(kind, id), assignee };
}

export const MANAGER_TASKS: Projection<ManagerTasks> = {
  name: 'manager-tasks',
  kinds: [NODE.name, ITEM.name],
  create: () => new ManagerTasks(),
};
