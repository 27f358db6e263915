// What this RESTCONF server has: its root, its operations, its YANG library (RFC 8525) and the module to download.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const MODULE = 'scalein-api';
const MODULE_FILE = `${MODULE}.yang`;

interface YangModule {
  readonly text: string;
  readonly namespace: string;
  readonly revision: string;
}

let read: YangModule | undefined;

/** The module says itself what it is: nothing of it is written twice. */
export function scaleInModule(): YangModule {
  if (read !== undefined) return read;
  const text = readFileSync(join(import.meta.dirname, MODULE_FILE), 'utf8');
  read = {
    text,
    namespace: extract(text, /namespace "([^"]+)"/),
    revision: extract(text, /revision (\d{4}-\d\d-\d\d)/),
  };
  return read;
}

function extract(text: string, form: RegExp): string {
  const [, value] = form.exec(text) ?? [];
  if (value === undefined) throw new Error(`${MODULE_FILE} does not say ${form}`);
  return value;
}

export const LIBRARY_VERSION = '2019-01-04';

export const RPCS = ['scalein-computes-start', 'scalein-computes-end', 'scalein-computes-recover'] as const;
export type Rpc = (typeof RPCS)[number];

export function operations(): object {
  return Object.fromEntries(RPCS.map((rpc) => [`${MODULE}:${rpc}`, [null]]));
}

export function yangLibrary(): object {
  const { namespace, revision } = scaleInModule();
  const module = {
    name: MODULE,
    revision,
    namespace,
    location: [`/restconf/modules/${MODULE}@${revision}.yang`],
  };
  return {
    'module-set': [{ name: 'muster', module: [module] }],
    schema: [{ name: 'muster', 'module-set': ['muster'] }],
    datastore: [{ name: 'ietf-datastores:operational', schema: 'muster' }],
    'content-id': revision,
  };
}
