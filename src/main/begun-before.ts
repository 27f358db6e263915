// Whether a fleet was begun here before: then a missing or empty database is a loss, and no reason to begin anew. An empty
// folder that was made beforehand is normal, and so are the lock files of a start that did not get further.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { ADMIN_TOKEN_FILE } from '../api/runtime.ts';
import type { Store } from '../journal/index.ts';
import { CannotStart } from './start-failure.ts';
import { WITNESS_FILE } from './witness.ts';

/** What is written only once a fleet was begun. */
const TRACES: readonly RegExp[] = [new RegExp(`^${ADMIN_TOKEN_FILE}$`), new RegExp(`^${WITNESS_FILE}$`), /^demo$/];

/** Left behind by a database that is gone. Beside one they say nothing: it may have been killed before its first commit. */
const REMAINS = /^muster\.db-(?:wal|shm)$/;

/** Files of an earlier fleet in a data folder. */
export function tracesIn(dataFolder: string): readonly string[] {
  return readdirSync(dataFolder).filter((name) => TRACES.some((trace) => trace.test(name)));
}

/** Before the database is opened, which would make it: refuses a folder in which it is missing or empty. */
export function demandDatabase(dataFolder: string, path: string): readonly string[] {
  const traces = tracesIn(dataFolder);
  const found = [...traces, ...readdirSync(dataFolder).filter((name) => REMAINS.test(name))];
  if (found.length === 0) return traces;
  if (!existsSync(path)) throw lost(`The database ${path} is missing`, dataFolder, found);
  if (statSync(path).size === 0) throw lost(`The database ${path} is empty`, dataFolder, found);
  return traces;
}

interface Begun {
  readonly dataFolder: string;
  readonly name: string;
  readonly traces: readonly string[];
}

/** Refuses a store in which nothing was ever committed, beside files of a fleet that was begun. Closes it then. */
export async function demandBegun(store: Store, { dataFolder, name, traces }: Begun): Promise<void> {
  if (traces.length === 0) return;
  const answer = await store.read({ revision: 0 }, 1);
  if (answer.kind !== 'commits' || answer.head > 0) return;
  await store.close();
  throw lost(`The store ${name} has no fleet`, dataFolder, traces);
}

function lost(what: string, dataFolder: string, traces: readonly string[]): CannotStart {
  const files = traces.map((name) => `"${name}"`).join(', ');
  return new CannotStart(
    `${what}, but the data folder ${dataFolder} has ${files} of a fleet that was begun before. No new fleet is begun in its ` +
      `place. Bring the store back, or restore a backup with "muster restore FILE"; to begin anew, move these files away or ` +
      `name another folder with --data.`,
  );
}
