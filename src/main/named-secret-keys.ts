// Which keys sealed the secrets in a store or a backup, by their ids: a backup names them, a restore says where they have to be. It never copies one.
import { join } from 'node:path';
import type { StoreSecretKeys, StoreSecretKeysPlace } from '../cli/index.ts';
import type { Kind } from '../fleet/index.ts';
import type { DumpSink, ResourceRow } from '../journal/runtime.ts';
import { countKeysIn, sealedKinds } from '../keys/index.ts';
import { readSecretKeys, SECRET_KEY_FILE } from './secret-keys.ts';
import { StartFailure } from './start-failure.ts';

/** Collects them from the documents of a dump as they pass. */
export class SecretKeyNames implements DumpSink {
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #counts = new Map<string, number>();

  constructor(kinds: Iterable<Kind<string, never>>) {
    this.#kinds = new Map(sealedKinds(kinds).map((kind) => [kind.name, kind]));
  }

  get found(): StoreSecretKeys | undefined {
    const sealing = [...this.#counts.keys()].sort();
    return sealing.length === 0 ? undefined : { file: SECRET_KEY_FILE, contained: false, sealing };
  }

  head(): void {}

  resources(page: readonly ResourceRow[]): void {
    for (const { kind: name, body } of page) {
      const kind = this.#kinds.get(name);
      const doc = kind === undefined ? undefined : parseDocument(body);
      if (kind !== undefined && doc !== undefined) countKeysIn(kind, doc, this.#counts);
    }
  }

  commits(): void {}
}

/** Undefined for a damaged one, which the verifier reports. */
function parseDocument(body: string): object | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `data`: the data folder of a server on a store of its own; undefined where servers share one. */
export function locateSecretKeys(
  keys: StoreSecretKeys,
  { secretKey, data }: { readonly secretKey?: string | undefined; readonly data: string | undefined },
): StoreSecretKeysPlace {
  const path = secretKey ?? (data === undefined ? undefined : join(data, SECRET_KEY_FILE));
  return { ...keys, ...(path !== undefined && { path }), state: stateOf(keys, path) };
}

function stateOf({ sealing }: StoreSecretKeys, path: string | undefined): StoreSecretKeysPlace['state'] {
  if (path === undefined) return 'missing';
  try {
    const there = readSecretKeys(path);
    if (there === undefined) return 'missing';
    return sealing.every((id) => there.some((key) => key.id === id)) ? 'in-place' : 'different';
  } catch (error) {
    if (error instanceof StartFailure) return 'unreadable';
    throw error;
  }
}
