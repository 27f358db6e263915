// How much stored text one read answers, whatever it requests: a page ends with the commit that reaches the limit, and has at
// least one. Without it 500 commits of a thousand documents each would be read, and parsed, at once.

/** Parsing this much takes about ten milliseconds: others wait no longer than that behind one page. */
export const PAGE_BYTES_MAX = 1024 * 1024;

export interface SizedCommit {
  readonly revision: number | string;
  readonly bytes: number | string;
}

export interface ChosenPage {
  readonly revisions: readonly number[];
  readonly next?: number;
}

/** The commits of a history page: `found` has one more than `limit` when there is more. */
export function chooseHistoryPage(found: readonly SizedCommit[], limit: number): ChosenPage {
  const revisions: number[] = [];
  let bytes = 0;
  for (const commit of found) {
    if (revisions.length >= limit || bytes >= PAGE_BYTES_MAX) break;
    bytes += Number(commit.bytes);
    revisions.push(Number(commit.revision));
  }
  const last = revisions.at(-1);
  return last === undefined || revisions.length === found.length ? { revisions } : { revisions, next: last };
}
