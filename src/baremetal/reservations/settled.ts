// Waits until an inventory has said what becomes of a reservation, as commits show.
import type { RouteContext } from '../../access/index.ts';
import { RESERVATION, type ReservationId } from '../model.ts';
import type { StoredReservation } from './documents.ts';

/** Undefined when it is not settled by then, or was released. */
export async function waitUntilSettled(
  { journal, clock, closing }: Pick<RouteContext, 'journal' | 'clock' | 'closing'>,
  { id, maxMs }: { readonly id: ReservationId; readonly maxMs: number },
): Promise<StoredReservation | undefined> {
  const over = new AbortController();
  const isSettled = (): boolean => journal.fleet.get(RESERVATION, id)?.doc.state !== 'allocating';
  const unsubscribe = journal.onCommit(({ applied }) => {
    if (
      applied.some(({ kind, after, before }) => kind === RESERVATION.name && (after ?? before)?.id === id) &&
      isSettled()
    )
      over.abort('settled');
  });
  try {
    if (!isSettled()) await clock.sleep(maxMs, AbortSignal.any([over.signal, closing]));
  } finally {
    unsubscribe();
  }
  const stored = journal.fleet.get(RESERVATION, id);
  return stored?.doc.state === 'active' || stored?.doc.state === 'error' ? stored : undefined;
}
