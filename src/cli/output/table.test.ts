import { describe, expect, test } from 'vitest';
import { painter } from './paint.ts';
import { renderFacts, renderTable, type TableColumn } from './table.ts';
import { toTerminal } from './escape.ts';
import { truncate, sanitizeLine, textWidth } from './text-width.ts';

interface Row {
  readonly name: string;
  readonly state: string;
  readonly vcpus?: number;
}

const COLUMNS: readonly TableColumn<Row>[] = [
  { title: 'name', of: (row) => row.name },
  { title: 'state', of: (row) => row.state, colour: 'state' },
  { title: 'vcpus', of: (row) => row.vcpus, align: 'right' },
];
const plain = painter(false);

describe('tables', () => {
  test('columns-are-as-wide-as-their-widest-cell, also with wide letters and emoji', () => {
    const rows = [
      { name: 'compute-1', state: 'active', vcpus: 32 },
      { name: '計算機', state: 'down', vcpus: 1024 },
      { name: 'café', state: 'up' },
      { name: '🚀x', state: 'joining', vcpus: 1 },
    ];
    expect(renderTable(rows, COLUMNS, plain)).toMatchInlineSnapshot(`
      "NAME       STATE    VCPUS
      compute-1  active      32
      計算機     down      1024
      café       up           -
      🚀x        joining      1
      "
    `);
  });

  test('colours-do-not-move-columns', () => {
    const rows = [{ name: 'a', state: 'down', vcpus: 1 }];
    const painted = toTerminal(renderTable(rows, COLUMNS, painter(true)));
    expect(painted).toContain('\u001B[31mdown\u001B[39m   ');
    // oxlint-disable-next-line no-control-regex -- colours are taken out again
    expect(painted.replaceAll(/\u001B\[\d+m/g, '')).toBe(renderTable(rows, COLUMNS, plain));
  });

  test('never: text of others does anything to the terminal', () => {
    const evil = '\u001B[2Jx\u0007\ny\u202Ez';
    expect(sanitizeLine(evil)).toBe(String.raw`\u001b[2Jx\u0007 y\u202ez`);
    expect(renderTable([{ name: evil, state: '' }], COLUMNS, plain)).not.toContain('\u001B');
    expect(renderFacts([['Name', evil]], plain)).not.toContain('\u001B');
  });

  test('facts-that-are-not-known-have-no-line', () => {
    const facts = [
      ['Name', 'compute-1'],
      ['Tunnel address', undefined],
      ['Zone', 'b'],
    ] as const;
    expect(renderFacts(facts, plain)).toBe('Name  compute-1\nZone  b\n');
  });

  test.each([
    ['plain', 5],
    ['計', 2],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['\u200B', 0],
  ])('the width of %j is %i', (text, width) => expect(textWidth(text)).toBe(width));

  test('a-cut-text-fits and says that it was cut', () => {
    expect(truncate('compute-1', 9)).toBe('compute-1');
    expect(truncate('compute-10', 9)).toBe('compute-…');
    expect(truncate('計算機計算機', 6)).toBe('計算…');
  });
});
