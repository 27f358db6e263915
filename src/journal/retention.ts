// What retention deletes: documents that their kind declares expired, and history beyond its age. Expiry is a
// commit like any other. It must never forget a document that has changed since it was planned.
import { Type } from 'typebox';
import { setting, type AnyDoc, type Change, type Fleet, type FleetReader, type Id, type Kind } from '../fleet/index.ts';
import { accept, type Decision } from './request.ts';

const DAY_MS = 24 * 3600 * 1000;

export const RETENTION = setting('retention', {
  about: 'How many days the history of changes is kept. Older revisions can no longer be read or watched from.',
  schema: Type.Object({ historyDays: Type.Integer({ minimum: 1, maximum: 36_500 }) }, { additionalProperties: false }),
  defaultValue: { historyDays: 90 },
});

export type RetentionSettings = (typeof RETENTION)['defaultValue'];

/** History is kept for at least this long unless configured otherwise. */
export function historyCutoffMs({ historyDays }: RetentionSettings, nowMs: number): number {
  return nowMs - historyDays * DAY_MS;
}

/** A document whose time has come, as the plan read it. */
export interface ExpiredDocument {
  readonly kind: Kind;
  readonly id: string;
  readonly revision: number;
}

/** Where a walk over all documents stands. */
export interface WalkPosition {
  readonly kind: number;
  readonly after: string;
}

export const WALK_START: WalkPosition = { kind: 0, after: '' };

export interface RetentionPlan {
  readonly expired: readonly ExpiredDocument[];
  /** Where the scan continues; undefined at its end. */
  readonly next: WalkPosition | undefined;
}

/** Scans up to `limit` documents from a position on. The whole scan is O(fleet): it is done in many small steps. */
export function planRetention(
  fleet: Fleet,
  position: WalkPosition,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): RetentionPlan {
  const kinds = expiringKinds(fleet);
  const kind = kinds[position.kind];
  if (kind === undefined) return { expired: [], next: undefined };
  const page = fleet.page(kind, position.after, limit);
  const expired = page
    .filter((stored) => hasExpired(fleet, kind, stored.doc, nowMs))
    .map(({ id, revision }) => ({ kind, id, revision }));
  const last = page.at(-1);
  if (last !== undefined && page.length === limit) return { expired, next: { ...position, after: last.id } };
  const following = position.kind + 1;
  return { expired, next: following < kinds.length ? { kind: following, after: '' } : undefined };
}

/**
 * In the order in which modules declare them: a kind comes before those that hang on it. Once an operation is gone nothing can
 * retry it, and its items have expired with it.
 */
function expiringKinds(fleet: Fleet): Kind[] {
  return [...fleet.registry.kinds.values()].filter((kind) => kind.expiresAtMs !== undefined);
}

function hasExpired(fleet: FleetReader, kind: Kind, doc: AnyDoc, nowMs: number): boolean {
  const atMs = kind.expiresAtMs?.(doc, fleet);
  return atMs !== undefined && atMs <= nowMs;
}

/** Deletes what is still as the plan saw it, and still expired: what it hangs on may have come back to life. */
export function deleteExpired(
  fleet: FleetReader,
  expired: readonly ExpiredDocument[],
  nowMs: number,
): Decision<number> {
  const changes = expired.flatMap(({ kind, id, revision }): Change[] => {
    const stored = fleet.get(kind, id as Id<string>);
    const same = stored?.revision === revision && hasExpired(fleet, kind, stored.doc, nowMs);
    return same ? [{ kind: kind.name, id, doc: null }] : [];
  });
  return accept(changes, changes.length);
}
