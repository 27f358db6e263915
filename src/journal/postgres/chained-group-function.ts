// The function in PostgreSQL that writes a group and continues the hash chain. The hashes were made on the head that the
// caller knows: the head moves only if it is still that one, which is the lock and the check in one statement. It must never
// return without having written the group: a refusal is an exception, so that nothing of the group stays.
import { escapeLiteral } from 'pg';
import {
  demandDurable,
  demandFenceAndHead,
  demandPreconditions,
  GROUP_REFUSED,
  UNCHAINED_PARAMETERS,
} from './group-function.ts';

// As those of the function without the chain, and: what the hashes were made on, and how the totals of documents change (null
// where the caller cannot know).
const PARAMETERS = `${UNCHAINED_PARAMETERS},
  commit_hashes text[], kept_digests text[], chained_on bigint, chained_on_hash text,
  count_change bigint, sum_change bigint`;

/** Answers the revision of the last batch; null when there is no head row. */
export const writeChainedGroupCall = (s: string): string =>
  `SELECT ${s}.write_group_chained(${PARAMETERS.split(',')
    .map((_, at) => `$${at + 1}`)
    .join(', ')}) AS revision`;

const NAMES = UNCHAINED_PARAMETERS.split(',')
  .map((parameter) => parameter.trim().split(' ')[0])
  .join(', ');

/** Part of a migration: once released, a change of it is another migration. */
export const createWriteChainedGroup = (s: string): string => `
  ALTER TABLE ${s}.head ADD COLUMN hash text, ADD COLUMN floor_hash text, ADD COLUMN chained_from bigint,
    ADD COLUMN documents bigint, ADD COLUMN revision_sum bigint, ADD COLUMN restoring text;
  ALTER TABLE ${s}.commit_log ADD COLUMN hash text;
  ALTER TABLE ${s}.resource ADD COLUMN digest text;
  ALTER FUNCTION ${s}.write_group RENAME TO write_unchained_group;
  CREATE FUNCTION ${s}.write_group(${UNCHAINED_PARAMETERS}) RETURNS bigint LANGUAGE plpgsql VOLATILE
    AS ${escapeLiteral(composeUnchainedBody(s))};
  CREATE FUNCTION ${s}.write_group_chained(${PARAMETERS}) RETURNS bigint LANGUAGE plpgsql VOLATILE
    AS ${escapeLiteral(composeChainedBody(s))}`;

/**
 * What servers of the version before call while they are upgraded one after the other. Their commits have no hash: the chain
 * begins anew after them, and the totals are counted anew at the next start.
 */
function composeUnchainedBody(s: string): string {
  return `
DECLARE
  written bigint;
BEGIN
  written := ${s}.write_unchained_group(${NAMES});
  UPDATE ${s}.head SET hash = NULL, chained_from = NULL, documents = NULL, revision_sum = NULL;
  UPDATE ${s}.resource r SET digest = NULL FROM unnest(kept_kinds, kept_ids) AS given (kind, id)
  WHERE r.kind = given.kind AND r.id = given.id;
  RETURN written;
END`;
}

function composeChainedBody(s: string): string {
  return `
DECLARE
  size bigint := cardinality(commit_ids);
  head_before bigint;
  head_moved boolean;
  lease_epoch bigint;
  lease_holder text;
  lease_expired boolean;
  failed_nth bigint;
  failed_actual bigint;
BEGIN
  UPDATE ${s}.head AS h SET revision = h.revision + size, commit_id = coalesce(commit_ids[size], h.commit_id),
    hash = coalesce(commit_hashes[size], h.hash), chained_from = coalesce(h.chained_from, h.revision + 1),
    documents = h.documents + coalesce(count_change, 0), revision_sum = h.revision_sum + coalesce(sum_change, 0)
  WHERE h.revision = chained_on AND h.hash IS NOT DISTINCT FROM chained_on_hash
  RETURNING h.revision - size INTO head_before;
  head_moved := FOUND;
  IF NOT head_moved THEN
    SELECT h.revision INTO head_before FROM ${s}.head h;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  ${demandDurable}
  ${demandFenceAndHead(s)}
  IF NOT head_moved THEN
    RAISE EXCEPTION USING ERRCODE = '${GROUP_REFUSED}', MESSAGE = 'muster: the hash chain is elsewhere',
      DETAIL = json_build_object('kind', 'chain');
  END IF;
  ${demandPreconditions(s)}
  ${writeRows(s)}
END`;
}

function writeRows(s: string): string {
  return `
  IF size = 0 THEN
    RETURN head_before;
  END IF;
  IF count_change IS NULL THEN
    UPDATE ${s}.head AS h SET documents = h.documents + cardinality(kept_kinds) - found.count,
      revision_sum = h.revision_sum + (SELECT coalesce(sum(head_before + nth), 0) FROM unnest(kept_at) AS nth) - found.sum
    FROM (
      SELECT count(*) AS count, coalesce(sum(r.revision), 0)::bigint AS sum FROM ${s}.resource r
      JOIN unnest(kept_kinds || dropped_kinds, kept_ids || dropped_ids) AS given (kind, id)
        ON r.kind = given.kind AND r.id = given.id) AS found;
  END IF;
  INSERT INTO ${s}.commit_log (revision, id, at_ms, by_whom, why, operation, changes, hash)
  SELECT head_before + given.nth, given.id, given.at_ms, given.by_whom, given.why, given.operation, given.changes, given.hash
  FROM unnest(commit_ids, commit_at_ms, commit_by, commit_why, commit_operations, commit_changes, commit_hashes)
    WITH ORDINALITY AS given (id, at_ms, by_whom, why, operation, changes, hash, nth);
  IF cardinality(touched_kinds) > 0 THEN
    INSERT INTO ${s}.touched (kind, id, revision)
    SELECT given.kind, given.id, head_before + given.nth
    FROM unnest(touched_kinds, touched_ids, touched_at) AS given (kind, id, nth);
  END IF;
  IF cardinality(kept_kinds) > 0 THEN
    INSERT INTO ${s}.resource (kind, id, revision, body, digest)
    SELECT given.kind, given.id, head_before + given.nth, given.body, given.digest
    FROM unnest(kept_kinds, kept_ids, kept_at, kept_bodies, kept_digests) AS given (kind, id, nth, body, digest)
    ON CONFLICT (kind, id)
    DO UPDATE SET revision = excluded.revision, body = excluded.body, digest = excluded.digest;
  END IF;
  IF cardinality(dropped_kinds) > 0 THEN
    DELETE FROM ${s}.resource r USING unnest(dropped_kinds, dropped_ids) AS given (kind, id)
    WHERE r.kind = given.kind AND r.id = given.id;
  END IF;
  PERFORM pg_notify(head_channel, (head_before + size)::text);
  RETURN head_before + size;`;
}
