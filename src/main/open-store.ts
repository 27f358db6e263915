// Opens the store: the embedded one in the data folder, or PostgreSQL by its URL.
import { join } from 'node:path';
import type { Store } from '../journal/index.ts';
import {
  describePostgresUrl,
  openPostgresStore,
  openSqliteStore,
  parsePostgresUrl,
  repairPostgres,
  repairSqlite,
  prepareQuickCheck,
} from '../journal/runtime.ts';
import { DECIDING_LEASE } from '../operations/runtime.ts';
import { lockFolder, prepareFolder } from './data-folder.ts';
import { requireFleet, requireDatabase, findTraces } from './earlier-fleet.ts';
import { StartFailure, cannotOpenStore } from './start-failure.ts';

export interface OpenStore {
  /** For messages: without a password. */
  readonly name: string;
  readonly store: Store;
  /** Repairs a damaged store as far as possible; returns the outcome for each document. */
  repair(): Promise<readonly string[]>;
  /** Has the database check its file for damage, if it can; returns how to start the rest of the check in the background. */
  check(found: (findings: readonly string[]) => void): () => void;
  close(): Promise<void>;
}

export const DATABASE_FILE = 'muster.db';

export async function openStore(wanted: string, dataFolder: string): Promise<OpenStore> {
  if (wanted === 'sqlite') return openEmbedded(dataFolder);
  demandPostgresUrl(wanted);
  return openShared(wanted, dataFolder);
}

export function demandPostgresUrl(wanted: string): void {
  if (/^postgres(?:ql)?:\/\//.test(wanted)) return;
  throw new StartFailure(
    `"${wanted}" is not a store. Give sqlite, or a URL like postgres://user@host/database, with several hosts as a,b,c.`,
  );
}

async function openEmbedded(dataFolder: string): Promise<OpenStore> {
  const folder = lockFolder(dataFolder);
  const path = join(dataFolder, DATABASE_FILE);
  try {
    const traces = requireDatabase(dataFolder, path);
    const store = await openOrFail(path, () => openSqliteStore({ path }));
    await requireFleet(store, { dataFolder, name: path, traces });
    await releaseStaleLease(store);
    return {
      name: path,
      store,
      repair: () => repairSqlite(path),
      check: (found) => prepareQuickCheck(path, found),
      close: async () => {
        await store.close();
        folder.release();
      },
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** The folder belongs to this process alone, so a lease that has not expired belongs to a process that was killed. */
async function releaseStaleLease(store: Store): Promise<void> {
  const lease = await store.readLease(DECIDING_LEASE);
  if (lease !== undefined && lease.expiresInMs > 0) await store.releaseLease(DECIDING_LEASE, lease.epoch);
}

async function openShared(url: string, dataFolder: string): Promise<OpenStore> {
  // Only for the first admin token: several servers may share it.
  prepareFolder(dataFolder);
  const parsed = parsePostgresUrl(url, process.env);
  if (parsed.kind === 'refused') throw new StartFailure(`The URL of the store cannot be used: ${parsed.detail}.`);
  const name = describePostgresUrl(parsed.url);
  // Before the store is read: another server that initialises it now writes its traces after its first commit.
  const traces = findTraces(dataFolder);
  const store = await openOrFail(name, () => openPostgresStore({ connectionString: url }));
  await requireFleet(store, { dataFolder, name, traces });
  return { name, store, repair: () => repairPostgres(url), check: () => () => undefined, close: () => store.close() };
}

async function openOrFail(name: string, open: () => Promise<Store>): Promise<Store> {
  try {
    return await open();
  } catch (error) {
    throw cannotOpenStore(name, error) ?? error;
  }
}
