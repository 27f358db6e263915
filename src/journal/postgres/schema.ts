// The schema in PostgreSQL and its versions. Several servers may start on an empty database at once: an advisory lock lets
// one of them make the schema and the others find it. It must never touch a schema that a newer program has made.
import { escapeIdentifier, escapeLiteral } from 'pg';
import {
  DURABILITY_COLUMNS,
  type DurabilitySettings,
  demandDurability,
  lastRow,
  type PostgresConnections,
} from './connections.ts';
import { createWriteChainedGroup } from './chained-group-function.ts';
import { createWriteGroup } from './group-function.ts';
import { halfRestoredError } from '../restore.ts';
import { StoreUnusable } from '../store.ts';

/** One step each, never edited once released; the version counts those that were applied. `s` is the quoted schema. */
const MIGRATIONS: readonly ((s: string) => string)[] = [
  // Keys compare by bytes (collation C): faster, and no operating system update can reorder the index. Rows that change all
  // the time find room on their page (fillfactor), so that an update leaves the indexes alone.
  (s) => `
    CREATE TABLE ${s}.head (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      journal_id text NOT NULL,
      revision bigint NOT NULL,
      commit_id text,
      floor_revision bigint NOT NULL,
      floor_commit_id text
    ) WITH (fillfactor = 10);
    CREATE TABLE ${s}.commit_log (
      revision bigint PRIMARY KEY,
      id text NOT NULL,
      at_ms bigint NOT NULL,
      by_whom text NOT NULL,
      why text,
      operation text COLLATE "C",
      changes text NOT NULL
    );
    CREATE INDEX commit_log_by_operation ON ${s}.commit_log (operation, revision) WHERE operation IS NOT NULL;
    CREATE TABLE ${s}.resource (
      kind text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      revision bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (kind, id)
    ) WITH (fillfactor = 80);
    CREATE TABLE ${s}.touched (
      kind text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      revision bigint NOT NULL,
      PRIMARY KEY (kind, id, revision)
    );
    CREATE TABLE ${s}.lease (
      name text PRIMARY KEY,
      holder text NOT NULL,
      url text NOT NULL,
      epoch bigint NOT NULL,
      expires_at timestamptz NOT NULL
    );`,
  createWriteGroup,
  createWriteChainedGroup,
  // Nothing but the number: documents may have names that version 0.1.0 does not know, and it refuses to start on them instead of misreading them.
  () => '',
];

export const SCHEMA_VERSION = MIGRATIONS.length;

export interface SchemaOptions {
  readonly schema: string;
  readonly newJournalId: () => string;
  /** Else a store that was not restored to its end is refused. */
  readonly mayBeHalfRestored?: boolean;
}

interface Opened extends DurabilitySettings {
  readonly has_version: boolean;
}

/** Answers the id of the journal that is there now. */
export function prepareSchema(connections: PostgresConnections, options: SchemaOptions): Promise<string> {
  const s = escapeIdentifier(options.schema);
  const lockKey = escapeLiteral(`muster schema ${options.schema}`);
  return connections.transaction(async (client) => {
    const opened = await lastRow<Opened>(
      client,
      `BEGIN ISOLATION LEVEL READ COMMITTED;
       SELECT pg_advisory_xact_lock(hashtextextended(${lockKey}, 0));
       SELECT to_regclass(${escapeLiteral(`${s}.schema_version`)}) IS NOT NULL AS has_version, ${DURABILITY_COLUMNS}`,
    );
    if (opened !== undefined) demandDurability(opened);
    const version = opened?.has_version === true ? await versionOf((text) => client.query(text), s) : 0;
    demandKnown(version, options.schema);
    const steps = MIGRATIONS.slice(version).map((step) => step(s));
    if (version === 0) steps.unshift(firstStep(s));
    if (version === 0) steps.push(firstRows(s, options.newJournalId()));
    if (version < MIGRATIONS.length) {
      await client.query(`${steps.join(';')}; UPDATE ${s}.schema_version SET version = ${MIGRATIONS.length}`);
    }
    // A server of an older version wrote last, or the columns are new.
    await client.query(
      `UPDATE ${s}.head SET (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM ${s}.resource)
       WHERE documents IS NULL`,
    );
    const head = await client.query<{ journal_id: string; restoring: string | null }>(
      `SELECT journal_id, restoring FROM ${s}.head`,
    );
    const mark = head.rows[0]?.restoring ?? undefined;
    if (mark !== undefined && options.mayBeHalfRestored !== true)
      throw halfRestoredError(`schema ${options.schema}`, mark);
    return { end: 'commit', answer: head.rows[0]?.journal_id ?? '' };
  });
}

async function versionOf(query: (text: string) => Promise<{ rows: { version: number }[] }>, s: string) {
  return (await query(`SELECT version FROM ${s}.schema_version`)).rows[0]?.version ?? 0;
}

function demandKnown(version: number, schema: string): void {
  if (version <= MIGRATIONS.length) return;
  const known = `this program knows versions up to ${MIGRATIONS.length}`;
  throw new StoreUnusable('schema-too-new', `schema ${schema} has version ${version}, ${known}: run a newer Muster`);
}

function firstStep(s: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${s}; CREATE TABLE ${s}.schema_version (version integer NOT NULL)`;
}

function firstRows(s: string, journalId: string): string {
  return `INSERT INTO ${s}.schema_version (version) VALUES (0);
    INSERT INTO ${s}.head (journal_id, revision, floor_revision) VALUES (${escapeLiteral(journalId)}, 0, 0)`;
}
