// The witness of a data folder: what it says of a store, and that what it wrote can be read whatever was written before.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Position, Store } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { Witness, WITNESS_FILE } from './witness.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-witness-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A store with so many commits; `by` makes them others than those of another store. */
async function storeWith(commits: number, by = 'somebody', journalId = 'journal'): Promise<Store> {
  const store = new MemoryStore(new MemoryDisk({ journalId, nowMs: () => 1 }));
  for (let nth = 1; nth <= commits; nth += 1) {
    const changes = [{ kind: 'note', id: `n${nth}`, body: '{}' }];
    await store.write({ batches: [{ id: `c${nth}`, atMs: 1, by, changes, preconditions: [] }] });
  }
  return store;
}

async function headOf(store: Store): Promise<Position> {
  const { commits } = await store.history({ limit: 1 });
  const { revision = 0, hash } = commits[0] ?? {};
  return { revision, ...(hash !== undefined && { hash }) };
}

/** A folder whose witness has seen all of a store. */
async function witnessed(store: Store): Promise<string> {
  const folder = newFolder();
  const witness = new Witness(folder);
  witness.release(store.journalId, await headOf(store));
  witness.close();
  return folder;
}

test.each([
  ['the-same', async () => storeWith(3), 3, { kind: 'consistent' }],
  ['one-that-went-on', async () => storeWith(5), 5, { kind: 'consistent' }],
  ['one-that-lost-its-end', async () => storeWith(2), 2, { kind: 'lost', seen: 3, head: 2, fallsBackTo: 2 }],
  [
    'an-older-one-that-went-on-with-others',
    async () => storeWith(3, 'another'),
    3,
    { kind: 'lost', seen: 3, head: 3, fallsBackTo: 2 },
  ],
  ['of-another-journal', async () => storeWith(1, 'somebody', 'another'), 1, { kind: 'other-journal' }],
] as const)('a-store-that-is-%s', async (_name, make, head, finding) => {
  const folder = await witnessed(await storeWith(3));
  expect(await new Witness(folder).examine(await make(), head)).toMatchObject(finding);
});

test('a-witness-that-cannot-be-read-says-so-and-prevents-no-start', async () => {
  const folder = newFolder();
  const store = await storeWith(1);
  expect(await new Witness(folder).examine(store, 1)).toEqual({ kind: 'nothing-known' });
  writeFileSync(join(folder, WITNESS_FILE), '{"journalId":"jour');
  const finding = await new Witness(folder).examine(store, 1);
  expect(finding).toEqual({ kind: 'nothing-known', why: expect.stringContaining('cannot be read') as string });
});

test('what-is-shorter-than-what-was-there-before-can-be-read', async () => {
  const folder = newFolder();
  const witness = new Witness(folder);
  witness.release('a-journal-with-a-long-name', { revision: 123_456, hash: 'f'.repeat(64) });
  witness.record('journal', { revision: 9 });
  witness.close();
  expect(await new Witness(folder).examine(await storeWith(3), 3)).toMatchObject({ kind: 'lost', seen: 9 });
});

test('until-a-loss-is-on-record-what-was-seen-stays', async () => {
  const store = await storeWith(3);
  const folder = await witnessed(store);
  const before = readFileSync(join(folder, WITNESS_FILE), 'utf8');
  const next = new Witness(folder);
  next.record(store.journalId, { revision: 1 });
  expect(readFileSync(join(folder, WITNESS_FILE), 'utf8')).toBe(before);
  next.release(store.journalId, { revision: 4 });
  next.hold();
  next.record(store.journalId, { revision: 5 });
  next.close();
  expect(await new Witness(folder).examine(store, 3)).toMatchObject({ kind: 'lost', seen: 4 });
});

test('never: it is written through a link that somebody planted', () => {
  const folder = newFolder();
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, join(folder, WITNESS_FILE));
  expect(() => new Witness(folder).release('journal', { revision: 1 })).toThrow(/ELOOP/);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
});
