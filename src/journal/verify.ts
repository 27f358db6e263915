// Checks a whole store or backup: every document against its digest and against the commit that wrote it, every commit
// against the hash chain. Pure: the dump comes in page by page.
import { digestDocument, type Sha256 } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import type { CommitRow } from './commit-row.ts';
import type { Damage } from './damage.ts';
import type { DumpHead, DumpSink } from './dump.ts';
import { LoadCheck, type ResourceRow } from './load-check.ts';
import { decodeRow } from './read-answer.ts';

/** Beyond so many findings the rest says nothing new. */
const FINDINGS_MAX = 100;

export interface VerifyResult {
  readonly journalId: string;
  readonly revision: number;
  readonly hash: string | null;
  readonly oldestRevision: number;
  readonly documents: number;
  readonly commits: number;
  /** Commits before the chain began, which nothing can be said of. */
  readonly unchained: number;
  readonly damage: readonly Damage[];
}

interface Known {
  readonly revision: number;
  /** Null for a deletion. */
  readonly digest: string | null;
}

// A kind has no line break, so two different resources never share a key.
const keyOf = (kind: string, id: string): string => `${kind}\n${id}`;

export class Verifier implements DumpSink {
  readonly #sha256: Sha256;
  readonly #check: LoadCheck;
  readonly #damage: Damage[] = [];
  readonly #documents = new Map<string, Known>();
  readonly #written = new Map<string, Known>();
  #head: DumpHead | undefined;
  #walk: ChainWalk | undefined;
  #last: CommitRow | undefined;
  #commits = 0;
  #unchained = 0;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
    this.#check = new LoadCheck(sha256);
  }

  head(head: DumpHead): void {
    const { floorRevision, floorHash, chainedFrom } = head;
    this.#head = head;
    this.#walk = new ChainWalk(this.#sha256, { after: { revision: floorRevision, hash: floorHash }, chainedFrom });
  }

  resources(page: readonly ResourceRow[]): void {
    for (const row of page) {
      this.#check.take(row);
      const { kind, id, revision } = row;
      this.#documents.set(keyOf(kind, id), { revision, digest: digestDocument(this.#sha256, row) });
    }
  }

  commits(page: readonly CommitRow[]): void {
    for (const row of page) {
      this.#commits += 1;
      this.#last = row;
      const commit = decodeRow(row);
      const at = { revision: Number(row.revision), hash: row.hash };
      this.#report(commit === undefined ? this.#walk?.skip(at) : this.#walk?.take(commit));
      if (at.revision < (this.#head?.chainedFrom ?? Infinity)) this.#unchained += 1;
      const { revision } = at;
      for (const { kind, id, body } of commit?.changes ?? []) {
        const digest = body === null ? null : digestDocument(this.#sha256, { kind, id, body, revision });
        this.#written.set(keyOf(kind, id), { revision, digest });
      }
    }
  }

  /** The dump is over. */
  finish(): VerifyResult {
    const head = this.#head;
    if (head === undefined) throw new Error('the dump has no head');
    const { journalId, revision, hash, floorRevision } = head;
    const last = this.#last === undefined ? [] : [this.#last];
    const after = { revision: Number(this.#last?.revision ?? floorRevision) - last.length, hash: null };
    const unchained = { ...head, chainedFrom: null };
    for (const damage of this.#check.finish(unchained, { after, rows: last, gaps: [] })) this.#report(damage);
    this.#compare(floorRevision);
    return {
      ...{ journalId, revision, hash, oldestRevision: floorRevision + 1 },
      ...{ documents: this.#documents.size, commits: this.#commits, unchained: this.#unchained },
      damage: this.#damage,
    };
  }

  /** Documents against the commits that wrote them last, as far back as there are commits. */
  #compare(floorRevision: number): void {
    for (const [key, written] of this.#written) {
      const there = this.#documents.get(key);
      const isSame =
        written.digest === null
          ? there === undefined
          : there?.digest === written.digest && there.revision === written.revision;
      if (!isSame) this.#reportDifference(key, written.revision);
    }
    for (const [key, { revision }] of this.#documents) {
      if (revision > floorRevision && !this.#written.has(key)) this.#reportDifference(key, revision);
    }
  }

  #reportDifference(key: string, revision: number): void {
    const [kind = '', id = ''] = key.split('\n');
    const isNamed = this.#damage.some(
      (one) => one.kind === 'document' && one.resource[0] === kind && one.resource[1] === id,
    );
    if (!isNamed) this.#report({ kind: 'document-differs', resource: [kind, id], revision });
  }

  #report(damage: Damage | undefined): void {
    if (damage !== undefined && this.#damage.length < FINDINGS_MAX) this.#damage.push(damage);
  }
}
