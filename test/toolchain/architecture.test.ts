// The tables of docs/architecture.md say what the code says.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MODULE_ORDER } from '../../scripts/lint/module-order.ts';
import { VIEW_PARTS } from '../../src/hosts/index.ts';
import { SCALE_IN_TABLE, VERBS, type VerbEffect } from '../../src/hosts/scale-in/verb-table.ts';
import { MODULES, PROGRAM } from '../../src/main/modules.ts';
import { missingPaths, namedPaths } from './named-paths.ts';
import { ROOT } from './scratch.ts';

const PAGE = 'docs/architecture.md';
const text = readFileSync(join(ROOT, PAGE), 'utf8');

/** The rows of the table whose first heading is this, by the text of their first cell. */
function table(heading: string): Map<string, readonly string[]> {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => cellsOf(line)[0] === heading);
  const end = lines.findIndex((line, nth) => nth > at && !line.startsWith('|'));
  const rows = lines.slice(at + 2, end).map(cellsOf);
  return new Map(rows.map(([first, ...rest]) => [(first ?? '').replaceAll(/[`/]/g, ''), rest]));
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The names in a cell, without what is said of them in brackets. */
function names(cell: string | undefined): string[] {
  const plain = (cell ?? '').replaceAll(/\([^)]*\)/g, '');
  return plain
    .split(',')
    .map((name) => name.replaceAll('`', '').trim())
    .filter((name) => name !== '')
    .sort();
}

test('every-module-has-its-documents-projections-and-operation-kinds-in-the-table', () => {
  const written = table('module');
  const said = [...written].map(([module, [documents, projections, kinds]]) => ({
    module,
    documents: names(documents),
    projections: [...(projections ?? '').matchAll(/`([a-z-]+)`:/g)].map(([, name]) => name ?? '').sort(),
    kinds: names(kinds),
  }));
  const real = MODULES.map((module) => {
    const models = module.models?.(PROGRAM) ?? [];
    return {
      module: module.name,
      documents: models.flatMap(({ kinds }) => kinds.map(({ name }) => name)).sort(),
      projections: models.flatMap(({ projections }) => (projections ?? []).map(({ name }) => name)).sort(),
      kinds: (module.operationKinds?.(PROGRAM) ?? []).map(({ name }) => name).sort(),
    };
  }).filter(({ documents, kinds }) => documents.length + kinds.length > 0);
  expect(byModule(said)).toEqual(byModule(real));
});

test('every-part-of-a-view-is-in-the-table, with-the-module-that-it-is-of', () => {
  const real = MODULES.flatMap(({ name, contributions }) =>
    (contributions ?? [])
      .filter(({ point }) => point === VIEW_PARTS.name)
      .flatMap(({ values }) => values.map((part) => [(part as { readonly name: string }).name, `\`${name}/\``])),
  );
  const said = [...table('part')].map(([part, [module]]) => [part, module]);
  expect(Object.fromEntries(said)).toEqual(Object.fromEntries(real));
});

test('the-steps-of-a-handover-are-in-the-table, in-their-order', () => {
  const kinds = MODULES.flatMap((module) => module.operationKinds?.(PROGRAM) ?? []);
  // No other kind points the other hosts to a new one before the old one retires.
  const steps = kinds.find((kind) => kind.steps.includes('retire'))?.steps;
  expect([...table('step').keys()]).toEqual(steps);
});

test('the-verbs-of-a-scale-in-mean-what-the-table-says', () => {
  const said = [...table('state')].map(([state, cells]) => [state, cells.map((cell) => cell.replaceAll('`', ''))]);
  const real = Object.entries(SCALE_IN_TABLE).map(([state, verbs]) => [
    state,
    VERBS.map((verb) => inWords(verbs[verb])),
  ]);
  expect(said).toEqual(real);
});

test('every-path-on-the-page-exists', () => {
  expect(namedPaths(PAGE).length).toBeGreaterThan(150);
  expect(missingPaths(PAGE)).toEqual([]);
});

test('the-order-of-the-modules-is-the-one-that-lint-holds, and-each-has-a-paragraph', () => {
  const paragraph = /`fleet` < [^.]*`main`/.exec(text)?.[0] ?? '';
  expect([...paragraph.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)).toEqual(MODULE_ORDER);
  expect(MODULE_ORDER.filter((module) => !text.includes(`**\`${module}/\`**`))).toEqual([]);
});

test('the-list-of-modules-is-in-that-order', () => {
  const places = MODULES.map(({ name }) => MODULE_ORDER.indexOf(name));
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

test('every-folder-of-test-has-a-row', () => {
  const rows = [...table('where').keys()].join(', ');
  const folders = globSync('test/*/', { cwd: ROOT }).map((path) => path.replaceAll('/', ''));
  expect(folders.length).toBeGreaterThan(10);
  expect(folders.filter((folder) => !rows.split(/[ ,]+/).includes(folder))).toEqual([]);
});

test('every-suite-with-a-script-of-its-own-is-among-the-everyday-commands', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly scripts: object };
  const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const suites = Object.keys(scripts).filter((name) => name.startsWith('test:'));
  expect(suites.filter((name) => !contributing.includes(`| \`npm run ${name}\``))).toEqual([]);
});

const EFFECTS: Readonly<Record<Exclude<VerbEffect['act'], 'refuse'>, string>> = {
  tombstone: '→ draining',
  assess: '→ finalizing, or refused with what is in the way',
  'bring-back': '→ recovering',
  forget: 'the join is cancelled',
  unchanged: 'unchanged',
};

function inWords(effect: VerbEffect): string {
  return effect.act === 'refuse' ? `refused: ${effect.because}` : EFFECTS[effect.act];
}

function byModule<T extends { readonly module: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => (a.module < b.module ? -1 : 1));
}
