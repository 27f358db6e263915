// The hosts of a PostgreSQL URL, with the settings of the environment.
import { PostgresHosts } from './hosts.ts';
import { parsePostgresUrl } from './url.ts';
import { StoreUnusable } from '../store.ts';

export function postgresHosts(connectionString: string): PostgresHosts {
  const parsed = parsePostgresUrl(connectionString, process.env);
  if (parsed.kind === 'refused') throw new StoreUnusable('store-url', parsed.detail);
  return new PostgresHosts(parsed.url);
}
