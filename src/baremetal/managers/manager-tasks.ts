// The open items of each manager, found through the node that they are about (by its id, or by the instance that has it), or by their assignee
// while there is no node. It follows the documents, so that nobody looks at all nodes of a manager; whether an item has a task now, its
// operation kind says.
import type { AppliedChange, Projection, ProjectionState } from '../../fleet/index.ts';
import { isOpen, ITEM, targetKey, type Item } from '../../operations/index.ts';
import { NODE, type Node } from '../model.ts';

/** The kinds of targets that lead to a node. */
const NODE_TARGET = NODE.name;
const INSTANCE_TARGET = 'instance';

const NO_ITEMS: ReadonlySet<string> = new Set();

export class ManagerTasks implements ProjectionState {
  /** The manager of what an item may be about: a node, and the instance that has it. */
  readonly #managerOfTarget = new Map<string, string>();
  readonly #itemsOfTarget = new Map<string, Map<string, string | undefined>>();
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
    yield* this.#itemsOfTarget.get(targetKey(NODE_TARGET, node))?.keys() ?? [];
    if (instance !== undefined) yield* this.#itemsOfTarget.get(targetKey(INSTANCE_TARGET, instance))?.keys() ?? [];
  }

  #applyItem(before: Item | undefined, after: Item | undefined, id = ''): void {
    const [from, to] = [placeOf(before), placeOf(after)];
    if (from?.target === to?.target && from?.assignee === to?.assignee) return;
    if (from !== undefined) this.#removeItem(id, from);
    if (to !== undefined) this.#addItem(id, to);
  }

  #addItem(id: string, { target, assignee }: ItemPlace): void {
    let items = this.#itemsOfTarget.get(target);
    if (items === undefined) this.#itemsOfTarget.set(target, (items = new Map<string, string | undefined>()));
    items.set(id, assignee);
    this.#give(id, this.#managerOfTarget.get(target) ?? assignee);
  }

  #removeItem(id: string, { target, assignee }: ItemPlace): void {
    const items = this.#itemsOfTarget.get(target);
    items?.delete(id);
    if (items?.size === 0) this.#itemsOfTarget.delete(target);
    this.#take(id, this.#managerOfTarget.get(target) ?? assignee);
  }

  #applyNode(before: AppliedChange['before'], after: AppliedChange['after']): void {
    const [from, to] = [before?.doc as Node | undefined, after?.doc as Node | undefined];
    if (from?.manager === to?.manager && from?.instance === to?.instance) return;
    const id = (after ?? before)?.id ?? '';
    for (const target of targetsOf(id, from)) this.#setManager(target, undefined);
    for (const target of targetsOf(id, to)) this.#setManager(target, to?.manager);
  }

  #setManager(target: string, manager: string | undefined): void {
    const former = this.#managerOfTarget.get(target);
    if (former === manager) return;
    if (manager === undefined) this.#managerOfTarget.delete(target);
    else this.#managerOfTarget.set(target, manager);
    for (const [id, assignee] of this.#itemsOfTarget.get(target) ?? []) {
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
  readonly target: string;
  readonly assignee: string | undefined;
}

/** Where an item is looked for; undefined when no manager may ever have a task of it. */
function placeOf(item: Item | undefined): ItemPlace | undefined {
  if (item === undefined || !isOpen(item) || item.host !== undefined) return undefined;
  const { target, assignee } = item;
  const leadsToNode = target.kind === NODE_TARGET || target.kind === INSTANCE_TARGET;
  return leadsToNode || assignee !== undefined ? { target: targetKey(target.kind, target.id), assignee } : undefined;
}

function targetsOf(id: string, node: Node | undefined): string[] {
  if (node?.manager === undefined) return [];
  const targets = [targetKey(NODE_TARGET, id)];
  if (node.instance !== undefined) targets.push(targetKey(INSTANCE_TARGET, node.instance));
  return targets;
}

export const MANAGER_TASKS: Projection<ManagerTasks> = {
  name: 'manager-tasks',
  kinds: [NODE.name, ITEM.name],
  create: () => new ManagerTasks(),
};
