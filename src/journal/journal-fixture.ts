// A journal on a memory disk for tests: a clock without waiting, and a store whose next writes can be made to fail.
import { idOf, put, Registry, schemaKind, type FleetReader, type Id } from '../fleet/index.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { Type } from 'typebox';
import { Journal } from './journal.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import type { Clock } from './ports.ts';
import { accept, refuse, type Decision, type Request } from './request.ts';
import { StoreUnavailable, type CommitGroup, type LeaseAnswer, type Store, type WriteAnswer } from './store.ts';

export const NOTE = schemaKind('note', Type.Object({ text: Type.Unknown() }, { additionalProperties: false }));
const registry = new Registry([{ kinds: [NOTE] }]);
export const noteId = (id: string): Id<'note'> => idOf(NOTE, id);

/** What happens to one write. */
export type WriteFate =
  | 'served'
  /** Not written, and the caller knows. */
  | 'failed'
  /** The caller does not know; it was written, was not, or is written just before the next write. */
  | 'unknown-written'
  | 'unknown-lost'
  | 'unknown-late';

export class RecordingClock implements Clock {
  now = 1_000_000;
  /** The requested sleeps. */
  readonly slept: number[] = [];

  nowMs(): number {
    return this.now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.slept.push(ms);
    for (let turns = 0; turns < 5; turns += 1) if (signal?.aborted !== true) await turn();
  }

  async turn(): Promise<void> {
    await turn();
  }
}

/** Every method is the memory store's own, except for writes that are made to fail. */
export class FaultyStore extends MemoryStore {
  readonly fates: WriteFate[] = [];
  readonly groups: CommitGroup[] = [];
  #gate: Promise<unknown> = Promise.resolve();
  #late: CommitGroup | undefined;

  /** Holds up writes until the answer is called. */
  hold(): () => void {
    const gate = Promise.withResolvers<undefined>();
    this.#gate = gate.promise;
    return () => gate.resolve(undefined);
  }

  override async write(group: CommitGroup): Promise<WriteAnswer> {
    this.groups.push(group);
    await this.#gate;
    if (this.#late !== undefined) await super.write(this.#late);
    this.#late = undefined;
    const fate = this.fates.shift() ?? 'served';
    if (fate === 'served') return super.write(group);
    if (fate === 'unknown-written') await super.write(group);
    if (fate === 'unknown-late') this.#late = group;
    throw new StoreUnavailable(`told to: ${fate}`, { outcome: fate === 'failed' ? 'failed' : 'unknown' });
  }
}

export interface JournalRig {
  readonly clock: RecordingClock;
  readonly disk: MemoryDisk;
  readonly store: FaultyStore;
  readonly journal: Journal;
}

let made = 0;

export function journalOn(
  store: Store,
  clock: RecordingClock = new RecordingClock(),
  writeThreshold?: number,
): Journal {
  made += 1;
  const owner = made;
  let ids = 0;
  const next = (prefix: string): string => `${prefix}-${owner}-${(ids += 1)}`;
  const options = { store, registry, clock, ids: { next, secret: () => 'secret' } };
  return new Journal(writeThreshold === undefined ? options : { ...options, writeThreshold });
}

export function takeLease(store: Store, holder: string): Promise<LeaseAnswer> {
  return store.acquireLease({ name: 'fleet', holder, url: `test://${holder}`, ttlMs: 10_000 });
}

/** A journal that decides. With a share of 1 every group is written as soon as the one before it is durable. */
export async function makeRig(share?: number): Promise<JournalRig> {
  const clock = new RecordingClock();
  const disk = new MemoryDisk({ journalId: 'test', nowMs: () => clock.now });
  const store = new FaultyStore(disk);
  const journal = journalOn(store, clock, share);
  await journal.open();
  const answer = await takeLease(store, 'one');
  if (answer.kind !== 'held') throw new Error('the lease is taken');
  await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
  return { clock, disk, store, journal };
}

/** Writes a note, if there is none by that id. */
export function write(id: string, text: unknown = id): Request<string> {
  return {
    by: `writer of ${id}`,
    decide: (fleet: FleetReader): Decision<string> => {
      const there = fleet.get(NOTE, noteId(id));
      if (there !== undefined) return refuse({ kind: 'conflict', code: 'taken', message: `${id} is taken.` });
      return accept([put(NOTE, noteId(id), { text })], `wrote ${id}`);
    },
  };
}

/** Writes a note whatever is there; its text counts the writes. */
export function count(id: string): Request<number> {
  return {
    by: `counter of ${id}`,
    decide: (fleet: FleetReader): Decision<number> => {
      const value = Number(fleet.get(NOTE, noteId(id))?.doc.text ?? 0) + 1;
      return accept([put(NOTE, noteId(id), { text: value })], value);
    },
  };
}

export function commitsOn(disk: MemoryDisk): string[] {
  return disk.state.commits.map((commit) => `${commit.revision} ${commit.by}`);
}
