// Text of an earlier version in the store: whoever is shown documents is shown them as this version has them, and the text stays.
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { idOf, put, Registry, renameFields, schemaKind, type AnyDoc } from '../fleet/index.ts';
import { Journal } from './journal.ts';
import { RecordingClock, takeLease } from './journal-fixture.ts';
import { batch, mustWrite, snapshotOf } from './contract/world.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { StoreDamaged } from './damage.ts';
import { accept } from './request.ts';

const NOTE = schemaKind('note', Type.Object({ text: Type.String() }, { additionalProperties: false }));
const ID = idOf(NOTE, 'one');
const refusing = (doc: AnyDoc): AnyDoc => {
  if ('poison' in doc) throw new Error('the migration has a bug');
  return renameFields(doc, { words: 'text' });
};
const registry = new Registry([{ kinds: [NOTE], migrations: [{ kind: 'note', migrate: refusing }] }]);

const former = (text: string) => batch([{ kind: 'note', id: 'one', body: JSON.stringify({ words: text }) }]);

function world(): { store: MemoryStore; newJournal: () => Journal } {
  const clock = new RecordingClock();
  const store = new MemoryStore(new MemoryDisk({ journalId: 'test', nowMs: () => clock.now }));
  let ids = 0;
  const next = (prefix: string): string => `${prefix}-${(ids += 1)}`;
  const newJournal = () => new Journal({ store, registry, clock, ids: { next, secret: () => '' } });
  return { store, newJournal };
}

async function firstWatched(journal: Journal, after: number): Promise<unknown> {
  const over = new AbortController();
  for await (const event of journal.watch({ revision: after }, over.signal)) {
    over.abort();
    return event.kind === 'commits'
      ? event.commits.flatMap(({ changes }) => changes.map(({ doc }) => doc))
      : event.kind;
  }
  return undefined;
}

describe('text of an earlier version', () => {
  test('is-a-document-of-this-one-when-it-is-loaded, and-the-text-stays', async () => {
    const { store, newJournal } = world();
    await mustWrite(store, former('before'));
    const before = await snapshotOf(store);
    const journal = newJournal();
    await journal.open();
    expect(journal.fleet.get(NOTE, ID)?.doc).toEqual({ text: 'before' });
    expect(await snapshotOf(store)).toEqual(before);
    expect(await firstWatched(journal, 0)).toEqual([{ text: 'before' }]);
  });

  test('may-follow-text-of-this-one, when an older server takes the lease again', async () => {
    const { store, newJournal } = world();
    const [journal, follower] = [newJournal(), newJournal()];
    await journal.open();
    await follower.open();
    const answer = await takeLease(store, 'one');
    if (answer.kind !== 'held') throw new Error('the lease is taken');
    await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
    await journal.submit({ by: 'x', decide: () => accept([put(NOTE, ID, { text: 'now' })], 0) });
    await mustWrite(store, former('older'));
    await mustWrite(store, former('oldest'));
    await follower.catchUp();
    expect(follower.fleet.get(NOTE, ID)?.doc).toEqual({ text: 'oldest' });
    expect(await firstWatched(follower, 0)).toEqual([{ text: 'now' }, { text: 'older' }, { text: 'oldest' }]);
  });

  test('is-no-damage-when-the-migration-throws: that is a bug, and named as it is', async () => {
    const { store, newJournal } = world();
    await mustWrite(store, batch([{ kind: 'note', id: 'one', body: '{"poison":1}' }]));
    await expect(newJournal().open()).rejects.toThrow('the migration has a bug');
  });

  test('is-damage-when-it-is-no-JSON, whatever a migration says of others', async () => {
    const { store, newJournal } = world();
    await mustWrite(store, batch([{ kind: 'note', id: 'a', body: '{"poison":1}' }]));
    await mustWrite(store, batch([{ kind: 'note', id: 'b', body: '{"text":' }]));
    await expect(newJournal().open()).rejects.toBeInstanceOf(StoreDamaged);
  });
});
