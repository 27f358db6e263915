// Transactions that wait for the switch, not only for the database: the switch increases `cur_cfg` when it has applied the database, and
// sets an error on interfaces that it cannot open.
import { DaemonFailure, RequestTimedOut } from '../transport/failures.ts';
import type { Monitor, MonitoredTables } from './monitor.ts';
import type { Operation, OperationResult } from './operation.ts';
import { numberColumn, textColumn } from './read-column.ts';

const DATABASE = 'Open_vSwitch';
const ROOT = 'Open_vSwitch';

/** The columns that `applyTransaction` needs in a monitor. */
export const TABLES_TO_APPLY = {
  Open_vSwitch: ['cur_cfg', 'next_cfg'],
  Interface: ['name', 'ofport', 'error'],
} as const satisfies MonitoredTables;

export interface InterfaceError {
  readonly name: string;
  readonly error: string;
}

export interface AppliedTransaction {
  /** The results of the given operations. */
  readonly results: readonly OperationResult[];
  /** All interfaces that the switch could not open, whoever added them. */
  readonly interfaceErrors: readonly InterfaceError[];
}

/** The database has committed it, the switch has not applied it: it is not running, or very busy. It will when it can. */
export class NotApplied extends DaemonFailure {
  constructor(message: string, because?: { readonly cause?: unknown }) {
    super({ code: 'not-applied', retryable: true }, message, because);
  }
}

interface Transactor {
  transact(database: string, operations: readonly Operation[]): Promise<readonly OperationResult[]>;
}

/** Resolves when the switch has applied the transaction. Rejects like `transact`, or with `NotApplied`. */
export async function applyTransaction(
  client: Transactor,
  monitor: Monitor,
  { operations, timeoutMs }: { readonly operations: readonly Operation[]; readonly timeoutMs: number },
): Promise<AppliedTransaction> {
  const results = await client.transact(DATABASE, [
    ...operations,
    { op: 'mutate', table: ROOT, where: [], mutations: [['next_cfg', '+=', 1]] },
    { op: 'select', table: ROOT, where: [], columns: ['next_cfg'] },
  ]);
  const wanted = results.at(-1);
  const nextCfg = wanted?.kind === 'selected' ? numberColumn(wanted.rows[0], 'next_cfg') : undefined;
  if (nextCfg === undefined) throw new NotApplied('the database has no row for the switch: ovs-vsctl init makes it');
  await waitForApplied(monitor, nextCfg, timeoutMs);
  return { results: results.slice(0, operations.length), interfaceErrors: readInterfaceErrors(monitor) };
}

/** Waits until the switch has applied this configuration or a newer one. */
async function waitForApplied(monitor: Monitor, nextCfg: number, timeoutMs: number): Promise<void> {
  const what = `the switch applies configuration ${nextCfg}`;
  try {
    await monitor.waitFor(() => ((curCfg(monitor) ?? -1) >= nextCfg ? true : undefined), { what, timeoutMs });
  } catch (cause) {
    if (!(cause instanceof RequestTimedOut)) throw cause;
    const message = `the switch has applied configuration ${curCfg(monitor) ?? 'none'} and not ${nextCfg}`;
    throw new NotApplied(`${message} within ${timeoutMs} ms`, { cause });
  }
}

function readInterfaceErrors(monitor: Monitor): InterfaceError[] {
  return [...monitor.table('Interface').values()].flatMap((row) => {
    const error = textColumn(row, 'error');
    return error === undefined ? [] : [{ name: textColumn(row, 'name') ?? '', error }];
  });
}

function curCfg(monitor: Monitor): number | undefined {
  const [row] = [...monitor.table(ROOT).values()];
  return numberColumn(row, 'cur_cfg');
}
