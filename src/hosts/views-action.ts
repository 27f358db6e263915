// Waiting until hosts are in line with what the control plane wants: an action of the driver `views`, which watches what agents
// report of the views that they applied.
import type { Next, StoredItem } from '../operations/index.ts';
import type { Host } from './model.ts';

export function toBeInLine(
  item: StoredItem,
  { hosts, revision }: { readonly hosts: readonly string[]; readonly revision: number },
): Next {
  const { step, attempt } = item.doc;
  const args = { hosts: [...hosts], revision };
  return {
    kind: 'act',
    item: item.id,
    expected: item.revision,
    action: { driver: 'views', item: item.id, step, attempt, args },
  };
}

/** Whether it has a view like others: one that is removed or not trusted is shown none of its peers. */
export function isTrusted({ state, quarantined }: Host): boolean {
  return state !== 'removed' && quarantined === undefined;
}
