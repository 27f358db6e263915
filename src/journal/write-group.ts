// Writes one group to the store and classifies the outcome. A transient store failure is returned, not thrown.
import type { DecidedGroup } from './decided-group.ts';
import { StoreUnavailable, type Fence, type Store, type WriteAnswer } from './store.ts';

/** `unknown`: it may have been written all the same. */
export type GroupAnswer = WriteAnswer | { readonly kind: 'unavailable'; readonly outcome: 'failed' | 'unknown' };

/** Rejects when the store failed in a way that no retry mends. */
export async function writeGroup(store: Store, group: DecidedGroup, fence: Fence): Promise<GroupAnswer> {
  const { batches, head } = group;
  try {
    if (batches.length === 0) return await confirmLease(store, head, fence);
    return await store.write({ batches, fence, expectedHead: head });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { kind: 'unavailable', outcome: error.outcome };
  }
}

/** A group without changes still has answers: they hold only if this server still has the lease. */
async function confirmLease(store: Store, head: number, { lease, epoch }: Fence): Promise<WriteAnswer> {
  const held = await store.readLease(lease);
  const expired = held === undefined || held.expiresInMs <= 0;
  if (held?.epoch === epoch && !expired) return { kind: 'written', revision: head };
  return { kind: 'conflict', conflict: { kind: 'lease', lease, epoch, actualEpoch: held?.epoch ?? 0, expired } };
}
