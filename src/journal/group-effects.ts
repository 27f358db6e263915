// The net effect of a group on the resources once all its batches are applied, and its preconditions. A resource that
// changes several times in one group is written once, as it ends.
import type { ResourceKey } from './resource-key.ts';
import type { ChainedCommit } from './chain.ts';
import type { DocumentTotals } from './damage.ts';
import type { CommitBatch, WriteConflict, Precondition } from './store.ts';

interface Upsert {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly body: string;
  readonly digest: string | null;
}

interface TouchedResource {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
}

export interface GroupEffects {
  readonly upserts: readonly Upsert[];
  readonly deletes: readonly ResourceKey[];
  /** Each resource once per commit that changes it. */
  readonly touched: readonly TouchedResource[];
}

// A kind has no line break, so two different resources never share a key.
const keyOf = (kind: string, id: string): string => `${kind}\n${id}`;

/** `head` is the revision below the group's first batch; `chained` has the digests of its documents. */
export function effectsOf(
  batches: readonly CommitBatch[],
  head: number,
  chained: readonly ChainedCommit[],
): GroupEffects {
  const last = new Map<string, TouchedResource & { readonly body: string | null; readonly digest: string | null }>();
  const touched: TouchedResource[] = [];
  for (const [at, { changes }] of batches.entries()) {
    const revision = head + at + 1;
    for (const [nth, { kind, id, body }] of changes.entries()) {
      const key = keyOf(kind, id);
      if (last.get(key)?.revision !== revision) touched.push({ kind, id, revision });
      last.set(key, { kind, id, revision, body, digest: chained[at]?.digests[nth] ?? null });
    }
  }
  const upserts: Upsert[] = [];
  const deletes: ResourceKey[] = [];
  for (const { kind, id, revision, body, digest } of last.values()) {
    if (body === null) deletes.push([kind, id]);
    else upserts.push({ kind, id, revision, body, digest });
  }
  return { upserts, deletes, touched };
}

/** A resource as a group leaves it, and what the store must have of it before. */
export interface GuardedChange {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly body: string | null;
  readonly digest: string | null;
  readonly expected: number | 'absent';
}

/**
 * The changes of a group with their preconditions beside them, for a store that checks while it writes. Undefined when a
 * precondition stands alone, or does not hold within the group: then the store has to check first.
 */
export function listGuardedChanges(
  batches: readonly CommitBatch[],
  head: number,
  chained: readonly ChainedCommit[],
): readonly GuardedChange[] | undefined {
  const last = new Map<string, Map<string, GuardedChange>>();
  for (const [at, { changes, preconditions }] of batches.entries()) {
    if (changes.length !== preconditions.length) return undefined;
    for (const [nth, { kind, id, body }] of changes.entries()) {
      const precondition = preconditions[nth] as Precondition;
      if (precondition.resource[0] !== kind || precondition.resource[1] !== id) return undefined;
      const wanted = expectedRevisionOf(precondition);
      let ofKind = last.get(kind);
      if (ofKind === undefined) last.set(kind, (ofKind = new Map<string, GuardedChange>()));
      const earlier = ofKind.get(id);
      if (earlier !== undefined && (earlier.body === null ? 'absent' : earlier.revision) !== wanted) return undefined;
      const digest = chained[at]?.digests[nth] ?? null;
      ofKind.set(id, { kind, id, revision: head + at + 1, body, digest, expected: earlier?.expected ?? wanted });
    }
  }
  return [...last.values()].flatMap((ofKind) => [...ofKind.values()]);
}

/** How a group changes the number of documents and the sum of their revisions. */
export function totalsDelta(changes: readonly Pick<GuardedChange, 'body' | 'revision' | 'expected'>[]): DocumentTotals {
  let [count, revisionSum] = [0, 0];
  for (const { body, revision, expected } of changes) {
    if (expected !== 'absent') [count, revisionSum] = [count - 1, revisionSum - expected];
    if (body !== null) [count, revisionSum] = [count + 1, revisionSum + revision];
  }
  return { count, revisionSum };
}

/** The first precondition that does not hold, earlier batches of the group counted in. */
export function resourceConflictOf(
  batches: readonly CommitBatch[],
  head: number,
  storedRevision: (key: ResourceKey) => number | 'absent',
): WriteConflict | undefined {
  const inGroup = new Map<string, number | 'absent'>();
  for (const [batch, { preconditions, changes }] of batches.entries()) {
    for (const precondition of preconditions) {
      const { resource } = precondition;
      const expected = expectedRevisionOf(precondition);
      const actual = inGroup.get(keyOf(...resource)) ?? storedRevision(resource);
      if (actual !== expected) return { kind: 'resource', batch, resource, expected, actual };
    }
    for (const { kind, id, body } of changes) {
      inGroup.set(keyOf(kind, id), body === null ? 'absent' : head + batch + 1);
    }
  }
  return undefined;
}

function expectedRevisionOf(precondition: Precondition): number | 'absent' {
  return precondition.kind === 'at' ? precondition.revision : 'absent';
}

/** A precondition in its group, for a store that learns the head only while it writes. */
export interface GroupPrecondition {
  readonly batch: number;
  readonly resource: ResourceKey;
  readonly expected: number | 'absent';
  /** How an earlier batch leaves the resource: `n` at the revision of the group's nth batch. Undefined if none changes it. */
  readonly revisionInGroup: number | 'absent' | undefined;
}

/** Every precondition, in the order in which they count. */
export function groupPreconditions(batches: readonly CommitBatch[]): readonly GroupPrecondition[] {
  const inGroup = new Map<string, number | 'absent'>();
  return batches.flatMap(({ preconditions, changes }, batch) => {
    const placed = preconditions.map((precondition): GroupPrecondition => {
      const { resource } = precondition;
      return {
        batch,
        resource,
        expected: expectedRevisionOf(precondition),
        revisionInGroup: inGroup.get(keyOf(...resource)),
      };
    });
    for (const { kind, id, body } of changes) inGroup.set(keyOf(kind, id), body === null ? 'absent' : batch + 1);
    return placed;
  });
}
