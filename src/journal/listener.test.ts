import { expect, test } from 'vitest';
import { Type } from 'typebox';
import { idOf, put, Registry, schemaKind } from '../fleet/index.ts';
import { Journal } from './journal.ts';
import { MemoryDisk, MemoryStore } from './memory-store.ts';

const THING = schemaKind('thing', Type.Object({ n: Type.Integer() }, { additionalProperties: false }));

test('a-listener-that-throws-keeps-no-caller-waiting-and-no-other-listener-uninformed', async () => {
  const store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => 0 }));
  const clock = { nowMs: () => 0, sleep: () => Promise.resolve(), turn: () => Promise.resolve() };
  const faults: unknown[] = [];
  const listenerFailed = (error: unknown): unknown => faults.push(error);
  let count = 0;
  const ids = { next: (prefix: string) => `${prefix}-${(count += 1)}`, secret: () => 's' };
  const journal = new Journal({ store, registry: new Registry([{ kinds: [THING] }]), clock, ids, listenerFailed });
  await journal.open();
  await store.acquireLease({ name: 'fleet', holder: 's', url: 'http://s', ttlMs: 1000 });
  await journal.lead({ lease: 'fleet', epoch: 1 });
  const heard: number[] = [];
  journal.onCommit(() => {
    throw new Error('boom');
  });
  journal.onCommit(({ revision }) => heard.push(revision));
  const write = (n: number) =>
    journal.submit({
      by: 'test',
      decide: () => ({ kind: 'accept', changes: [put(THING, idOf(THING, `t${n}`), { n })], answer: n }),
    });
  expect(await Promise.all([write(1), write(2)])).toMatchObject([{ answer: 1 }, { answer: 2 }]);
  expect(await write(3)).toMatchObject({ kind: 'accepted', revision: 3 });
  expect(heard).toEqual([1, 2, 3]);
  expect(faults).toHaveLength(3);
});
