// Which keys belong to a store or a backup, by their ids: a backup names them, a restore says where they have to be. It must never copy a
// key: a backup must not enable its reader to act as the control plane.
import type { StoreKeys, StoreKeysPlace } from '../cli/index.ts';
import type { DumpSink, FindDocument } from '../journal/runtime.ts';
import { KEYS_RESOURCE, parseKeyIds, type KeyIds } from '../keys/index.ts';
import { KEY_FILE, keyFileIn, readKeys } from './key-file.ts';
import { StartFailure } from './start-failure.ts';

const [KIND, ID] = KEYS_RESOURCE;

/** For the header of a backup, which is written before its documents. */
export async function findStoreKeys(find: FindDocument | undefined): Promise<StoreKeys | undefined> {
  const body = await find?.(KIND, ID);
  return body === undefined ? undefined : namesIn(body);
}

/** Collects the ids from the documents of a dump as they pass. */
export class KeyNames implements DumpSink {
  #found: StoreKeys | undefined;

  get found(): StoreKeys | undefined {
    return this.#found;
  }

  head(): void {}

  resources(page: Parameters<DumpSink['resources']>[0]): void {
    const row = page.find(({ kind, id }) => kind === KIND && id === ID);
    if (row !== undefined) this.#found = namesIn(row.body);
  }

  commits(): void {}
}

function namesIn(body: string): StoreKeys | undefined {
  const ids = parseKeyIds(body);
  return ids === undefined ? undefined : nameKeys(ids);
}

function nameKeys({ serial, signing, authorities }: KeyIds): StoreKeys {
  return { file: KEY_FILE, contained: false, serial, signing, authorities };
}

/** Whether the key file that a restored fleet needs is where its server expects it. */
export function locateKeys(keys: StoreKeys, folder: string): StoreKeysPlace {
  return { ...keys, path: keyFileIn(folder), state: stateOf(keys, folder) };
}

function stateOf({ signing, serial }: StoreKeys, folder: string): StoreKeysPlace['state'] {
  try {
    const there = readKeys(folder);
    if (there === undefined) return 'missing';
    // Keys rotated after the backup keep the earlier ones in force: both belong to the same fleet.
    const isSameLine = there.serial >= serial && there.signing.some(({ id }) => id === signing[0]);
    return isSameLine ? 'in-place' : 'different';
  } catch (error) {
    if (error instanceof StartFailure) return 'unreadable';
    throw error;
  }
}
