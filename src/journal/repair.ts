// Plans the repair of a damaged store once an operator has accepted the loss: documents are taken from the log where it still
// has them, the log is cut behind the last damage, and the head is made to fit. Pure: the dump comes in page by page.
import type { ResourceKey } from './resource-key.ts';
import { digestDocument, type Sha256 } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import type { CommitRow } from './commit-row.ts';
import type { DumpHead, DumpSink } from './dump.ts';
import type { ResourceRow } from './load-check.ts';
import { decodeRow } from './read-answer.ts';

export interface Repair {
  /** Documents to be written, with their digests. */
  readonly put: readonly ResourceRow[];
  readonly drop: readonly ResourceKey[];
  /** Commits up to here are forgotten, as compaction would. */
  readonly floor: LogEnd | undefined;
  readonly head: LogEnd;
  /** What became of which document, for the record. */
  readonly notes: readonly string[];
}

export interface LogEnd {
  readonly revision: number;
  readonly commitId: string | null;
  readonly hash: string | null;
}

interface LoggedWrite {
  readonly revision: number;
  readonly body: string | null;
}

const keyOf = (kind: string, id: string): string => `${kind}\n${id}`;

export class RepairPlanner implements DumpSink {
  readonly #sha256: Sha256;
  readonly #documents = new Map<string, ResourceRow>();
  readonly #written = new Map<string, LoggedWrite>();
  #head: DumpHead | undefined;
  #walk: ChainWalk | undefined;
  #floor: LogEnd | undefined;
  #last: LogEnd | undefined;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  head(head: DumpHead): void {
    const { floorRevision, floorHash, chainedFrom } = head;
    this.#head = head;
    this.#walk = new ChainWalk(this.#sha256, { after: { revision: floorRevision, hash: floorHash }, chainedFrom });
  }

  resources(page: readonly ResourceRow[]): void {
    for (const row of page) this.#documents.set(keyOf(row.kind, row.id), row);
  }

  commits(page: readonly CommitRow[]): void {
    for (const row of page) {
      const commit = decodeRow(row);
      const revision = Number(row.revision);
      const end = { revision, commitId: row.id, hash: row.hash };
      const damage = commit === undefined ? this.#walk?.skip(end) : this.#walk?.take(commit);
      this.#last = end;
      // The commits behind it are chained to the hash that it has: from there on the log is whole.
      if (damage !== undefined) this.#floor = end;
      // What a damaged commit says is not to be trusted, but for a gap before it.
      if (damage?.kind === 'commit') continue;
      for (const { kind, id, body } of commit?.changes ?? []) this.#written.set(keyOf(kind, id), { revision, body });
    }
  }

  finish(): Repair {
    const found = this.#head;
    if (found === undefined) throw new Error('the dump has no head');
    const { revision, commitId, hash, floorRevision } = found;
    const lastRevision = this.#last?.revision ?? floorRevision;
    // A log that ends before the head has lost its end; one that goes beyond it is right, and the head is not.
    const head = this.#last !== undefined && lastRevision >= revision ? this.#last : { revision, commitId, hash };
    const floor = lastRevision < revision ? head : this.#floor;
    return { ...this.#documentRepairs(), floor, head };
  }

  #documentRepairs(): Pick<Repair, 'put' | 'drop' | 'notes'> {
    const put: ResourceRow[] = [];
    const drop: ResourceKey[] = [];
    const notes: string[] = [];
    for (const [key, { revision, body }] of this.#written) {
      const [kind = '', id = ''] = key.split('\n');
      const there = this.#documents.get(key);
      if (there !== undefined && there.revision > revision && this.#isWhole(there)) continue;
      if (body === null ? there === undefined : there?.revision === revision && there.body === body) continue;
      notes.push(`${kind}/${id}: taken from the commit of revision ${revision}`);
      if (body === null) drop.push([kind, id]);
      else put.push({ kind, id, revision, body, digest: digestDocument(this.#sha256, { kind, id, revision, body }) });
    }
    for (const [key, row] of this.#documents) {
      const { kind, id } = row;
      if (this.#isWhole(row) || put.some((one) => keyOf(one.kind, one.id) === key)) continue;
      if (drop.some(([otherKind, otherId]) => keyOf(otherKind, otherId) === key)) continue;
      if (isJson(row.body)) {
        notes.push(`${kind}/${id}: kept as it is, although it is not what was written`);
        put.push({ ...row, digest: digestDocument(this.#sha256, row) });
      } else {
        notes.push(`${kind}/${id}: dropped, it cannot be read`);
        drop.push([kind, id]);
      }
    }
    return { put, drop, notes };
  }

  #isWhole(row: ResourceRow): boolean {
    return row.digest === null ? isJson(row.body) : row.digest === digestDocument(this.#sha256, row);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
