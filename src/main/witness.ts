// A witness outside the database: the last revision that this server saw durable, with its hash, in a small file of the data folder. It is
// overwritten in place before any caller is answered and never flushed: it survives the process, and after a power failure it may be behind. A
// witness that is ahead of the store proves that the store lost commits.
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Position, Store } from '../journal/index.ts';

export const WITNESS_FILE = 'witness';

/** Of constant length, so that a shorter text leaves nothing of a longer one behind; one sector. */
const RECORD_BYTES = 256;

interface WitnessRecord {
  readonly journalId: string;
  readonly revision: number;
  readonly hash?: string;
}

/** What the witness proves about a store. */
export type WitnessFinding =
  | { readonly kind: 'consistent' }
  /** There is no witness file, or it cannot be read. */
  | { readonly kind: 'nothing-known'; readonly why?: string }
  /** It is of another journal: this is not the store that the folder was used with, unless a backup was restored into it. */
  | { readonly kind: 'other-journal'; readonly journalId: string; readonly seen: number; readonly head: number }
  /** The store lacks what this server saw durable. History falls back to `fallsBackTo`. */
  | { readonly kind: 'lost'; readonly seen: number; readonly head: number; readonly fallsBackTo: number };

export class Witness {
  readonly #path: string;
  #file: number | undefined;
  /** The file is frozen: until the store was compared with it, and while a loss is not recorded yet. */
  #isHeld = true;

  constructor(dataFolder: string) {
    this.#path = join(dataFolder, WITNESS_FILE);
  }

  /** Compares a store with the last witnessed revision. */
  async examine(store: Store, head: number): Promise<WitnessFinding> {
    const testimony = this.#read();
    if (testimony === undefined) return { kind: 'nothing-known' };
    if (testimony === 'unreadable') return { kind: 'nothing-known', why: `${this.#path} cannot be read` };
    const { journalId, revision: seen, hash } = testimony;
    if (journalId !== store.journalId) return { kind: 'other-journal', journalId, seen, head };
    if (seen > head) return { kind: 'lost', seen, head, fallsBackTo: head };
    if (hash === undefined) return { kind: 'consistent' };
    const answer = await store.read({ revision: seen, hash }, 1);
    if (answer.kind !== 'diverged') return { kind: 'consistent' };
    return { kind: 'lost', seen, head, fallsBackTo: seen - 1 };
  }

  /** The store was compared, and any loss is recorded. */
  release(journalId: string, position: Position): void {
    this.#isHeld = false;
    this.record(journalId, position);
  }

  /** History was lost: until that is recorded, the next start must detect it, too. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Called for every group, so it waits for nothing: a few microseconds. */
  record(journalId: string, { revision, hash }: Position): void {
    if (this.#isHeld) return;
    this.#file ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    const text = JSON.stringify({ journalId, revision, ...(hash !== undefined && { hash }) });
    writeSync(this.#file, text.padEnd(RECORD_BYTES - 1).concat('\n'), 0);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #read(): WitnessRecord | 'unreadable' | undefined {
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as WitnessRecord;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      if (error instanceof SyntaxError) return 'unreadable';
      throw error;
    }
  }
}
