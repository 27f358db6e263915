// Which views an agent accepts. It must never act on a view of a foreign journal, of a holder that lost the lease, or of a revision older
// than it has.
import type { Stamp, View, ViewRefusal } from './messages.ts';

export interface AcceptedState {
  readonly host: string;
  /** Of the last accepted view; undefined before the first. */
  readonly stamp: Stamp | undefined;
  /** The journal of the control plane that the agent trusts; it changes when a backup was restored. */
  readonly journalId?: string | undefined;
}

/** Why a view is refused; undefined when it is accepted. An equal stamp is accepted: a repeated view changes nothing. */
export function findViewRefusal(known: AcceptedState, view: Pick<View, 'host' | 'stamp'>): ViewRefusal | undefined {
  if (view.host !== known.host) return 'other-host';
  if (known.stamp === undefined) return undefined;
  if (view.stamp.journalId !== known.stamp.journalId) {
    // Epochs and revisions of two journals do not compare: the first view of a successor is accepted as it is.
    return view.stamp.journalId === known.journalId ? undefined : 'other-journal';
  }
  if (view.stamp.leaseEpoch < known.stamp.leaseEpoch) return 'older-epoch';
  // Revisions are ordered in one journal across lease holders: a later holder has read everything before it decides.
  if (view.stamp.revision < known.stamp.revision) return 'older-revision';
  return undefined;
}
