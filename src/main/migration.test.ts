// A store of version 0.1.0 (test/fixtures/journal-0.1.0.mjs made it, with the program of commit c1637d5), opened by this one.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ELECTION } from '../election/index.ts';
import { idOf, SETTING, valueOf, type AnyDoc, type Id, type Kind } from '../fleet/index.ts';
import { accept, Journal, parseChange } from '../journal/index.ts';
import { MemoryDisk, MemoryStore, openSqliteReader, openSqliteStore, sha256, Verifier } from '../journal/runtime.ts';
import { PROGRAM } from './modules.ts';

interface FixtureDocument {
  readonly kind: string;
  readonly id: string;
  readonly doc: AnyDoc;
  readonly migrated: AnyDoc;
  readonly before?: AnyDoc;
  readonly migratedBefore?: AnyDoc;
  readonly isCompacted?: true;
  readonly isDeleted?: true;
}

const FIXTURES = new URL('../../test/fixtures/', import.meta.url);
const { codes, documents } = JSON.parse(readFileSync(new URL('journal-0.1.0.json', FIXTURES), 'utf8')) as {
  readonly codes: Readonly<Record<string, string>>;
  readonly documents: readonly FixtureDocument[];
};
const registry = PROGRAM.newRegistry();
const clock = { nowMs: () => 1_700_000_100_000, sleep: async () => undefined, turn: async () => undefined };
const newJournal = (store: ConstructorParameters<typeof Journal>[0]['store']): Journal => {
  let ids = 0;
  const next = (prefix: string): string => `${prefix}-after-${(ids += 1)}`;
  return new Journal({ store, registry: PROGRAM.newRegistry(), clock, ids: { next, secret: () => '' } });
};

async function copyOfFixture(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-migration-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'journal.db');
  await copyFile(new URL('journal-0.1.0.db', FIXTURES), path);
  return path;
}

async function openFixture(path: string) {
  const store = await openSqliteStore({ path });
  const journal = newJournal(store);
  await journal.open();
  return { store, journal };
}

async function write(journal: Journal, kind: string, id: string, doc: AnyDoc): Promise<void> {
  const answer = await journal.store.acquireLease({ name: 'fleet', holder: 'x', url: 'https://x', ttlMs: 60_000 });
  if (answer.kind !== 'held') throw new Error('the lease is taken');
  await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
  const outcome = await journal.submit({ by: 'root', decide: () => accept([{ kind, id, doc }], null) });
  expect(outcome).toMatchObject({ kind: 'accepted' });
}

/** What version 0.1.0 wrote, byte by byte. */
function rowsOf(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  const [head, ...tables] = ['head', 'commit_log', 'resource', 'touched'].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  );
  database.close();
  return { head, tables };
}

async function damageOf(path: string): Promise<unknown> {
  const verifier = new Verifier(sha256);
  const reader = openSqliteReader(path);
  await reader.dump(verifier);
  await reader.close();
  return verifier.finish().damage;
}

async function watched(journal: Journal, after: number): Promise<[string, string, AnyDoc | null][]> {
  const over = new AbortController();
  for await (const event of journal.watch({ revision: after }, over.signal)) {
    over.abort();
    if (event.kind !== 'commits') throw new Error(event.kind);
    return event.commits.flatMap(({ changes }) =>
      changes.map(({ kind, id, doc }): [string, string, AnyDoc | null] => [kind, id, doc]),
    );
  }
  return [];
}

function wordsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(wordsOf)];
}

describe('each document of version 0.1.0', () => {
  test.each(documents.map((one) => [`${one.kind}/${one.id}`, one] as const))('%s', (_, { kind, id, doc, migrated }) => {
    const present = registry.migrate(kind, id, structuredClone(doc));
    expect(present).toEqual(migrated);
    expect((registry.kinds.get(kind) as Kind).check(present)).toBeUndefined();
    expect(registry.migrate(kind, id, present)).toBe(present);
  });

  test.each(Object.entries(codes))('one-has-"%s", which-is-"%s"-now', (from, to) => {
    const renamed = documents.filter(({ doc, migrated }) => {
      const [before, after] = [wordsOf(doc), wordsOf(migrated)];
      return before.includes(from) && after.includes(to) && !after.includes(from);
    });
    expect(renamed).not.toEqual([]);
  });
});

describe('a store of version 0.1.0', () => {
  test('opens-with-every-document-as-this-version-has-it', async () => {
    const { store, journal } = await openFixture(await copyOfFixture());
    for (const { kind, id, migrated, isDeleted } of documents) {
      const stored = journal.fleet.get(registry.kinds.get(kind) as Kind, id as Id<string>);
      expect(stored?.doc).toEqual(isDeleted === true ? undefined : migrated);
    }
    await store.close();
  });

  test('never: the program of version 0.1.0 opens what this version may have written to', async () => {
    const path = await copyOfFixture();
    const schemaOf = (): unknown => {
      const database = new DatabaseSync(path, { readOnly: true });
      const version = database.prepare('PRAGMA user_version').get()?.['user_version'];
      database.close();
      return version;
    };
    // The last schema that 0.1.0 knows: it refuses every higher one by name (`schema-too-new`).
    expect(schemaOf()).toBe(2);
    const { store } = await openFixture(path);
    await store.close();
    expect(schemaOf()).toBe(3);
  });

  test('has-its-settings, which-are-read-without-a-check', async () => {
    const { store, journal } = await openFixture(await copyOfFixture());
    const value = valueOf(journal.fleet, ELECTION);
    expect(value).toEqual({ held: false, handoverDrainMs: 2000, handoversAtOnce: 16, bfd: false, bfdIntervalMs: 250 });
    expect(ELECTION.problems(value)).toEqual([]);
    await store.close();
  });

  test('never: text, digests or hashes of what was written before are others after it was opened and written to', async () => {
    const path = await copyOfFixture();
    const before = rowsOf(path);
    const { store, journal } = await openFixture(path);
    expect(rowsOf(path)).toEqual(before);
    expect(await damageOf(path)).toEqual([]);
    await write(journal, 'setting', 'election', { value: ELECTION.defaultValue, changedBy: 'x', changedAtMs: 1 });
    expect(await damageOf(path)).toEqual([]);
    expect(journal.fleet.get(SETTING, idOf(SETTING, 'election'))?.doc.value).toEqual(ELECTION.defaultValue);
    await store.close();
    expect(await damageOf(path)).toEqual([]);
  });

  test('is-watched-and-looked-up-in-the-words-of-this-version', async () => {
    const { store, journal } = await openFixture(await copyOfFixture());
    const { commits } = await store.history({ limit: 1000 });
    const history = commits.flatMap(({ changes }) => changes.map((change) => parseChange(registry, change)));
    const logged = documents.filter(({ isCompacted }) => isCompacted !== true);
    const expected = [
      ...logged.flatMap((one) => (one.migratedBefore === undefined ? [] : [[one.kind, one.id, one.migratedBefore]])),
      ...logged.map((one) => [one.kind, one.id, one.migrated]),
      ...logged.flatMap((one) => (one.isDeleted === true ? [[one.kind, one.id, null]] : [])),
    ];
    expect(history.toReversed().map(({ kind, id, doc }) => [kind, id, doc])).toEqual(expected);
    expect(await watched(journal, documents.length - logged.length)).toEqual(expected);
    await store.close();
  });
});

test('a-follower-of-a-server-of-version-0.1.0-has-what-it-writes-as-this-version-has-it', async () => {
  const store = new MemoryStore(new MemoryDisk({ journalId: 'test', nowMs: clock.nowMs }));
  const follower = newJournal(store);
  await follower.open();
  let ids = 0;
  for (const { kind, id, doc } of documents) {
    const change = { kind, id, body: JSON.stringify(doc) };
    const note = { id: `c-${(ids += 1)}`, atMs: ids, by: 'an older server' };
    const answer = await store.write({ batches: [{ ...note, changes: [change], preconditions: [] }] });
    expect(answer.kind).toBe('written');
    await follower.catchUp();
    const known = documents.find((one) => one.kind === kind && one.id === id);
    expect(follower.fleet.get(registry.kinds.get(kind) as Kind, id as Id<string>)?.doc).toEqual(known?.migrated);
  }
});
