// The commits that the disk accepted, as an outside observer recorded them: every commit with its writer, its fence and its time. The
// servers' claims are checked against it, and it keeps what a compaction or a power failure loses.
import { Fleet, type Change, type Registry } from '../../src/fleet/index.ts';
import type { Fence, Lease, StoredCommit, TextCommit } from '../../src/journal/index.ts';
import { addDigests, hashOf, subtractDigest } from './digest.ts';

export interface LedgerEntry {
  readonly commit: StoredCommit;
  readonly changes: readonly Change[];
  /** The incarnation that wrote it. */
  readonly writer: string;
  readonly fence: Fence | undefined;
  /** The lease on the disk when the group was accepted. */
  readonly lease: Lease | undefined;
  readonly atStep: number;
}

function changesOf(commit: TextCommit): Change[] {
  return commit.changes.map(({ kind, id, body }) => ({
    kind,
    id,
    doc: body === null ? null : (JSON.parse(body) as object),
  }));
}

export class Ledger {
  readonly entries: LedgerEntry[] = [];
  /** The commits that power failures lost although they had been accepted. */
  readonly lost: LedgerEntry[] = [];
  /** The digest of all resources at each revision. */
  readonly #digests: number[] = [0];
  #parts = new Map<string, number>();

  get head(): number {
    return this.entries.length;
  }

  at(revision: number): LedgerEntry | undefined {
    return this.entries[revision - 1];
  }

  digestAt(revision: number): number | undefined {
    return this.#digests[revision];
  }

  record(batches: readonly TextCommit[], note: Omit<LedgerEntry, 'commit' | 'changes'>): LedgerEntry[] {
    const added = batches.map((batch, at) => ({
      ...note,
      commit: { ...batch, revision: this.head + at + 1 },
      changes: changesOf(batch),
    }));
    for (const entry of added) {
      this.entries.push(entry);
      this.#digests.push(this.#digestAfter(entry.commit));
    }
    return added;
  }

  #digestAfter(commit: StoredCommit): number {
    let sum = this.#digests.at(-1) ?? 0;
    for (const { kind, id, body } of commit.changes) {
      const key = `${kind}/${id}`;
      sum = subtractDigest(sum, this.#parts.get(key) ?? 0);
      this.#parts.delete(key);
      if (body === null) continue;
      const part = hashOf(kind, id, commit.revision, body);
      this.#parts.set(key, part);
      sum = addDigests(sum, part);
    }
    return sum;
  }

  /** A fleet rebuilt from the commits alone, up to a revision. */
  replay(registry: Registry, upTo: number): Fleet {
    const fleet = new Fleet(registry);
    for (const { commit, changes } of this.entries.slice(0, upTo)) fleet.apply(commit.revision, changes);
    return fleet;
  }

  /** The disk came back with this head after a power failure. */
  truncate(head: number): void {
    if (head >= this.head) return;
    this.lost.push(...this.entries.slice(head));
    const kept = this.entries.slice(0, head);
    this.entries.length = 0;
    this.#digests.length = 1;
    this.#parts = new Map();
    for (const { commit, changes: _, ...note } of kept) this.record([commit], note);
  }
}
