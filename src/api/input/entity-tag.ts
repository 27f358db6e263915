// Entity tags of resources: the revision, and which journal it is of. After a restore another state has the same revision, which must not pass for the one that
// a client has read.
import { createHash } from 'node:crypto';

const JOURNAL_LENGTH = 8;

export interface EntityTag {
  readonly revision: number;
  /** Absent where a client names a revision alone. */
  readonly journal?: string;
}

/** What tags say of their journal. */
export function shortenJournalId(journalId: string): string {
  return createHash('sha256').update(journalId).digest('hex').slice(0, JOURNAL_LENGTH);
}

export function composeEntityTag({ revision, journal }: EntityTag): string {
  return journal === undefined ? `"${revision}"` : `"${revision}-${journal}"`;
}

export function parseEntityTag(text: string): EntityTag | undefined {
  const [, revision, journal] = /^"(\d{1,15})(?:-([0-9a-f]{8}))?"$/.exec(text) ?? [];
  return revision === undefined ? undefined : { revision: Number(revision), ...(journal !== undefined && { journal }) };
}
