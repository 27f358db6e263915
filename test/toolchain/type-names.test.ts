// A type's name means one thing: whoever searches for it finds one declaration, and no other type that happens to be called so.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './scratch.ts';

interface Declaration {
  readonly name: string;
  readonly path: string;
  readonly isExported: boolean;
  /** An alias for a part of another type, such as `Commit['changes'][number]`: what that type says of it. */
  readonly isPart: boolean;
}

/** Names that several exported types have, and why none of them needs another one. */
const SHARED: Readonly<Record<string, string>> = {
  Interrupted: 'Ctrl-C in the benchmarks and in the lab: one meaning, in programs that share no code',
  ServerProcess: 'a running `muster serve`, of the benchmarks and of the tests of the command line: one meaning',
  HostResult:
    'what became of one host of a scale-in: in the command line a part of the representation, and in hosts/ what it is made of',
};

/** Generated: the representations of the API have the names of their documents. */
const GENERATED = 'src/cli/client/representations.ts';
/** Text that lint is tried on. */
const LINT_CASES = /^test\/toolchain\/lint-/;

/** Formatted code has declarations of the file at the beginning of a line. */
const DECLARATION = /^(export )?(?:declare |abstract )*(?:interface|type|class) (\w+)(.*(?:\n {2}\S.*)?)/gm;

const declarations = ['src', 'sim', 'lab', 'bench', 'scripts', 'test']
  .flatMap((area) => globSync(`${area}/**/*.ts`, { cwd: ROOT }))
  .filter((path) => path !== GENERATED && !LINT_CASES.test(path) && !path.endsWith('.test.ts'))
  .flatMap((path): Declaration[] =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(DECLARATION)].map(([, exported, name = '', rest = '']) => {
      return { name, path, isExported: exported !== undefined, isPart: /^[^{;]*= [^{;]*\[/.test(rest) };
    }),
  );

const exported = Map.groupBy(
  declarations.filter(({ isExported }) => isExported),
  ({ name }) => name,
);

test('an-exported-type-is-declared-once: give the other one a name that says what it is', () => {
  expect(exported.size).toBeGreaterThan(1000);
  const shared = [...exported.values()].filter(([{ name } = { name: '' }, ...others]) => {
    return others.length > 0 && SHARED[name] === undefined;
  });
  expect(shared.map((all) => `${all[0]?.name}: ${all.map(({ path }) => path).join(', ')}`)).toEqual([]);
});

test('a-type-of-one-file-has-no-name-that-another-module-exports: a reader would take it for that one', () => {
  const local = declarations.filter(({ path, isExported, isPart }) => {
    return path.startsWith('src/') && !isExported && !isPart;
  });
  const taken = local.flatMap(({ name, path }) => {
    const other = exported.get(name)?.find((one) => one.path.startsWith('src/'));
    return other === undefined ? [] : [`${name} of ${path} is exported by ${other.path}`];
  });
  expect(taken).toEqual([]);
});

test('every-shared-name-is-still-shared: take the others out of the list', () => {
  expect(Object.keys(SHARED).filter((name) => (exported.get(name)?.length ?? 0) < 2)).toEqual([]);
});
