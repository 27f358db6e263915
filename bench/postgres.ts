// A private PostgreSQL for one benchmark. The cluster is made as the test suites make theirs, with the settings that a
// server has by default: durable.
import { startCluster } from '../test/postgres/cluster.ts';
import { ensurePostgres } from '../test/postgres/install.ts';
import type { BenchScope } from './scope.ts';

export type PrivatePostgres =
  { readonly kind: 'ready'; readonly url: string } | { readonly kind: 'missing'; readonly reason: string };

export async function privatePostgres(scope: BenchScope): Promise<PrivatePostgres> {
  const found = await ensurePostgres();
  if (found.kind === 'missing') return { kind: 'missing', reason: `PostgreSQL is missing: ${found.reason}` };
  const cluster = await startCluster({ binDir: found.binDir });
  scope.onClose(() => cluster.stop());
  return { kind: 'ready', url: cluster.url };
}
