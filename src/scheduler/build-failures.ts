// Recent failed builds on a host. They lower the host's rank, and expire with time or with the next successful build there.
import { Type, type Static } from 'typebox';
import { idOf, put, remove, schemaKind, type Change, type FleetReader } from '../fleet/index.ts';

/** After this time without a failed build a host ranks as any other. */
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
  // Retention may be late; what it has not deleted yet does not count again.
  const lately = before !== undefined && nowMs < before.lastAtMs + EXPIRY_MS;
  return [put(BUILD_FAILURES, id, { host, count: (lately ? before.count : 0) + 1, lastAtMs: nowMs })];
}

export function clearBuildFailures(fleet: FleetReader, host: string): Change[] {
  const id = idOf(BUILD_FAILURES, host);
  return fleet.get(BUILD_FAILURES, id) === undefined ? [] : [remove(BUILD_FAILURES, id)];
}
