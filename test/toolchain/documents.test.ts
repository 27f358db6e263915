// The documents are right about what can be looked up: links, files, and functions that a checklist names.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { TABLE } from '../../src/dataplane/switch/tables.ts';
import { missingPaths, namedPaths } from './named-paths.ts';
import { ROOT } from './scratch.ts';

const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'docs/adr/*.md'], { cwd: ROOT });
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('every-link-leads-to-a-file-and-a-heading', () => {
  const links = DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => ({ document, to: to ?? '' })),
  ).filter(({ to }) => !to.startsWith('http'));
  expect(links.length).toBeGreaterThan(150);
  expect(links.filter((link) => !leadsSomewhere(link))).toEqual([]);
});

test('every-adr-has-its-own-number', () => {
  const numbers = DOCUMENTS.flatMap((path) => /^docs\/adr\/(\d{4})-/.exec(path)?.[1] ?? []);
  expect(numbers.length).toBeGreaterThan(50);
  expect(numbers.filter((number, nth) => numbers.indexOf(number) !== nth)).toEqual([]);
});

test.each(DOCUMENTS.filter((path) => path.startsWith('docs/adr/')))(
  'the-title-has-the-number-of-the-file: %s',
  (path) => {
    const number = /^docs\/adr\/0*(\d+)-/.exec(path)?.[1];
    expect(read(path)).toMatch(new RegExp(`^# ${number}\\. `));
  },
);

test.each(['CONTRIBUTING.md', 'docs/dataplane.md'])('every-path-in-%s-exists', (document) => {
  expect(namedPaths(document).length).toBeGreaterThan(5);
  expect(missingPaths(document)).toEqual([]);
});

test('every-path-in-the-acceptance-table-exists', () => {
  const paths = namedPaths('docs/acceptance.md');
  expect(paths.length).toBeGreaterThan(250);
  const exists = (path: string): boolean =>
    [path, `src/${path}`, `test/acceptance/${path}`].some((one) => globSync(one, { cwd: ROOT }).length > 0);
  expect(paths.filter((path) => !exists(path))).toEqual([]);
});

test('every-function-that-a-checklist-names-exists', () => {
  const named = [...read('CONTRIBUTING.md').matchAll(/`([a-z]\w+)\(/g)].map(([, name]) => name ?? '');
  expect(named.length).toBeGreaterThan(10);
  const code = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n');
  expect(
    named.filter((name) => !new RegExp(`(function|const) ${name}\\b|^  (async )?${name}\\(`, 'm').test(code)),
  ).toEqual([]);
});

test('every-table-of-the-pipeline-that-a-guide-names-exists', () => {
  const lists = [...read('docs/dataplane.md').matchAll(/\btables? (`[a-z]+`(?:(?:,\s+|\s+and\s+)`[a-z]+`)*)/g)];
  const named = lists.flatMap(([, list]) => [...(list ?? '').matchAll(/[a-z]+(?=`)/g)].map(([name]) => name));
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !(name in TABLE))).toEqual([]);
});

function leadsSomewhere({ document, to }: { readonly document: string; readonly to: string }): boolean {
  const [path = '', heading] = to.split('#');
  const target = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(ROOT, target))) return false;
  return heading === undefined || headingsOf(target).has(heading);
}

function headingsOf(document: string): Set<string> {
  const headings = [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading ?? '');
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
