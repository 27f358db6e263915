// The rules that .oxlintrc.json names one by one, each with a line that breaks it and one that keeps it.
import type { Breaking, Case } from './lint-case.ts';

type Snippet = readonly [rule: string, bad: string, good: string];

const LONG_FUNCTION = `export function long(): number {\n  let a = 0;\n${'  a += 1;\n'.repeat(60)}  return a;\n}`;
const LONG_FILE = Array.from({ length: 401 }, (_none, line) => `export const l${line} = ${line};`).join('\n');

const SNIPPETS: readonly Snippet[] = [
  ['eslint(array-callback-return)', '[1].map((n) => { if (n) { return 1; } });', '[1].map((n) => n);'],
  [
    'eslint(default-case-last)',
    'switch (a as string) { default: break; case "b": break; }',
    'switch (a as string) { case "b": break; default: break; }',
  ],
  ['eslint(eqeqeq)', 'export const b = a == 1;', 'export const b = a === 1;'],
  [
    'eslint(max-depth)',
    'if (a) { if (a) { if (a) { if (a) { if (a) { run(); } } } } }',
    'if (a) { if (a) { run(); } }',
  ],
  ['eslint(max-lines)', LONG_FILE, 'run();'],
  ['eslint(max-lines-per-function)', LONG_FUNCTION, 'run();'],
  [
    'eslint(max-params)',
    'export const f = (b: 1, c: 1, d: 1, e: 1, g: 1) => [b, c, d, e, g];',
    'export const f = (b: 1, c: 1): unknown => [b, c];',
  ],
  ['eslint(no-array-constructor)', 'export const b = new Array(1, 2);', 'export const b = [1, 2];'],
  [
    'eslint(no-constructor-return)',
    'export class B { constructor() { return Object.create(null) as B; } }',
    'export class B { readonly b = 1; }',
  ],
  ['eslint(no-empty)', 'if (a) {}', 'if (a) run();'],
  [
    'eslint(no-fallthrough)',
    'switch (a as string) { case "b": run(); case "c": run(); break; default: }',
    'switch (a as string) { case "b": case "c": run(); break; default: }',
  ],
  [
    'eslint(no-param-reassign)',
    'export const f = (b: number) => { b = 2; return b; };',
    'export const f = (b: number): number => b + 2;',
  ],
  [
    'eslint(no-promise-executor-return)',
    'await new Promise<void>((done) => setTimeout(done, 1));',
    'await new Promise<void>((done) => { setTimeout(done, 1); });',
  ],
  [
    'eslint(no-proto)',
    'export const b = ({} as { __proto__: object }).__proto__;',
    'export const b: unknown = Object.getPrototypeOf({});',
  ],
  ['eslint(no-return-assign)', 'let b = 1; export const f = () => b = 2;', 'export const f = (): number => a;'],
  ['eslint(no-self-compare)', 'export const b = a === a;', 'export const b = a === 2;'],
  [
    'eslint(no-sequences)',
    'export const f = () => { run(), run(); };',
    'export const f = (): void => { run(); run(); };',
  ],
  ['eslint(no-unused-vars)', 'const b = 1;', 'const _b = 1;'],
  ['eslint(no-useless-return)', 'export function f(): void { run(); return; }', 'export function f(): void { run(); }'],
  ['eslint(no-var)', 'export var b = 1;', 'export const b = 1;'],
  ['eslint(object-shorthand)', 'export const b = { a: a };', 'export const b = { a };'],
  ['eslint(prefer-const)', 'let b = 1; run(b);', 'const b = 1; run(b);'],
  ['eslint(prefer-template)', 'export const b = "x" + String(a) + "y";', 'export const b = `x${a}y`;'],
  ['eslint(radix)', 'export const b = parseInt("1");', 'export const b = parseInt("1", 10);'],
  [
    'import(no-duplicates)',
    "import { join } from 'node:path'; import { resolve } from 'node:path'; run(join, resolve);",
    "import { join, resolve } from 'node:path'; run(join, resolve);",
  ],
  ['import(no-mutable-exports)', 'export let b = 1; b = 2;', 'export const b = 1;'],
  [
    'typescript(ban-ts-comment)',
    '// @ts-ignore\nexport const b: number = "x";',
    '// @ts-expect-error: the compiler is wrong here\nexport const b: number = "x";',
  ],
  [
    'typescript(consistent-type-definitions)',
    'export type B = { readonly b: 1 };',
    'export interface B { readonly b: 1 }',
  ],
  [
    'typescript(consistent-type-exports)',
    "export { JoinOptions } from './scene.ts';",
    "export type { JoinOptions } from './scene.ts';",
  ],
  [
    'typescript(consistent-type-imports)',
    "import { JoinOptions } from './scene.ts'; export type B = JoinOptions;",
    "import type { JoinOptions } from './scene.ts'; export type B = JoinOptions;",
  ],
  [
    'typescript(explicit-module-boundary-types)',
    'export function f() { return a; }',
    'export function f(): number { return a; }',
  ],
  [
    'typescript(no-deprecated)',
    "import { old } from './scene.ts'; export const b = old;",
    "import { fresh } from './scene.ts'; export const b = fresh;",
  ],
  [
    'typescript(no-dynamic-delete)',
    'const b: Record<string, number> = {}; const k = String(a); delete b[k];',
    'const b = new Map<string, number>(); b.delete(String(a));',
  ],
  ['typescript(no-empty-object-type)', 'export const b: {} = a;', 'export const b: object = [a];'],
  ['typescript(no-explicit-any)', 'export const b: any = a;', 'export const b: unknown = a;'],
  ['typescript(no-floating-promises)', 'Promise.resolve(1);', 'await Promise.resolve(1);'],
  [
    'typescript(no-import-type-side-effects)',
    "import { type JoinOptions } from './scene.ts'; export type B = JoinOptions;",
    "import type { JoinOptions } from './scene.ts'; export type B = JoinOptions;",
  ],
  [
    'typescript(no-invalid-void-type)',
    'export const f = (b: void | string) => b;',
    'export const f = (b: string): string => b;',
  ],
  ['typescript(no-misused-promises)', 'if (Promise.resolve(true)) run();', 'if (await Promise.resolve(true)) run();'],
  ['typescript(no-mixed-enums)', 'declare enum E { A = 1, B = "b" } run(0 as unknown as E);', 'run();'],
  ['typescript(no-namespace)', 'declare namespace N { const b: number; } run(0 as unknown as typeof N);', 'run();'],
  ['typescript(no-non-null-assertion)', 'export const b = [a].at(0)!;', 'export const b = [a].at(0) ?? 0;'],
  ['typescript(no-require-imports)', "import b = require('node:fs'); run(b);", "import b from 'node:fs'; run(b);"],
  [
    'typescript(no-unsafe-argument)',
    'const s = (b: string) => b; run(s(JSON.parse("1")));',
    'const s = (b: unknown) => b; run(s(JSON.parse("1")));',
  ],
  [
    'typescript(no-unsafe-assignment)',
    'export const b: number = JSON.parse("1");',
    'export const b: unknown = JSON.parse("1");',
  ],
  ['typescript(no-unsafe-call)', 'JSON.parse("1")();', '(JSON.parse("1") as () => void)();'],
  ['typescript(no-unsafe-function-type)', 'export const b: Function = run;', 'export const b: () => void = run;'],
  ['typescript(no-unsafe-member-access)', 'run(JSON.parse("1").b);', 'run((JSON.parse("1") as { b: 1 }).b);'],
  [
    'typescript(no-unsafe-return)',
    'export const f = (): number => JSON.parse("1");',
    'export const f = (): unknown => JSON.parse("1");',
  ],
  ['typescript(only-throw-error)', 'if (a) throw "x";', 'if (a) throw new Error("x");'],
  [
    'typescript(prefer-nullish-coalescing)',
    'export const b = [{ a }].at(0) || { a: 2 };',
    'export const b = [{ a }].at(0) ?? { a: 2 };',
  ],
  [
    'typescript(prefer-promise-reject-errors)',
    'export const b = Promise.reject("x");',
    'export const b = Promise.reject(new Error("x"));',
  ],
  [
    'typescript(prefer-readonly)',
    'export class B { #b = 1; get b(): number { return this.#b; } }',
    'export class B { readonly #b = 1; get b(): number { return this.#b; } }',
  ],
  ['typescript(restrict-plus-operands)', 'export const b = a + [a];', 'export const b = a + 1;'],
  [
    'typescript(return-await)',
    'export async function f(): Promise<void> { try { return Promise.resolve(); } finally { run(); } }',
    'export async function f(): Promise<void> { try { return await Promise.resolve(); } finally { run(); } }',
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    'const b = "x" as "x" | "y"; switch (b) { case "x": run(); }',
    'const b = "x" as "x" | "y"; switch (b) { case "x": run(); break; case "y": }',
  ],
  [
    'typescript(use-unknown-in-catch-callback-variable)',
    'await Promise.resolve().catch((error) => run(error));',
    'await Promise.resolve().catch((error: unknown) => run(error));',
  ],
  ['unicorn(error-message)', 'if (a) throw new Error();', 'if (a) throw new Error("x");'],
  [
    'unicorn(no-typeof-undefined)',
    'const b = [a].at(0); export const c = typeof b === "undefined";',
    'const b = [a].at(0); export const c = b === undefined;',
  ],
  [
    'unicorn(prefer-node-protocol)',
    "import { join } from 'path'; run(join);",
    "import { join } from 'node:path'; run(join);",
  ],
  ['unicorn(throw-new-error)', 'if (a) throw Error("x");', 'if (a) throw new Error("x");'],
];

const SCENE = `export const a: number = 1;
export const run = (..._all: unknown[]): void => {};
export interface JoinOptions { readonly name: string }
export const fresh = 1;
/** @deprecated since the fresh one is there */
export const old = 2;
`;

const CYCLE = (other: string): string => `import { b } from './${other}.ts';\n\nexport const c = (): unknown => b;\n`;

export const SNIPPET_SCENERY: readonly Case[] = [{ name: 'scene', path: 'src/api/scene.ts', text: SCENE }];

export const SNIPPETS_BREAKING: readonly Breaking[] = [
  ...SNIPPETS.map(([rule, bad], n) => ({ name: rule, rule, path: `src/api/bad-${n}.ts`, text: dressed(bad) })),
  { name: 'import(no-cycle)', rule: 'import(no-cycle)', path: 'src/api/cycle-1.ts', text: CYCLE('cycle-2') },
  {
    name: 'import(no-cycle), from the other end',
    rule: 'import(no-cycle)',
    path: 'src/api/cycle-2.ts',
    text: CYCLE('cycle-1'),
  },
];

export const SNIPPETS_KEEPING: readonly Case[] = SNIPPETS.map(([rule, , good], n) => {
  return { name: rule, path: `src/api/good-${n}.ts`, text: dressed(good) };
});

/** Only the names that the line uses: an unused import would be reported too. */
function dressed(line: string): string {
  const used = ['a', 'run'].filter((name) =>
    new RegExp(`\\b${name}\\b(?!:)`).test(line.replaceAll(/'[^']*'|"[^"]*"/g, '')),
  );
  return `${used.length > 0 ? `import { ${used.join(', ')} } from './scene.ts';\n` : ''}${line}\n`;
}
