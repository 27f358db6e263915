// What an error of PostgreSQL or of the way to it means to a caller: try again later, a person has to act, or a bug that
// passes through as it is.
import { DatabaseError } from 'pg';
import type { Suspicion } from './hosts.ts';
import { StoreUnavailable, StoreUnusable } from '../store.ts';

// SQLSTATE classes: connection, transaction state (a read-only standby), rollback, resources, locks, operator, system.
const RETRYABLE_CLASSES: ReadonlySet<string> = new Set(['08', '25', '40', '53', '55', '57', '58']);
// Wrong password or role, no such database, not allowed.
const OPERATOR_CLASSES: ReadonlySet<string> = new Set(['28', '3D']);
const NOT_ALLOWED = '42501';
// No such schema, table or function although the store was opened: the database was replaced.
const SCHEMA_GONE: ReadonlySet<string> = new Set(['3F000', '42P01', '42883']);
// A server that answers a commit with one of these has rolled back: the classes of constraints and rollback; a read-only
// standby, a lock that was not to be had, a statement that timed out, which all come before the commit.
const ROLLED_BACK_CLASSES: ReadonlySet<string> = new Set(['23', '40']);
const ROLLED_BACK: ReadonlySet<string> = new Set(['25006', '55P03', '57014']);

const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError];

export function classifyPostgresError(error: unknown, outcome: 'failed' | 'unknown' = 'failed'): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailable || error instanceof StoreUnusable) return error;
  if (BUGS.some((bug) => error instanceof bug)) return error;
  if (error instanceof DatabaseError) {
    const sqlState = error.code ?? '';
    if (OPERATOR_CLASSES.has(sqlState.slice(0, 2)) || sqlState === NOT_ALLOWED) {
      return new StoreUnusable('postgres-refused', `PostgreSQL refuses this program: ${error.message}`);
    }
    if (SCHEMA_GONE.has(sqlState)) {
      return new StoreUnusable('schema-gone', `the tables of the journal are not there any more: ${error.message}`);
    }
    if (!RETRYABLE_CLASSES.has(sqlState.slice(0, 2))) return error;
  }
  // Everything else that the driver throws is about the connection: refused, cut, timed out, closed.
  return new StoreUnavailable(`PostgreSQL: ${error.message || 'no connection'}`, { outcome, cause: error });
}

/**
 * Whether a failed commit may have taken effect. A server that is stopped while it waits for its standby has
 * committed already, so only an answer that says "rolled back" is certain.
 */
export function commitOutcome(error: unknown): 'failed' | 'unknown' {
  if (!(error instanceof DatabaseError)) return 'unknown';
  const sqlState = error.code ?? '';
  return ROLLED_BACK_CLASSES.has(sqlState.slice(0, 2)) || ROLLED_BACK.has(sqlState) ? 'failed' : 'unknown';
}

// A server that shuts down, crashed, or is not up yet; one that was demoted.
const SERVER_LOST: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '25006']);

/** Whether an error may be the end of the server that gave it, so that the server to use has to be searched for again. */
export function suspicionOf(error: unknown): Suspicion | undefined {
  if (!(error instanceof Error) || error instanceof StoreUnusable) return undefined;
  if (error instanceof StoreUnavailable) return suspicionOf(error.cause);
  if (BUGS.some((bug) => error instanceof bug)) return undefined;
  if (error instanceof DatabaseError) {
    const sqlState = error.code ?? '';
    return sqlState.startsWith('08') || SERVER_LOST.has(sqlState) ? 'lost' : undefined;
  }
  return /time(?:d )?out/i.test(error.message) ? 'silent' : 'lost';
}
