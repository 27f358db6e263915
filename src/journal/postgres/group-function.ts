// The function in PostgreSQL that writes a group: one statement, one round trip, a transaction of its own. It moves the head
// first, which is the lock; all that decides anything is read after that, each statement with a snapshot of its own. It must
// never return without having written the group: a refusal is an exception, so that nothing of the group stays.
import { escapeLiteral } from 'pg';

// Classes of their own: no error of PostgreSQL begins with these letters.
export const GROUP_REFUSED = 'MU001';
export const NOT_DURABLE = 'MU002';

/** What is in the way, in the exception's detail. */
export type GroupRefusal =
  | { readonly kind: 'lease'; readonly actualEpoch: number; readonly expired: boolean }
  | { readonly kind: 'head'; readonly actual: number }
  /** `nth` counts the preconditions from 1; `actual` is null where there is no such resource. */
  | { readonly kind: 'resource'; readonly nth: number; readonly actual: number | null }
  /** The head is not the one that the hashes were made on. */
  | { readonly kind: 'chain' };

// Positions (`..._at`, `wanted_left`) count the group's batches from 1, since only the function knows the head. `wanted_left`
// is how an earlier batch leaves the resource: null when none changes it, 0 when it is deleted.
export const UNCHAINED_PARAMETERS = `
  commit_ids text[], commit_at_ms bigint[], commit_by text[], commit_why text[], commit_operations text[],
  commit_changes text[],
  touched_kinds text[], touched_ids text[], touched_at bigint[],
  kept_kinds text[], kept_ids text[], kept_at bigint[], kept_bodies text[],
  dropped_kinds text[], dropped_ids text[],
  wanted_kinds text[], wanted_ids text[], wanted_revisions bigint[], wanted_left bigint[],
  fence_lease text, fence_epoch bigint, fence_holder text, expected_head bigint, head_channel text`;

/** Part of a migration: once released, a change of it is another migration. */
export const createWriteGroup = (s: string): string => `
  CREATE FUNCTION ${s}.write_group(${UNCHAINED_PARAMETERS}) RETURNS bigint LANGUAGE plpgsql VOLATILE AS ${escapeLiteral(bodyOf(s))}`;

const bodyOf = (s: string): string => `
DECLARE
  size bigint := cardinality(commit_ids);
  head_before bigint;
  lease_epoch bigint;
  lease_holder text;
  lease_expired boolean;
  failed_nth bigint;
  failed_actual bigint;
BEGIN
  UPDATE ${s}.head AS h SET revision = h.revision + size, commit_id = coalesce(commit_ids[size], h.commit_id)
  RETURNING h.revision - size INTO head_before;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  ${demandDurable}
  ${demandFenceAndHead(s)}
  ${demandPreconditions(s)}
  ${writeRows(s)}
END`;

export const demandDurable = `
  IF current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' THEN
    RAISE EXCEPTION USING ERRCODE = '${NOT_DURABLE}', MESSAGE = 'muster: commits would not be durable',
      DETAIL = json_build_object('fsync', current_setting('fsync'),
        'synchronous_commit', current_setting('synchronous_commit'));
  END IF;`;

export const demandFenceAndHead = (s: string): string => `
  IF fence_lease IS NOT NULL THEN
    SELECT l.epoch, l.holder, l.expires_at <= clock_timestamp() INTO lease_epoch, lease_holder, lease_expired
    FROM ${s}.lease l WHERE l.name = fence_lease;
    IF lease_expired IS DISTINCT FROM false OR lease_epoch IS DISTINCT FROM fence_epoch
      OR (fence_holder IS NOT NULL AND lease_holder IS DISTINCT FROM fence_holder) THEN
      RAISE EXCEPTION USING ERRCODE = '${GROUP_REFUSED}', MESSAGE = 'muster: the lease is not held',
        DETAIL = json_build_object('kind', 'lease', 'actualEpoch', coalesce(lease_epoch, 0),
          'expired', coalesce(lease_expired, true));
    END IF;
  END IF;

  IF expected_head <> head_before THEN
    RAISE EXCEPTION USING ERRCODE = '${GROUP_REFUSED}', MESSAGE = 'muster: another head',
      DETAIL = json_build_object('kind', 'head', 'actual', head_before);
  END IF;`;

export const demandPreconditions = (s: string): string => `
  IF cardinality(wanted_kinds) > 0 THEN
    SELECT looked.nth, looked.actual INTO failed_nth, failed_actual
    FROM (
      SELECT given.nth, given.expected, CASE
        WHEN given.left_at IS NULL THEN
          (SELECT r.revision FROM ${s}.resource r WHERE r.kind = given.kind AND r.id = given.id)
        WHEN given.left_at > 0 THEN head_before + given.left_at
      END AS actual
      FROM unnest(wanted_kinds, wanted_ids, wanted_revisions, wanted_left)
        WITH ORDINALITY AS given (kind, id, expected, left_at, nth)) AS looked
    WHERE looked.actual IS DISTINCT FROM looked.expected ORDER BY looked.nth LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = '${GROUP_REFUSED}', MESSAGE = 'muster: a precondition does not hold',
        DETAIL = json_build_object('kind', 'resource', 'nth', failed_nth, 'actual', failed_actual);
    END IF;
  END IF;`;

const writeRows = (s: string): string => `
  IF size = 0 THEN
    RETURN head_before;
  END IF;
  INSERT INTO ${s}.commit_log (revision, id, at_ms, by_whom, why, operation, changes)
  SELECT head_before + given.nth, given.id, given.at_ms, given.by_whom, given.why, given.operation, given.changes
  FROM unnest(commit_ids, commit_at_ms, commit_by, commit_why, commit_operations, commit_changes)
    WITH ORDINALITY AS given (id, at_ms, by_whom, why, operation, changes, nth);
  IF cardinality(touched_kinds) > 0 THEN
    INSERT INTO ${s}.touched (kind, id, revision)
    SELECT given.kind, given.id, head_before + given.nth
    FROM unnest(touched_kinds, touched_ids, touched_at) AS given (kind, id, nth);
  END IF;
  IF cardinality(kept_kinds) > 0 THEN
    INSERT INTO ${s}.resource (kind, id, revision, body)
    SELECT given.kind, given.id, head_before + given.nth, given.body
    FROM unnest(kept_kinds, kept_ids, kept_at, kept_bodies) AS given (kind, id, nth, body)
    ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body;
  END IF;
  IF cardinality(dropped_kinds) > 0 THEN
    DELETE FROM ${s}.resource r USING unnest(dropped_kinds, dropped_ids) AS given (kind, id)
    WHERE r.kind = given.kind AND r.id = given.id;
  END IF;
  PERFORM pg_notify(head_channel, (head_before + size)::text);
  RETURN head_before + size;`;
