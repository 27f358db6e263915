// Builds that failed on a host lately. They make the host come later in the ranking, and are forgotten with time or with the
// next build that goes well there.
import { Type, type Static } from 'typebox';
import { idOf, put, remove, schemaKind, type Change, type FleetReader } from '../fleet/index.ts';

/** A host that failed no build for so long is as good as any. */
const EXPIRY_MS = 3_600_000;

const SCHEMA = Type.Object(
  { host: Type.String(), count: Type.Integer({ minimum: 1 }), lastAtMs: Type.Integer() },
  { additionalProperties: false },
);
export type BuildFailures = Static<typeof SCHEMA>;

/** The id is the host's. */
export const BUILD_FAILURES = schemaKind('build-failures', SCHEMA, {
  expiresAtMs: ({ lastAtMs }) => lastAtMs + EXPIRY_MS,
});

export function recordBuildFailure(fleet: FleetReader, host: string, nowMs: number): Change[] {
  const id = idOf(BUILD_FAILURES, host);
  const before = fleet.get(BUILD_FAILURES, id)?.doc;
  // Retention may come late; what it has not taken yet does not count again.
  const lately = before !== undefined && nowMs < before.lastAtMs + EXPIRY_MS;
  return [put(BUILD_FAILURES, id, { host, count: (lately ? before.count : 0) + 1, lastAtMs: nowMs })];
}

export function clearBuildFailures(fleet: FleetReader, host: string): Change[] {
  const id = idOf(BUILD_FAILURES, host);
  return fleet.get(BUILD_FAILURES, id) === undefined ? [] : [remove(BUILD_FAILURES, id)];
}
