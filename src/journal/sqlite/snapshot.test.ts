// The documents of a large fleet are read by a thread, page by page: what else the process does continues meanwhile.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openSqliteStore, type SqliteStore } from './store.ts';
import { batch, mustWrite, put, snapshotOf } from '../contract/world.ts';
import type { StoredResource } from '../store.ts';

const MANY = Array.from({ length: 6_000 }, (_, n) => `h${n}`);

let path: string;
let store: SqliteStore;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-snapshot-'));
  path = join(folder, 'journal.db');
  store = await openSqliteStore({ path });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  await mustWrite(store, batch(MANY.map((id) => put(id))));
});

async function countTurns(over: AbortSignal, turned: () => void): Promise<void> {
  while (!over.aborted) {
    await setImmediate();
    turned();
  }
}

describe('a snapshot of many documents', () => {
  test('never: two pages in one turn of the event loop', async () => {
    const over = new AbortController();
    let turns = 0;
    const counting = countTurns(over.signal, () => {
      turns += 1;
    });
    const turnOfPage: number[] = [];
    await store.snapshot(() => turnOfPage.push(turns));
    over.abort();
    await counting;
    expect(turnOfPage.length).toBeGreaterThan(5);
    expect(new Set(turnOfPage).size).toBe(turnOfPage.length);
  });

  test('is of the moment of its first page, whatever is written between two', async () => {
    const ids: string[] = [];
    const written: Promise<number>[] = [];
    const { revision, damage } = await store.snapshot((page) => {
      if (written.length === 0) written.push(mustWrite(store, batch([put('new')])));
      ids.push(...page.map((one) => one.id));
    });
    await Promise.all(written);
    expect({ revision, damage }).toEqual({ revision: 1, damage: [] });
    expect(ids.toSorted()).toEqual(MANY.toSorted());
    expect((await snapshotOf(store)).resources).toHaveLength(MANY.length + 1);
  });

  test('lets history and the lease through between two pages', async () => {
    const order: string[] = [];
    const requests: Promise<unknown>[] = [];
    const noting = async (name: string, work: Promise<unknown>): Promise<void> => {
      await work;
      order.push(name);
    };
    const request = { name: 'fleet', holder: 's1', url: '', ttlMs: 1000 };
    await noting(
      'snapshot',
      store.snapshot(() => {
        if (requests.length > 0) return;
        requests.push(noting('history', store.history({ limit: 1 })), noting('lease', store.acquireLease(request)));
      }),
    );
    await Promise.all(requests);
    expect(order.at(-1)).toBe('snapshot');
    expect(order).toHaveLength(3);
  });

  test('that fails in its consumer ends there, and the next one is whole', async () => {
    const broken = (_: readonly StoredResource[]): void => {
      throw new Error('a bug');
    };
    await expect(store.snapshot(broken)).rejects.toThrow('a bug');
    expect((await snapshotOf(store)).resources).toHaveLength(MANY.length);
  });

  test('that a closing store leaves unfinished says so', async () => {
    let closed: Promise<void> | undefined;
    const taken = store.snapshot(() => {
      closed ??= store.close();
    });
    await expect(taken).rejects.toMatchObject({ name: 'StoreUnavailable', retryable: true });
    await closed;
  });
});
