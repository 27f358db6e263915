// Suites that need PostgreSQL. Where there is none they say so by name; in CI that is a failure, not a silence.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { type Store, StoreUnavailable } from '../../src/journal/store.ts';
import type { ReadyPostgres } from './global-setup.ts';

export function postgresSuite(name: string, suite: (postgres: ReadyPostgres) => void): void {
  const found = inject('postgres');
  if (found.kind === 'ready') {
    describe(name, () => {
      suite(found);
    });
    return;
  }
  const title = `${name}: needs PostgreSQL, ${found.reason}`;
  if (process.env['CI'] === 'true') {
    test(title, () => {
      expect.fail(`PostgreSQL is missing: ${found.reason}`);
    });
  } else {
    test.skip(title);
  }
}

/** A new database on the same server; answers its URL. */
export async function freshDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await sql(url, `CREATE DATABASE ${name}`);
  const fresh = new URL(url);
  fresh.pathname = `/${name}`;
  return fresh.href;
}

export async function sql<Row>(url: string, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as Row[];
  } finally {
    await client.end();
  }
}

/** Ends the sessions that Muster's stores have on a database, as a failover or an operator would. */
export async function cutSessions(url: string): Promise<void> {
  await sql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'muster'`,
  );
}

const TRIES_MAX = 100;

/** Tries again while the store is unavailable: the next call may still meet a session that was cut. */
export async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries === TRIES_MAX) throw error;
      await setTimeout(20); // a closed store fails at once: without a pause this would starve the test's own timeout
    }
  }
}

export async function openForTest(connectionString: string): Promise<Store> {
  const store = await openPostgresStore({ connectionString });
  onTestFinished(() => store.close());
  return store;
}
