import { expect, test } from 'vitest';
import { Type } from 'typebox';
import { idOf, put, Registry, schemaKind } from '../fleet/index.ts';
import { Journal } from './journal.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';

const THING = schemaKind('thing', Type.Object({ n: Type.Integer() }, { additionalProperties: false }));

interface Listening {
  readonly faults: unknown[];
  readonly revisions: number[];
  readonly journal: Journal;
  write(n: number): Promise<unknown>;
}

async function listening(onPosition?: () => void): Promise<Listening> {
  const store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => 0 }));
  const clock = { nowMs: () => 0, sleep: () => Promise.resolve(), turn: () => Promise.resolve() };
  const faults: unknown[] = [];
  const onListenerError = (error: unknown): unknown => faults.push(error);
  let count = 0;
  const ids = { next: (prefix: string) => `${prefix}-${(count += 1)}`, secret: () => 's' };
  const registry = new Registry([{ kinds: [THING] }]);
  const journal = new Journal({ store, registry, clock, ids, onListenerError, ...(onPosition && { onPosition }) });
  await journal.open();
  await store.acquireLease({ name: 'fleet', holder: 's', url: 'http://s', ttlMs: 1000 });
  await journal.lead({ lease: 'fleet', epoch: 1 });
  const revisions: number[] = [];
  const write = (n: number): Promise<unknown> =>
    journal.submit({
      by: 'test',
      decide: () => ({ kind: 'accept', changes: [put(THING, idOf(THING, `t${n}`), { n })], answer: n }),
    });
  return { faults, revisions, journal, write };
}

test('a-listener-that-throws-keeps-no-caller-waiting-and-no-other-listener-uninformed', async () => {
  const { journal, revisions, faults, write } = await listening();
  journal.onCommit(() => {
    throw new Error('boom');
  });
  journal.onCommit(({ commit }) => revisions.push(commit.revision));
  expect(await Promise.all([write(1), write(2)])).toMatchObject([{ answer: 1 }, { answer: 2 }]);
  expect(await write(3)).toMatchObject({ kind: 'accepted', revision: 3 });
  expect(revisions).toEqual([1, 2, 3]);
  expect(faults).toHaveLength(3);
});

test('a-witness-that-cannot-be-written-keeps-no-caller-waiting-and-no-listener-uninformed', async () => {
  let isFull = false;
  const { journal, revisions, faults, write } = await listening(() => {
    if (isFull) throw new Error('ENOSPC: no space left on device');
  });
  journal.onCommit(({ commit }) => revisions.push(commit.revision));
  isFull = true;
  expect(await write(1)).toMatchObject({ kind: 'accepted', revision: 1 });
  isFull = false;
  expect(await write(2)).toMatchObject({ kind: 'accepted', revision: 2 });
  expect(revisions).toEqual([1, 2]);
  expect(faults).toHaveLength(1);
});
