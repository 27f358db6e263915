// The fleet as a whole from the store: at the start, and anew when the store is not where the fleet is.
import { describe, expect, it, vi } from 'vitest';
import { journalOn, NOTE, makeRig, write } from './journal-fixture.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { StoreUnavailable } from './store.ts';

/** A store that can be replaced by another one under the journal's feet, as a standby that is promoted. */
function standby(): { store: MemoryStore; promote: (other: MemoryStore) => void } {
  const disk = new MemoryDisk({ journalId: 'test', nowMs: () => 0 });
  let current = new MemoryStore(disk);
  const store = new Proxy(current, {
    get: (_target, key): unknown => {
      const value: unknown = Reflect.get(current, key, current);
      return typeof value === 'function' ? (value.bind(current) as unknown) : value;
    },
  });
  return { store, promote: (other) => (current = other) };
}

async function writeNotes(store: MemoryStore, prefix: string, howMany: number): Promise<void> {
  for (let at = 1; at <= howMany; at += 1) {
    const changes = [{ kind: 'note', id: `n${at}`, body: JSON.stringify({ text: prefix }) }];
    await store.write({ batches: [{ id: `${prefix}-${at}`, atMs: 0, by: prefix, changes, preconditions: [] }] });
  }
}

describe('a store that is not the journal that was followed', () => {
  it.each([
    ['behind', 1],
    ['at the same revision', 3],
    ['ahead', 5],
  ])('%s: the fleet is loaded anew, and watchers have to start anew', async (_name, howMany) => {
    const { store, promote } = standby();
    await writeNotes(store, 'primary', 3);
    const disk = new MemoryDisk({ journalId: 'test', nowMs: () => 0 });
    const journal = journalOn(store);
    await journal.open();
    const watch = journal.watch({ revision: 3 }, new AbortController().signal);
    const next = watch.next();
    const promoted = new MemoryStore(disk);
    await writeNotes(promoted, 'standby', howMany);
    promote(promoted);
    const rebuilt = vi.fn<() => void>();
    journal.onRebuilt(rebuilt);
    await journal.catchUp();
    expect(rebuilt).toHaveBeenCalledOnce();
    expect(journal.fleet.revision).toBe(howMany);
    expect([...journal.fleet.all(NOTE)].map(({ doc }) => doc.text)).toEqual(Array(howMany).fill('standby'));
    await expect(next).resolves.toEqual({ done: false, value: { kind: 'diverged' } });
  });
});

describe('a fleet that is loaded anew', () => {
  it('never: half of what it was and half of what it becomes; it stays whole when the loading fails', async () => {
    const { store, promote } = standby();
    await writeNotes(store, 'primary', 3);
    const journal = journalOn(store);
    await journal.open();
    const promoted = new MemoryStore(new MemoryDisk({ journalId: 'test', nowMs: () => 0 }));
    await writeNotes(promoted, 'standby', 2);
    const texts = (): unknown[] => [...journal.fleet.all(NOTE)].map(({ doc }) => doc.text);
    const seen: unknown[][] = [];
    const whole = promoted.snapshot.bind(promoted);
    let tries = 0;
    promoted.snapshot = async (take) => {
      const answer = await whole((page) => {
        take(page);
        seen.push(texts());
      });
      tries += 1;
      if (tries === 1) throw new StoreUnavailable('cut off', { outcome: 'failed' });
      return answer;
    };
    promote(promoted);
    await expect(journal.catchUp()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(texts()).toEqual(['primary', 'primary', 'primary']);
    expect(journal.fleet.revision).toBe(3);
    await journal.catchUp();
    expect(texts()).toEqual(['standby', 'standby']);
    expect(journal.fleet.revision).toBe(2);
    expect(seen).toEqual([
      ['primary', 'primary', 'primary'],
      ['primary', 'primary', 'primary'],
    ]);
  });
});

describe('open', () => {
  it('that failed half-way and is tried again leaves nothing of the first try', async () => {
    const { journal: other, disk } = await makeRig();
    await other.submit(write('gone-by-then'));
    const store = new MemoryStore(disk);
    const journal = journalOn(store);
    vi.spyOn(store, 'snapshot').mockImplementationOnce(async (take) => {
      await new MemoryStore(disk).snapshot(take);
      throw new StoreUnavailable('cut off', { outcome: 'failed' });
    });
    await expect(journal.open()).rejects.toBeInstanceOf(StoreUnavailable);
    await other.submit({
      by: 'ana',
      decide: () => ({ kind: 'accept', answer: 0, changes: [{ kind: 'note', id: 'gone-by-then', doc: null }] }),
    });
    await journal.open();
    expect(journal.fleet.count(NOTE)).toBe(0);
    expect(journal.fleet.revision).toBe(2);
  });
});
