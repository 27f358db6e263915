// Which file may import which: the design's directions between modules, and purity. Every rule answers with a sentence
// that says what to do instead; undefined means the import is fine.
import { posix } from 'node:path';
import { isModuleFile, placeOf, rankOf, type Place } from './place.ts';

export interface Import {
  readonly specifier: string;
  /** `import type` and `export type`: nothing is left of it when the program runs. */
  readonly typeOnly: boolean;
}

type ImportRule = (from: Place, to: Place) => string | undefined;

/** Packages that only compute. Everything else a pure file gets as a value from its caller. */
const PURE_PACKAGES = new Set(['typebox', 'yaml']);

const DIRECTIONS: readonly ImportRule[] = [
  refuseOutsideSource,
  refuseFromFleet,
  refuseAgainstOrder,
  refuseFromCli,
  refusePastIndex,
  refuseTestingCode,
];

export function directionProblem(from: Place, wanted: Import): string | undefined {
  if (from.area !== 'src' || !isRelative(wanted.specifier)) return undefined;
  const to = target(from, wanted.specifier);
  if (to.path === 'package.json') return undefined; // where the program finds its version
  for (const findProblem of DIRECTIONS) {
    const problem = findProblem(from, to);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function purityProblem(from: Place, wanted: Import): string | undefined {
  if (wanted.typeOnly || (from.role !== 'pure' && from.role !== 'runtime')) return undefined;
  return isRelative(wanted.specifier)
    ? impureFile(from, target(from, wanted.specifier))
    : impurePackage(from, wanted.specifier);
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.');
}

function target(from: Place, specifier: string): Place {
  return placeOf(posix.normalize(posix.join(posix.dirname(from.path), specifier)));
}

function impureFile(from: Place, to: Place): string | undefined {
  const effects = to.role === 'effect' || to.role === 'edge' || to.role === 'runtime';
  if (!effects || from.role === 'runtime') return undefined;
  return `${from.path} is pure and may import only types of ${to.path}. Take what it does as a parameter.`;
}

function impurePackage(from: Place, specifier: string): string | undefined {
  const parts = specifier.split('/');
  const name = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  if (PURE_PACKAGES.has(name)) return undefined;
  return `${from.path} is pure and may not import ${specifier}. Take what it does as a parameter.`;
}

function refuseOutsideSource(_from: Place, to: Place): string | undefined {
  if (to.area === 'src') return undefined;
  return `src/ never imports ${to.area}/: what the product needs lies under src/.`;
}

function refuseFromFleet(from: Place, to: Place): string | undefined {
  if (from.module !== 'fleet' || to.module === 'fleet' || isModuleFile(from.path)) return undefined;
  return `src/fleet imports nothing else of the project, so not ${to.path}.`;
}

function refuseAgainstOrder(from: Place, to: Place): string | undefined {
  // Tests of a module may play it together with those above it.
  const isFree = from.module === to.module || from.role === 'testing' || isForComposition(from, to);
  if (isFree) return undefined;
  const [lower, upper] = [rankOf(to.module), rankOf(from.module)];
  const unknown = lower === undefined ? to : upper === undefined ? from : undefined;
  if (unknown !== undefined)
    return `src/${unknown.module} has no place in scripts/lint/module-order.ts: give it one, above all that it imports.`;
  if (lower !== undefined && upper !== undefined && lower < upper) return undefined;
  return `${from.module}/ lies below ${to.module}/ and may not import it. Turn the dependency round or pass a value in.`;
}

/** The `Module` value of a module is read by `compose()`: it may import the types of composition, whatever its rank. */
function isForComposition(from: Place, to: Place): boolean {
  return isModuleFile(from.path) && to.path === 'src/composition/index.ts';
}

function refuseFromCli(from: Place, to: Place): string | undefined {
  if (from.module !== 'cli' || to.module === 'cli' || to.module === 'api') return undefined;
  return `cli/ is a thin client of the API: it may import api/index.ts and no other module, so not ${to.path}.`;
}

function refusePastIndex(from: Place, to: Place): string | undefined {
  if (from.module === to.module || to.role === 'testing') return undefined;
  const composes = from.module === 'main' || from.role === 'testing';
  if (isModuleFile(to.path)) {
    if (composes || isModuleFile(from.path)) return undefined;
    return `Only main/, sim/, tests, benchmarks and other modules' module.ts import a module.ts, so not ${from.path}.`;
  }
  if (to.name === 'runtime' && !composes && !isForDialling(from, to)) {
    return `Only main/, sim/, tests and benchmarks import a module's runtime.ts, so not ${from.path}.`;
  }
  if (isEntryPoint(to) || isSharedWithClients(from, to)) return undefined;
  return `Other modules are entered by their index.ts, so ${from.path} may not import ${to.path}.`;
}

/** A module whose whole point is I/O dials the control plane itself: the port that others see is its own. */
function isForDialling(from: Place, to: Place): boolean {
  return to.path === 'src/link/runtime.ts' && from.role === 'edge';
}

/** Pure leaves that the command line shares with servers, without all that their modules load: `muster hosts list` starts at once. */
const SHARED_WITH_CLIENTS = new Set(['src/journal/backoff.ts', 'src/link/loopback.ts']);

function isSharedWithClients(from: Place, to: Place): boolean {
  return from.path === 'src/api/index.ts' && SHARED_WITH_CLIENTS.has(to.path);
}

/** A door is at the module's own level: `src/api/index.ts`, not `src/api/restconf/index.ts`. */
function isEntryPoint(to: Place): boolean {
  return to.path === `src/${to.module}/index.ts` || to.path === `src/${to.module}/runtime.ts`;
}

function refuseTestingCode(from: Place, to: Place): string | undefined {
  if (to.role !== 'testing' || from.role === 'testing') return undefined;
  return `${to.path} is for tests: the product may not import it.`;
}
