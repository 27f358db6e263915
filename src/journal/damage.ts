// The kinds of damage that a store can find in its data, with the text for operators. Pure: finding it is the store's work.
import type { ResourceKey } from './resource-key.ts';

export type Damage =
  /** The document is not what was written at that revision. */
  | { readonly kind: 'document'; readonly resource: ResourceKey; readonly revision: number }
  /** Documents are missing, too many, or older than what was written. */
  | { readonly kind: 'documents'; readonly expected: DocumentTotals; readonly actual: DocumentTotals }
  /** The commit does not match its hash, or not the one before it. */
  | { readonly kind: 'commit'; readonly revision: number }
  /** Commits are missing from the log. */
  | { readonly kind: 'missing-commits'; readonly from: number; readonly to: number }
  /** The head does not name the last commit of the log. */
  | { readonly kind: 'head'; readonly revision: number; readonly lastCommit: number }
  /** The document and the commit that wrote it last differ. */
  | { readonly kind: 'document-differs'; readonly resource: ResourceKey; readonly revision: number };

/** A sum that changes whenever a document is missing, added or older: no hash over all documents is needed for that. */
export interface DocumentTotals {
  readonly count: number;
  readonly revisionSum: number;
}

export function describeDamage(damage: Damage): string {
  switch (damage.kind) {
    case 'document':
      return `the document ${damage.resource.join('/')} of revision ${damage.revision} is damaged`;
    case 'documents':
      return describeTotals(damage.expected, damage.actual);
    case 'commit':
      return `the commit of revision ${damage.revision} does not match the hash chain`;
    case 'missing-commits':
      return damage.from === damage.to
        ? `the commit of revision ${damage.from} is missing from the log`
        : `the commits of revisions ${damage.from} to ${damage.to} are missing from the log`;
    case 'head':
      return `the head is at revision ${damage.revision}, but the last commit of the log is ${damage.lastCommit}`;
    case 'document-differs':
      return `the document ${damage.resource.join('/')} is not what revision ${damage.revision} wrote`;
  }
}

function describeTotals(expected: DocumentTotals, actual: DocumentTotals): string {
  if (expected.count !== actual.count) return `there are ${actual.count} documents, and should be ${expected.count}`;
  return `one or more of the ${actual.count} documents are older than what was written last`;
}

/** The store holds something that was not written, or lacks something that was. Reading on would spread it. */
export class StoreDamaged extends Error {
  readonly code = 'store-damaged';
  readonly retryable = false;
  readonly damage: readonly Damage[];
  /** Where the store's head is, if that is known. */
  readonly head: number | undefined;

  constructor(damage: readonly Damage[], head?: number) {
    super(damage.map(describeDamage).join('; '));
    this.name = 'StoreDamaged';
    this.damage = damage;
    this.head = head;
  }
}
