// Where a file lies and what it may therefore do. One notion of module, rank and purity for every rule of this folder.
// Paths are relative to the project's root, with forward slashes: `src/hosts/decide.ts`.

import { MODULE_ORDER } from './module-order.ts';

export interface Place {
  readonly path: string;
  /** The first folder: `src`, `sim`, `test`, `bench`, `scripts`; the file's own name at the root. */
  readonly area: string;
  /** The module of a file under src/: `hosts`; empty elsewhere. */
  readonly module: string;
  /** The file's name without folder and extensions: `memory-store`. */
  readonly name: string;
  readonly role: Role;
}

type Role =
  | 'pure' // decides; no clock, no chance, no I/O
  | 'runtime' // a module's runtime.ts and module.ts: pure themselves, but they hand out controllers and drivers
  | 'effect' // a controller, driver, store or routes file
  | 'edge' // anything in a module whose whole point is I/O
  | 'testing' // tests and what only tests use
  | 'outside'; // not under src/

/** Modules whose whole point is I/O. */
const EDGE_MODULES = new Set(['agent', 'api', 'cli', 'link', 'main']);
/** Programs within other modules that dial the control plane. */
const EDGE_FOLDERS = ['src/baremetal/manager/'];
const EFFECT_WORDS = new Set(['controller', 'driver', 'store', 'routes']);
const TESTING_WORDS = new Set(['test', 'contract', 'torture', 'fixture', 'fixtures']);

/** Folders in which every file is I/O, without a word in its name that says so. */
const EFFECT_FOLDERS = ['src/journal/postgres/', 'src/journal/sqlite/'];
/** The suite that every implementation of a port passes. */
const CONTRACT_FOLDER = /\/contract\//;

/** Beside effects, or named after one, and pure: the store port is types and errors only, the URL of a database is text. */
const PURE_FILES = new Set(['src/journal/store.ts', 'src/journal/postgres/url.ts']);

/** Undefined for a module that has no place in the order. */
export function rankOf(module: string): number | undefined {
  const rank = MODULE_ORDER.indexOf(module);
  return rank === -1 ? undefined : rank;
}

export function placeOf(path: string): Place {
  const parts = path.split('/');
  const file = parts.at(-1) ?? '';
  const area = parts[0] ?? '';
  const module = area === 'src' && parts.length > 2 ? (parts[1] ?? '') : '';
  const name = file.replace(/\.[cm]?[jt]s$/, '');
  return { path, area, module, name, role: roleOf({ path, area, module, name }) };
}

/** The value that a module brings to the program: `src/hosts/module.ts`. */
export function isModuleFile(path: string): boolean {
  return /^src\/[^/]+\/module\.ts$/.test(path) && path !== 'src/composition/module.ts';
}

function roleOf(file: Omit<Place, 'role'>): Role {
  if (file.area !== 'src') return 'outside';
  const words = file.name.split(/[.-]/);
  if (CONTRACT_FOLDER.test(file.path) || words.some((word) => TESTING_WORDS.has(word))) return 'testing';
  if (isModuleFile(file.path)) return 'runtime';
  if (EDGE_MODULES.has(file.module) || EDGE_FOLDERS.some((folder) => file.path.startsWith(folder))) return 'edge';
  if (PURE_FILES.has(file.path)) return 'pure';
  if (EFFECT_FOLDERS.some((folder) => file.path.startsWith(folder))) return 'effect';
  if (words.some((word) => EFFECT_WORDS.has(word))) return 'effect';
  return file.name === 'runtime' ? 'runtime' : 'pure';
}
