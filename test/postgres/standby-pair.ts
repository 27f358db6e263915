// A primary and its streaming standby, for tests of what happens when the one takes over from the other.
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type PostgresCluster, startCluster, startStandby } from './cluster.ts';
import { sql } from './suite.ts';

export async function primaryAndStandby(
  binDir: string,
): Promise<{ readonly primary: PostgresCluster; readonly standby: PostgresCluster }> {
  const primary = await startCluster({ binDir });
  onTestFinished(() => primary.stop());
  const standby = await startStandby({ binDir, of: primary });
  onTestFinished(() => standby.stop());
  return { primary, standby };
}

export async function untilReplayed(primary: PostgresCluster, standby: PostgresCluster): Promise<void> {
  const [target] = await sql<{ lsn: string }>(primary.url, 'SELECT pg_current_wal_lsn()::text AS lsn');
  await until(standby, `SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS yes`, [target?.lsn]);
}

async function until(cluster: PostgresCluster, text: string, values: readonly unknown[] = []): Promise<void> {
  while ((await sql<{ yes: boolean }>(cluster.url, text, values))[0]?.yes !== true) await setTimeout(20);
}

/** From here on the standby lags: it has no connection to the primary any more. */
export async function stopReceiving(primary: PostgresCluster, standby: PostgresCluster): Promise<void> {
  await sql(standby.url, `ALTER SYSTEM SET primary_conninfo = ''`);
  await sql(standby.url, 'SELECT pg_reload_conf()');
  await until(primary, 'SELECT count(*) = 0 AS yes FROM pg_stat_replication');
}
