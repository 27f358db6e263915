// A group as one flat list of texts and numbers, and back: the form in which it is sent to another thread. Copying a list costs a quarter of
// what copying the same as objects does.
import type { CommitBatch, Precondition, TextChange } from './store.ts';

export type FlatGroup = readonly (string | number | null)[];

/** The precondition is about the change beside it, as nearly all are. */
const SAME_RESOURCE = 0;
const ABSENT = -1;

export function flattenGroup(batches: readonly CommitBatch[]): FlatGroup {
  const flat: (string | number | null)[] = [];
  for (const { id, atMs, by, why, operation, changes, preconditions } of batches) {
    flat.push(id, atMs, by, why ?? null, operation ?? null, changes.length, preconditions.length);
    for (const { kind, id: resource, body } of changes) flat.push(kind, resource, body);
    for (const [nth, precondition] of preconditions.entries()) {
      const [kind, resource] = precondition.resource;
      const beside = changes[nth];
      flat.push(precondition.kind === 'at' ? precondition.revision : ABSENT);
      if (beside?.kind === kind && beside.id === resource) flat.push(SAME_RESOURCE);
      else flat.push(kind, resource);
    }
  }
  return flat;
}

export function unflattenGroup(flat: FlatGroup): readonly CommitBatch[] {
  let at = 0;
  const next = (): string | number | null => flat[at++] as string | number | null;
  const batches: CommitBatch[] = [];
  while (at < flat.length) {
    const note = { id: next() as string, atMs: next() as number, by: next() as string };
    const [why, operation] = [next() as string | null, next() as string | null];
    const [changeCount, preconditionCount] = [next() as number, next() as number];
    const changes = Array.from({ length: changeCount }, (): TextChange => {
      const [kind, id] = [next() as string, next() as string];
      return { kind, id, body: next() as string | null };
    });
    const preconditions = Array.from({ length: preconditionCount }, (_, nth): Precondition => {
      const revision = next() as number;
      const kind = next();
      const beside = changes[nth];
      const resource: Precondition['resource'] =
        typeof kind === 'number' ? [beside?.kind ?? '', beside?.id ?? ''] : [kind ?? '', next() as string];
      return revision === ABSENT ? { kind: 'absent', resource } : { kind: 'at', resource, revision };
    });
    const optional = { ...(why === null ? {} : { why }), ...(operation === null ? {} : { operation }) };
    batches.push({ ...note, ...optional, changes, preconditions });
  }
  return batches;
}
