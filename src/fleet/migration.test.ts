import { describe, expect, test } from 'vitest';
import { migrateField, renameFields, renameReasons, renameValue } from './migration.ts';
import { Registry } from './registry.ts';

describe('a document of an earlier version', () => {
  test.each<[string, object, object]>([
    ['keeps-the-places-of-its-fields', { a: 1, old: 2, z: 3 }, { a: 1, new: 2, z: 3 }],
    ['keeps-what-it-has-by-the-new-name', { old: 2, new: 3 }, { new: 3 }],
    ['may-have-fields-that-are-called-like-parts-of-every-object', { constructor: 1 }, { constructor: 1 }],
  ])('%s', (_, doc, migrated) => {
    expect(Object.entries(renameFields(doc, { old: 'new' }))).toEqual(Object.entries(migrated));
  });

  test('has-words-renamed-in-the-field-that-they-belong-to', () => {
    const doc = { phase: 'seeding', title: 'seeding' };
    expect(renameValue(doc, 'phase', { seeding: 'syncing' })).toEqual({ phase: 'syncing', title: 'seeding' });
  });

  test('has-its-lists-looked-through', () => {
    const rename = (inner: object): object => renameValue(inner, 'because', { silent: 'bfd-down' });
    const doc = { rejected: [{ because: 'silent' }, 'text', null, { because: 'removed' }] };
    expect(migrateField(doc, 'rejected', rename)).toEqual({
      rejected: [{ because: 'bfd-down' }, 'text', null, { because: 'removed' }],
    });
  });

  test.each<object>([{ rejected: [{ because: 'removed' }] }, { rejected: null }, { rejected: 'unheard' }, {}])(
    'is-the-same-object-when-nothing-is-to-be-done: %j',
    (doc) => {
      const rename = (inner: object): object => renameValue(inner, 'because', { silent: 'bfd-down' });
      expect(migrateField(renameFields(doc, { old: 'new' }), 'rejected', rename)).toBe(doc);
    },
  );
});

test.each(['operation', 'item', 'alarm'])(
  'reasons-are-renamed-in-each-%s, with the codes that they tell of',
  (kind) => {
    const registry = new Registry([
      { kinds: [], migrations: renameReasons({ 'host-not-heard': 'host-not-connected' }) },
      { kinds: [], migrations: renameReasons({ 'peer-not-heard': 'peer-not-connected' }) },
    ]);
    const doc = { reason: { code: 'host-not-heard', waitedFor: 'peer-not-heard', host: 'peer-not-heard' } };
    const migrated = {
      reason: { code: 'host-not-connected', waitedFor: 'peer-not-connected', host: 'peer-not-heard' },
    };
    expect(registry.migrate(kind, 'x', doc)).toEqual(migrated);
    expect(registry.migrate('host', 'x', doc)).toBe(doc);
    const present = registry.migrate(kind, 'x', doc);
    expect(registry.migrate(kind, 'x', present)).toBe(present);
  },
);
