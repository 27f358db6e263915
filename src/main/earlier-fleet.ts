// Whether a fleet was started here before: then a missing or empty database is a loss, and never a reason to start a new fleet. An empty
// folder that was made beforehand is normal, and so is a first start that was killed before its first commit.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_TOKEN_FILE } from '../api/runtime.ts';
import type { Store } from '../journal/index.ts';
import { AUDIT_FOLDER } from './data-folder.ts';
import { KEY_FILE } from './key-file.ts';
import { SECRET_KEY_FILE } from './secret-keys.ts';
import { StartFailure } from './start-failure.ts';
import { WITNESS_FILE } from './witness.ts';

/** Files that are written only once a fleet exists. `demo` holds the agents of a demonstration, `agent-` files are those of one agent. */
const AFTER_FIRST_COMMIT = [ADMIN_TOKEN_FILE, SECRET_KEY_FILE, 'demo', 'agent-'];

/** Files that a first start may write before its first commit. */
const BEFORE_FIRST_COMMIT = [KEY_FILE, WITNESS_FILE, AUDIT_FOLDER];

/** Exists from when a store was found empty until its first commit: the trace of a first start that was killed. */
const FIRST_START_FILE = 'first-start';

/** Left behind by a deleted database. Beside a database they mean nothing: its process may have been killed before its first commit. */
const REMAINS = /^muster\.db-(?:wal|shm)$/;

/** Files of an earlier fleet in a data folder. */
export function findTraces(dataFolder: string): readonly string[] {
  const names = readdirSync(dataFolder);
  const traces = [...AFTER_FIRST_COMMIT, ...(names.includes(FIRST_START_FILE) ? [] : BEFORE_FIRST_COMMIT)];
  // Files that are replaced atomically are first written under the same name with a suffix.
  return names.filter((name) => traces.some((trace) => name.startsWith(trace)));
}

/** Before the database is opened, which would create it: refuses a folder in which it is missing or empty. */
export function requireDatabase(dataFolder: string, path: string): readonly string[] {
  const traces = findTraces(dataFolder);
  const found = [...traces, ...readdirSync(dataFolder).filter((name) => REMAINS.test(name))];
  if (found.length === 0) return traces;
  if (!existsSync(path)) throw refuseLostStore(`The database ${path} is missing`, dataFolder, found);
  if (statSync(path).size === 0) throw refuseLostStore(`The database ${path} is empty`, dataFolder, found);
  return traces;
}

interface FleetTraces {
  readonly dataFolder: string;
  readonly name: string;
  readonly traces: readonly string[];
}

/** Refuses, and closes, a store without any commit beside files of an earlier fleet. Otherwise it notes a first start, if it is one. */
export async function requireFleet(store: Store, { dataFolder, name, traces }: FleetTraces): Promise<void> {
  const answer = await store.read({ revision: 0 }, 1);
  if (answer.kind !== 'commits' || answer.head > 0) {
    endFirstStart(dataFolder);
    return;
  }
  if (traces.length > 0) {
    await store.close();
    throw refuseLostStore(`The store ${name} has no fleet`, dataFolder, traces);
  }
  writeFileSync(join(dataFolder, FIRST_START_FILE), '', { mode: 0o600 });
}

/** The fleet exists: from now on an empty store is a loss. */
export function endFirstStart(dataFolder: string): void {
  rmSync(join(dataFolder, FIRST_START_FILE), { force: true });
}

function refuseLostStore(what: string, dataFolder: string, traces: readonly string[]): StartFailure {
  const files = traces.map((name) => `"${name}"`).join(', ');
  const keys = traces.includes(KEY_FILE) ? ` Keys for a new fleet belong into a folder of their own (--keys).` : '';
  return new StartFailure(
    `${what}, but the data folder ${dataFolder} has ${files} of an earlier fleet. No new fleet is started in its ` +
      `place. Bring the store back, or restore a backup with "muster restore FILE"; to start a new fleet, move these files away or ` +
      `name another folder with --data.${keys}`,
  );
}
