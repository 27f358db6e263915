// Each rule that holds the design's lines is tried by breaking it, beside a twin that keeps it. All files are linted in
// one run: the linter's answer for one path does not depend on the others.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as cases from './lint-cases.ts';
import { SNIPPET_SCENERY, SNIPPETS_BREAKING, SNIPPETS_KEEPING } from './lint-snippets.ts';
import { linkPackages, makeScratch, ROOT, run, type Scratch } from './scratch.ts';

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly filename: string; readonly message: string }[];
}

const SCENERY = [...cases.SCENERY, ...SNIPPET_SCENERY];
const BREAKING = [...cases.BREAKING, ...SNIPPETS_BREAKING];
const KEEPING = [...cases.KEEPING, ...SNIPPETS_KEEPING];

let scratch: Scratch;
let report: Report;

beforeAll(async () => {
  scratch = await makeScratch();
  await scratch.copy('.oxlintrc.json', 'scripts/lint', 'tsconfig.json', 'package.json');
  await linkPackages(scratch);
  for (const { path, text } of [...SCENERY, ...BREAKING, ...KEEPING]) await scratch.write(path, text);
  const lint = await run(join(ROOT, 'node_modules/.bin/oxlint'), ['-f', 'json'], { cwd: scratch.root });
  report = JSON.parse(lint.stdout) as Report;
});

afterAll(async () => {
  await scratch.remove();
});

function codesAt(path: string): string[] {
  return report.diagnostics.filter((one) => one.filename === path).map((one) => one.code);
}

describe('a file that breaks a rule is reported by that rule', () => {
  test.each(BREAKING)('$name', ({ path, rule }) => {
    expect(codesAt(path)).toContain(rule);
  });
});

describe('its well-behaved twin passes', () => {
  test.each(KEEPING)('$name', ({ path }) => {
    expect(codesAt(path)).toEqual([]);
  });
});

test('every rule that the configuration names was broken', async () => {
  const config = await readFile(join(ROOT, '.oxlintrc.json'), 'utf8');
  const rules = config.slice(config.indexOf('"rules": {'), config.indexOf('"overrides"'));
  const named = [...rules.matchAll(/"([a-z]+)\/([a-z-]+)": (?:"error"|\[\s*"error")/g)];
  const broken = new Set(BREAKING.map((one) => one.rule));
  expect(named.length).toBeGreaterThan(60);
  expect(named.map(([, plugin, rule]) => `${plugin}(${rule})`).filter((rule) => !broken.has(rule))).toEqual([]);
});

test('the linter reports nothing in the scenery', () => {
  expect(SCENERY.flatMap(({ path }) => codesAt(path))).toEqual([]);
});
