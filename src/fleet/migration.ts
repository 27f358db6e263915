// Stored text of an earlier version becomes a document of this one: fields and words that have another name now. Whether there is
// anything to do is seen by the form of the document and not by a version number: in one log both may alternate, while servers of two
// versions take the lease in turn. The text itself, and what is computed over it, is never rewritten.
import type { AnyDoc } from './document.ts';

/**
 * Of one kind. Pure; answers the same object when there is nothing to do, and does nothing to what it made itself. It must take any
 * object: nothing has checked the document yet.
 */
export interface Migration {
  readonly kind: string;
  readonly migrate: (doc: AnyDoc, id: string) => AnyDoc;
}

/** What it was called, and what it is called now. */
export type Renames = Readonly<Record<string, string>>;

type Fields = Readonly<Record<string, unknown>>;

const hasOwn = (table: object, key: string): boolean => Object.hasOwn(table, key);

/** Fields keep their places. One that is there by its new name, too, is left out by its old one. */
export function renameFields<D extends object>(doc: D, renames: Renames): D {
  const keys = Object.keys(doc);
  if (!keys.some((key) => hasOwn(renames, key))) return doc;
  const entries = Object.entries(doc).flatMap(([key, value]): [string, unknown][] => {
    if (!hasOwn(renames, key)) return [[key, value]];
    const renamed = renames[key] as string;
    return hasOwn(doc, renamed) ? [] : [[renamed, value]];
  });
  return Object.fromEntries(entries) as D;
}

/** The value of a field, if it is one of these words. */
export function renameValue<D extends object>(doc: D, field: string, renames: Renames): D {
  const value = (doc as Fields)[field];
  return typeof value === 'string' && hasOwn(renames, value) ? { ...doc, [field]: renames[value] } : doc;
}

/** A field that is an object, or a list of them: the others are left as they are. */
export function migrateField<D extends object>(doc: D, field: string, migrate: (inner: object) => object): D {
  const value = (doc as Fields)[field];
  if (typeof value !== 'object' || value === null) return doc;
  if (!Array.isArray(value)) {
    const migrated = migrate(value);
    return migrated === value ? doc : { ...doc, [field]: migrated };
  }
  const list: readonly unknown[] = value;
  const migrated = list.map((one) => (typeof one === 'object' && one !== null ? migrate(one) : one));
  return migrated.every((one, at) => one === list[at]) ? doc : { ...doc, [field]: migrated };
}

/** Where reasons are kept, and the facts of a reason that are codes of another. */
const WITH_REASON = ['operation', 'item', 'alarm'];
const CODES_OF_REASON = ['code', 'waitedFor', 'failedFor'];

/** Reason codes that a module has renamed, wherever reasons are kept. */
export function renameReasons(codes: Renames): Migration[] {
  return migrateReasons((reason) =>
    CODES_OF_REASON.reduce((migrated, field) => renameValue(migrated, field, codes), reason),
  );
}

/** For what else of a reason has another name. */
export function migrateReasons(migrate: (reason: object) => object): Migration[] {
  return WITH_REASON.map((kind) => ({ kind, migrate: (doc) => migrateField(doc, 'reason', migrate) }));
}
