// The lines of the design, each broken once and kept once, in a small tree shaped like the project.

import type { Breaking, Case } from './lint-case.ts';
import { NAMES_BREAKING, NAMES_KEEPING } from './lint-name-cases.ts';

const DIRECTION = 'muster(import-direction)';
const PURE_IMPORT = 'muster(pure-imports)';
const PURE_GLOBAL = 'muster(pure-globals)';
const FILE_NAME = 'muster(file-name)';

/** The modules that the cases import from. */
export const SCENERY: readonly Case[] = [
  scene('src/fleet/index.ts', "export const fleet = 'fleet';\nexport interface Fleet { readonly name: string }\n"),
  scene('src/fleet/deep.ts', 'export const deep = 1;\n'),
  scene('src/journal/index.ts', "export { StoreClosed, type Store } from './store.ts';\n"),
  scene(
    'src/journal/store.ts',
    'export class StoreClosed extends Error {}\nexport interface Store { read(): string }\n',
  ),
  scene('src/journal/sqlite/store.ts', "import { statSync } from 'node:fs';\n\nexport const sqlite = statSync;\n"),
  scene('src/journal/runtime.ts', "export { sqlite } from './sqlite-store.ts';\n"),
  scene('src/journal/contract/store-contract.ts', "import { test } from 'vitest';\n\nexport const contract = test;\n"),
  scene('src/operations/index.ts', "export const operations = 'operations';\n"),
  scene('src/hosts/index.ts', "export const hosts = 'hosts';\n"),
  scene(
    'src/hosts/lease-controller.ts',
    "export const control = (): string => 'control';\nexport type Control = string;\n",
  ),
  scene('src/hosts/runtime.ts', "export { control } from './lease-controller.ts';\n"),
  scene('src/hosts/module.ts', "export const hostsModule = { name: 'hosts' };\n"),
  scene(
    'src/network/index.ts',
    "export const network = 'network';\nexport interface Network { readonly name: string }\n",
  ),
  scene('src/link/index.ts', "export const link = 'link';\n"),
  scene('src/link/runtime.ts', "export const dial = 'dial';\n"),
  scene('src/agent/index.ts', "export const agent = 'agent';\n"),
  scene('src/api/index.ts', "export const api = 'api';\n"),
  scene('src/cli/index.ts', "export const cli = 'cli';\n"),
  scene('sim/world.ts', "export const world = 'world';\n"),
  scene('test/thing.ts', "export const thing = 'thing';\n"),
  scene('bench/thing.ts', "export const thing = 'thing';\n"),
];

interface ImportPair {
  readonly name: string;
  readonly rule: string;
  readonly bad: readonly [path: string, specifier: string];
  readonly good: readonly [path: string, specifier: string];
}

const IMPORT_PAIRS: readonly ImportPair[] = [
  pair('fleet-imports-no-other-module', ['src/fleet/a1.ts', '../journal/index.ts'], ['src/fleet/a2.ts', './deep.ts']),
  pair('fleet-imports-no-feature', ['src/fleet/b1.ts', '../hosts/index.ts'], ['src/hosts/b2.ts', '../fleet/index.ts']),
  pair(
    'journal-lies-below-operations',
    ['src/journal/c1.ts', '../operations/index.ts'],
    ['src/operations/c2.ts', '../journal/index.ts'],
  ),
  pair(
    'operations-lie-below-features',
    ['src/operations/d1.ts', '../hosts/index.ts'],
    ['src/hosts/d2.ts', '../operations/index.ts'],
  ),
  pair(
    'a-module-has-a-place-in-the-order',
    ['src/vnf/e1.ts', '../hosts/index.ts'],
    ['src/instances/e2.ts', '../hosts/index.ts'],
  ),
  pair(
    'features-have-an-order-among-themselves',
    ['src/hosts/ea1.ts', '../network/index.ts'],
    ['src/network/ea2.ts', '../hosts/index.ts'],
  ),
  pair(
    'a-module-value-is-not-for-other-files',
    ['src/network/ec1.ts', '../hosts/module.ts'],
    ['src/network/module.ts', '../hosts/module.ts'],
  ),
  pair(
    'features-lie-below-the-api',
    ['src/hosts/routes-f1.ts', '../api/index.ts'],
    ['src/api/f2.ts', '../hosts/index.ts'],
  ),
  pair(
    'features-lie-below-the-agent',
    ['src/hosts/driver-g1.ts', '../agent/index.ts'],
    ['src/agent/g2.ts', '../hosts/index.ts'],
  ),
  pair(
    'the-link-lies-below-the-agent',
    ['src/link/ga1.ts', '../agent/index.ts'],
    ['src/agent/ga2.ts', '../link/index.ts'],
  ),
  pair('the-link-lies-below-the-api', ['src/link/gb1.ts', '../api/index.ts'], ['src/api/gb2.ts', '../link/index.ts']),
  pair(
    'the-link-is-dialled-by-modules-that-do-i-o',
    ['src/hosts/gc1-driver.ts', '../link/runtime.ts'],
    ['src/agent/gc2.ts', '../link/runtime.ts'],
  ),
  pair(
    'other-runtimes-are-not-for-the-agent',
    ['src/agent/gd1.ts', '../hosts/runtime.ts'],
    ['src/agent/gd2.ts', '../link/runtime.ts'],
  ),
  pair('the-api-lies-below-the-cli', ['src/api/h1.ts', '../cli/index.ts'], ['src/cli/h2.ts', '../api/index.ts']),
  pair('nothing-imports-main', ['src/agent/i1.ts', '../main/i3.ts'], ['src/main/i2.ts', '../agent/index.ts']),
  pair('cli-imports-no-module', ['src/cli/j1.ts', '../hosts/index.ts'], ['src/cli/j2.ts', '../api/index.ts']),
  pair('cli-imports-no-fleet', ['src/cli/k1.ts', '../fleet/index.ts'], ['src/cli/k2.ts', './index.ts']),
  pair(
    'modules-are-entered-by-their-index',
    ['src/hosts/l1.ts', '../fleet/deep.ts'],
    ['src/hosts/l2.ts', '../fleet/index.ts'],
  ),
  pair(
    'a-nested-index-is-no-door',
    ['src/main/m1.ts', '../api/restconf/index.ts'],
    ['src/main/m2.ts', '../api/index.ts'],
  ),
  pair(
    'runtime-is-not-for-modules',
    ['src/api/n1.ts', '../hosts/runtime.ts'],
    ['src/main/n2.ts', '../hosts/runtime.ts'],
  ),
  pair(
    'runtime-is-for-tests-too',
    ['src/hosts/o1-controller.ts', '../journal/runtime.ts'],
    ['src/hosts/o2.test.ts', '../journal/runtime.ts'],
  ),
  pair('src-never-imports-sim', ['src/main/p1.ts', '../../sim/world.ts'], ['sim/p2.ts', '../src/hosts/runtime.ts']),
  pair(
    'src-never-imports-test',
    ['src/main/q1.ts', '../../test/thing.ts'],
    ['test/q2.ts', '../src/hosts/lease-controller.ts'],
  ),
  pair(
    'src-never-imports-bench',
    ['src/main/r1.ts', '../../bench/thing.ts'],
    ['bench/r2.ts', '../src/hosts/runtime.ts'],
  ),
  pair(
    'tests-of-src-stay-in-src',
    ['src/hosts/s1.test.ts', '../../test/thing.ts'],
    ['src/hosts/s2.test.ts', './index.ts'],
  ),
  pair(
    'product-imports-no-contract-suite',
    ['src/hosts/t1-controller.ts', '../journal/store-contract.ts'],
    ['src/hosts/t2.test.ts', '../journal/store-contract.ts'],
  ),
  pair(
    'pure-imports-no-node-module',
    ['src/hosts/u1.ts', 'node:fs'],
    ['src/hosts/u2-driver.ts', 'node:fs'],
    PURE_IMPORT,
  ),
  pair('pure-imports-no-pg', ['src/hosts/v1.ts', 'pg'], ['src/hosts/v2-store.ts', 'pg'], PURE_IMPORT),
  pair('pure-imports-no-fastify', ['src/hosts/w1.ts', 'fastify'], ['src/hosts/routes.ts', 'fastify'], PURE_IMPORT),
  pair('pure-imports-no-pino', ['src/hosts/x1.ts', 'pino'], ['src/api/x2.ts', 'pino'], PURE_IMPORT),
  pair('pure-imports-typebox-and-yaml', ['src/hosts/y1.ts', 'commander'], ['src/hosts/y2.ts', 'yaml'], PURE_IMPORT),
  pair(
    'pure-imports-parts-of-typebox',
    ['src/hosts/z1.ts', '@fastify/swagger'],
    ['src/hosts/z2.ts', 'typebox/value'],
    PURE_IMPORT,
  ),
  pair(
    'pure-imports-no-controller',
    ['src/hosts/aa1.ts', './lease-controller.ts'],
    ['src/hosts/aa2-controller.ts', './lease-controller.ts'],
    PURE_IMPORT,
  ),
  pair(
    'index-exports-pure-things',
    ['src/sites/index.ts', './site-driver.ts'],
    ['src/sites/runtime.ts', './site-driver.ts'],
    PURE_IMPORT,
  ),
  pair(
    'the-store-port-is-pure',
    ['src/journal/bb1.ts', './sqlite-store.ts'],
    ['src/journal/bb2.ts', './store.ts'],
    PURE_IMPORT,
  ),
  pair(
    'runtime-itself-does-no-io',
    ['src/election/runtime.ts', 'node:net'],
    ['src/election/driver-net.ts', 'node:net'],
    PURE_IMPORT,
  ),
];

/** Every global with an effect, with an expression that uses it. The twin is the same text in a driver. */
const GLOBALS: readonly (readonly [name: string, use: string])[] = [
  ['date', 'new Date(0).toISOString()'],
  ['date-now', 'Date.now()'],
  ['math-random', 'Math.random()'],
  ['math-passed-on', 'Object.keys(Math)'],
  ['math-computed', "Math['random']()"],
  ['set-timeout', 'setTimeout'],
  ['set-interval', 'setInterval'],
  ['set-immediate', 'setImmediate'],
  ['queue-microtask', 'queueMicrotask'],
  ['abort-timeout', 'AbortSignal.timeout(1)'],
  ['atomics-wait', 'Atomics.wait'],
  ['fetch', 'fetch'],
  ['web-socket', 'WebSocket'],
  ['process', 'process.pid'],
  ['console', 'console'],
  ['performance', 'performance.now()'],
  ['crypto', 'crypto.randomUUID()'],
  ['global-this', 'globalThis.performance'],
  ['global', 'global'],
];

const NAMES = ['types', 'utils', 'helpers', 'constants', 'common', 'misc'];

export const BREAKING: readonly Breaking[] = [
  ...NAMES_BREAKING,
  ...IMPORT_PAIRS.map(({ name, rule, bad }) => ({ name, rule, ...importing(bad) })),
  ...GLOBALS.map(([name, use]) => ({ rule: PURE_GLOBAL, ...using(`src/hosts/g-${name}.ts`, use) })),
  { rule: PURE_GLOBAL, ...using('src/network/runtime.ts', 'Date.now()') },
  { rule: PURE_GLOBAL, ...using('sim/clock.ts', 'Date.now()') },
  ...NAMES.map((name) => ({ rule: FILE_NAME, ...using(`src/hosts/${name}.ts`, "'x'") })),
  { rule: FILE_NAME, ...using('test/helpers.ts', "'x'") },
  {
    rule: DIRECTION,
    name: 'types-alone-count-in-the-order',
    path: 'src/hosts/eb1.ts',
    text: "import type { Network } from '../network/index.ts';\n\nexport const nameOf = ({ name }: Network): string => name;\n",
  },
  breaking(
    'pure-imports-nothing-by-a-computed-name',
    'src/hosts/cc1.ts',
    'export const load = (name: string) => import(name);',
  ),
  breaking(
    'a-type-inside-braces-still-runs-the-module',
    'src/hosts/cc2.ts',
    "export { type Control } from './lease-controller.ts';",
  ),
  breaking('pure-re-exports-no-controller', 'src/hosts/cc3.ts', "export * from './lease-controller.ts';"),
  breaking('pure-imports-no-node-module-later', 'src/hosts/cc4.ts', "export const later = import('node:fs');"),
];

export const KEEPING: readonly Case[] = [
  ...NAMES_KEEPING,
  ...IMPORT_PAIRS.map(({ name, good }) => ({ name, ...importing(good) })),
  ...GLOBALS.map(([name, use]) => using(`src/hosts/g-${name}-driver.ts`, use)),
  using('src/hosts/g-max.ts', 'Math.max(1, 2)'),
  using('src/hosts/g-utc.ts', 'Date.UTC(2026, 0, 1)'),
  using('src/cli/now.ts', 'Date.now()'),
  using('src/hosts/now.test.ts', 'Date.now()'),
  using('sim/turn.ts', 'setImmediate'),
  using('sim/run.ts', 'Date.now()'),
  keeping(
    'a-parameter-may-have-the-name-of-a-global',
    'src/hosts/dd1.ts',
    'export const ask = (fetch: () => string): string => fetch();',
  ),
  keeping(
    'a-global-may-be-named-in-a-type',
    'src/hosts/dd2.ts',
    'export interface Ports { readonly fetch: typeof fetch; readonly at: Date }',
  ),
  keeping(
    'pure-may-import-types-of-a-controller',
    'src/hosts/dd3.ts',
    "import type { Control } from './lease-controller.ts';\n\nexport type Mine = Control;",
  ),
  keeping(
    'the-version-comes-from-package-json',
    'src/main/version.ts',
    "import manifest from '../../package.json' with { type: 'json' };\n\nexport const { version } = manifest;",
  ),
  keeping(
    'pure-may-import-types-of-a-package',
    'src/hosts/dd4.ts',
    "import type { Pool } from 'pg';\n\nexport type Mine = Pool;",
  ),
];

function scene(path: string, text: string): Case {
  return { name: path, path, text };
}

function pair(name: string, bad: ImportPair['bad'], good: ImportPair['good'], rule = DIRECTION): ImportPair {
  return { name, rule, bad, good };
}

function importing([path, specifier]: readonly [string, string]): { path: string; text: string } {
  return { path, text: `export * from '${specifier}';\n` };
}

function using(path: string, expression: string): Case {
  return { name: path, path, text: `export const used = (): unknown => ${expression};\n` };
}

function breaking(name: string, path: string, text: string): Breaking {
  return { name, path, text: `${text}\n`, rule: PURE_IMPORT };
}

function keeping(name: string, path: string, text: string): Case {
  return { name, path, text: `${text}\n` };
}
