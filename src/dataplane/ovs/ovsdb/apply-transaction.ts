// Transactions that wait for the switch, not only for the database: the switch increases `cur_cfg` when it has applied the database.
import { DaemonFailure, RequestTimedOut } from '../transport/failures.ts';
import type { Monitor } from './monitor.ts';
import type { OvsdbOperation, OperationResult } from './operation.ts';
import { numberColumn } from './read-column.ts';

const DATABASE = 'Open_vSwitch';
const ROOT = 'Open_vSwitch';

/** The database has committed it, the switch has not applied it: it is not running, or very busy. It will when it can. */
export class NotApplied extends DaemonFailure {
  constructor(message: string, because?: { readonly cause?: unknown }) {
    super({ code: 'not-applied', retryable: true }, message, because);
  }
}

interface Transactor {
  transact(database: string, operations: readonly OvsdbOperation[]): Promise<readonly OperationResult[]>;
}

/** Resolves with the results of the operations when the switch has applied them. Rejects like `transact`, or with `NotApplied`. The monitor must have `cur_cfg`. */
export async function applyTransaction(
  client: Transactor,
  monitor: Monitor,
  { operations, timeoutMs }: { readonly operations: readonly OvsdbOperation[]; readonly timeoutMs: number },
): Promise<readonly OperationResult[]> {
  const results = await client.transact(DATABASE, [
    ...operations,
    { op: 'mutate', table: ROOT, where: [], mutations: [['next_cfg', '+=', 1]] },
    { op: 'select', table: ROOT, where: [], columns: ['next_cfg'] },
  ]);
  const wanted = results.at(-1);
  const nextCfg = wanted?.kind === 'selected' ? numberColumn(wanted.rows[0], 'next_cfg') : undefined;
  if (nextCfg === undefined) throw new NotApplied('the database has no row for the switch: ovs-vsctl init makes it');
  await waitForApplied(monitor, nextCfg, timeoutMs);
  return results.slice(0, operations.length);
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

function curCfg(monitor: Monitor): number | undefined {
  const [row] = [...monitor.table(ROOT).values()];
  return numberColumn(row, 'cur_cfg');
}
