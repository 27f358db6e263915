// Waiting until hosts are in line with what the control plane wants: an action of the driver `views`, which watches what agents
// report of the views that they applied.
import type { Reason } from '../fleet/index.ts';
import { record, type Next, type RecordStep, type StoredItem } from '../operations/index.ts';
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

/** Hosts that do well are in line at once; of the others every try is written down. */
const AGAIN_MIN_MS = 500;
const AGAIN_MAX_MS = 8000;

/** Somebody is behind: asked again, less and less often. */
export function stillBehind(item: StoredItem, reason: Reason, nowMs: number): RecordStep {
  const { step, attempt } = item.doc;
  const pauseMs = Math.min(AGAIN_MAX_MS, AGAIN_MIN_MS * 2 ** Math.min(attempt - 1, 10));
  return record(item, { state: 'waiting', step, reason, retryAtMs: nowMs + pauseMs, attempt: attempt + 1 });
}
