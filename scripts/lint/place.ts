// Where a file lies and what it may therefore do. One notion of room, rank and purity for every rule of this folder.
// Paths are relative to the project's root, with forward slashes: `src/hosts/decide.ts`.

export interface Place {
  readonly path: string;
  /** The first folder: `src`, `sim`, `test`, `bench`, `scripts`; the file's own name at the root. */
  readonly area: string;
  /** The room of a file under src/: `hosts`; empty elsewhere. */
  readonly room: string;
  /** The file's name without folder and extensions: `memory-store`. */
  readonly name: string;
  readonly role: Role;
}

type Role =
  | 'pure' // decides; no clock, no chance, no I/O
  | 'runtime' // a room's runtime.ts: pure itself, but hands out controllers and drivers
  | 'effect' // a controller, driver, store or routes file
  | 'edge' // anything in a room whose whole point is I/O
  | 'testing' // tests and what only tests use
  | 'outside'; // not under src/

/** A room may import rooms of its own rank or below. Rooms that are not listed are features, between the two groups. */
const GROUND = ['fleet', 'journal', 'access', 'operations'];
const FEATURE_RANK = GROUND.length;
const ABOVE = new Map([
  ['agent', FEATURE_RANK + 1],
  ['api', FEATURE_RANK + 1],
  ['cli', FEATURE_RANK + 2],
  ['main', FEATURE_RANK + 2],
]);

const EDGE_ROOMS = new Set(ABOVE.keys());
const EFFECT_WORDS = new Set(['controller', 'driver', 'store', 'routes']);
const TESTING_WORDS = new Set(['test', 'contract', 'torture', 'fixture', 'fixtures']);

/** The store port carries the word, but is types and errors only: it is held to purity, and pure files may use it. */
const PURE_PORTS = new Set(['src/journal/store.ts']);

export function rankOf(room: string): number {
  const ground = GROUND.indexOf(room);
  return ground === -1 ? (ABOVE.get(room) ?? FEATURE_RANK) : ground;
}

export function placeOf(path: string): Place {
  const parts = path.split('/');
  const file = parts.at(-1) ?? '';
  const area = parts[0] ?? '';
  const room = area === 'src' && parts.length > 2 ? (parts[1] ?? '') : '';
  const name = file.replace(/\.[cm]?[jt]s$/, '');
  return { path, area, room, name, role: roleOf({ path, area, room, name }) };
}

function roleOf(file: Omit<Place, 'role'>): Role {
  if (file.area !== 'src') return 'outside';
  const words = file.name.split(/[.-]/);
  if (words.some((word) => TESTING_WORDS.has(word))) return 'testing';
  if (EDGE_ROOMS.has(file.room)) return 'edge';
  if (PURE_PORTS.has(file.path)) return 'pure';
  if (words.some((word) => EFFECT_WORDS.has(word))) return 'effect';
  return file.name === 'runtime' ? 'runtime' : 'pure';
}
