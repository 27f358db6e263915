// The table of operation kinds in docs/operating.md says what the code says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MODULES, PROGRAM } from '../../src/main/modules.ts';
import type { CommandSupport } from '../../src/operations/index.ts';
import { ROOT } from './scratch.ts';

/** The rows under the heading `kind | cancel | retry | rollback`. */
function rows(): string[][] {
  const lines = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').split('\n').map(cellsOf);
  const at = lines.findIndex((cells) => cells.join(' ') === 'kind cancel retry rollback');
  const end = lines.findIndex((cells, nth) => nth > at && cells.length === 0);
  return lines.slice(at + 2, end);
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function say(support: CommandSupport): string {
  return support.kind === 'does' ? `yes: ${support.what}` : `no: ${support.because}`;
}

const KINDS = MODULES.flatMap((module) => module.operationKinds?.(PROGRAM) ?? []);

test('every-operation-kind-is-in-the-table, with-what-cancel-and-retry-mean', () => {
  const written = rows().map(([kind, cancel, retry]) => [kind, cancel, retry]);
  expect(written).toEqual(KINDS.map(({ name, cancel, retry }) => [`\`${name}\``, say(cancel), say(retry)]));
});

test('every-row-says-what-to-do-instead-of-a-rollback', () => {
  expect(rows().filter((cells) => (cells[3] ?? '') === '')).toEqual([]);
});
