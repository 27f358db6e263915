// Why the database refused a transaction: which operation, table and column.
import { DaemonFailure } from '../transport/failures.ts';
import type { OvsdbOperation } from './operation.ts';
import { encodeValue, type Value } from './value.ts';

/** The database refused the transaction as a whole: nothing was committed. */
export class TransactionRefused extends DaemonFailure {
  /** The error code of the database, such as `constraint violation`. */
  readonly error: string;
  readonly details: string;
  /** Undefined when no single operation is at fault: a constraint on all of them together is violated. */
  readonly operation: number | undefined;
  readonly table: string | undefined;
  readonly column: string | undefined;

  constructor(refused: RefusalDetails) {
    const { error, details, operation, table, column } = refused;
    const which = operation === undefined ? 'the transaction' : `operation ${operation + 1} (${refused.verb})`;
    const where = [table !== undefined && `table ${table}`, column !== undefined && `column ${column}`].filter(Boolean);
    const at = where.length === 0 ? '' : `, ${where.join(', ')}`;
    // Another client was first, or the database is short of a resource: a retry may succeed.
    const retryable = RETRYABLE.has(error);
    super({ code: 'transaction-refused', retryable }, `${which}${at}: ${error}${details === '' ? '' : `: ${details}`}`);
    this.error = error;
    this.details = details;
    this.operation = operation;
    this.table = table;
    this.column = column;
  }
}

const RETRYABLE = new Set(['timed out', 'resources exhausted', 'I/O error', 'canceled', 'not owner']);

interface RefusalDetails {
  readonly error: string;
  readonly details: string;
  readonly operation: number | undefined;
  readonly verb: string | undefined;
  readonly table: string | undefined;
  readonly column: string | undefined;
}

export function readRefusal(operations: readonly OvsdbOperation[], index: number, wire: unknown): TransactionRefused {
  const { error, details, syntax } = wire as Readonly<Record<string, unknown>>;
  const says = typeof details === 'string' ? details : '';
  // An error that is found at commit is one result more than there are operations.
  const operation = operations[index];
  const table = operation !== undefined && 'table' in operation ? operation.table : findQuotedAfter(says, 'table');
  return new TransactionRefused({
    error: typeof error === 'string' ? error : JSON.stringify(error),
    details: says,
    operation: operation === undefined ? undefined : index,
    verb: operation?.op,
    table,
    column: columnNamed(says) ?? (operation && columnAtFault(operation, says, syntax)),
  });
}

function columnNamed(details: string): string | undefined {
  return /No column (\w+)/.exec(details)?.[1] ?? findQuotedAfter(details, 'column');
}

/** `… index on column "name"`, `… in "Bridge" table …`, `Table Port column interfaces …` */
function findQuotedAfter(details: string, word: 'column' | 'table'): string | undefined {
  const patterns = [`"(\\w+)" ${word}`, `${word} "?(\\w+)"?`];
  for (const pattern of patterns) {
    const found = new RegExp(pattern, 'i').exec(details)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The database often quotes the refused value and not the column: the column is looked up here. */
function columnAtFault(operation: OvsdbOperation, details: string, syntax: unknown): string | undefined {
  const written = valuesOf(operation);
  const [only] = written;
  if (written.length === 1 && only !== undefined) return only[0];
  const repeated = written.filter(([, value]) => {
    const wire = JSON.stringify(encodeValue(value));
    return wire === syntax || (typeof value !== 'object' && details.startsWith(`${value} is `));
  });
  return repeated.length === 1 ? repeated[0]?.[0] : undefined;
}

function valuesOf(operation: OvsdbOperation): readonly (readonly [column: string, value: Value])[] {
  switch (operation.op) {
    case 'insert':
    case 'update':
      return Object.entries(operation.row);
    case 'mutate':
      return operation.mutations.map(([column, , value]) => [column, value]);
    case 'select':
    case 'delete':
      return operation.where.map(([column, , value]) => [column, value]);
    case 'wait':
    case 'comment':
      return [];
  }
}
