// Which views an agent takes. It must never act on one from a journal it does not belong to, from a holder that lost
// the lease, or from before what it knows already.
import type { Stamp, View, ViewRefusal } from './messages.ts';

export interface AcceptedState {
  readonly host: string;
  /** Of the last view that was taken; undefined before the first. */
  readonly stamp: Stamp | undefined;
  /** The journal of the control plane that the agent trusts; it is another one once a backup was restored. */
  readonly journalId?: string | undefined;
}

/** Why a view is not taken; undefined when it is. An equal stamp is taken: a repeated view changes nothing. */
export function findViewRefusal(known: AcceptedState, view: Pick<View, 'host' | 'stamp'>): ViewRefusal | undefined {
  if (view.host !== known.host) return 'other-host';
  if (known.stamp === undefined) return undefined;
  if (view.stamp.journalId !== known.stamp.journalId) {
    // Epochs and revisions of two journals do not compare: the first view of a successor is taken as it is.
    return view.stamp.journalId === known.journalId ? undefined : 'other-journal';
  }
  if (view.stamp.leaseEpoch < known.stamp.leaseEpoch) return 'older-epoch';
  // A revision counts in one journal whoever holds the lease: a later holder has read everything before it decides.
  if (view.stamp.revision < known.stamp.revision) return 'older-revision';
  return undefined;
}
