// Tables: columns as wide as their widest cell, no lines between them, nothing cut off. Pipes get the same without colours.
import { stateColour, type Colour, type Paint } from './paint.ts';
import { harmless, textWidth } from './text-width.ts';

export interface Column<R> {
  readonly title: string;
  readonly of: (row: R) => string | number | undefined;
  /** Words that name a state have the state's colour. */
  readonly colour?: 'state' | Colour;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

export function renderTable<R>(rows: readonly R[], columns: readonly Column<R>[], paint: Paint): string {
  const cells = rows.map((row) => columns.map((column) => cellText(column.of(row))));
  const widths = columns.map((column, at) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[at] ?? ''))),
  );
  const head = columns.map((column) => column.title.toUpperCase());
  const line = (texts: readonly string[], colourOf: (text: string, at: number) => Colour | undefined): string =>
    texts
      .map((text, at) => {
        const space = ' '.repeat(Math.max(0, (widths[at] ?? 0) - textWidth(text)));
        const painted = paint(colourOf(text, at), text);
        return columns[at]?.align === 'right' ? `${space}${painted}` : `${painted}${space}`;
      })
      .join(GAP)
      .trimEnd();
  const colourOfCell = (text: string, at: number): Colour | undefined => {
    const colour = columns[at]?.colour;
    return colour === 'state' ? stateColour(text.split(' ')[0] ?? '') : colour;
  };
  return [line(head, () => 'dim'), ...cells.map((row) => line(row, colourOfCell))].map((text) => `${text}\n`).join('');
}

function cellText(value: string | number | undefined): string {
  return value === undefined || value === '' ? '-' : harmless(String(value));
}

/** One resource: a name and a value a line. What is undefined has no line. */
export function renderFacts(
  facts: readonly (readonly [name: string, value: string | undefined])[],
  paint: Paint,
): string {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const width = Math.max(0, ...known.map(([name]) => textWidth(name)));
  return known
    .map(([name, value]) => {
      const space = ' '.repeat(width - textWidth(name));
      return `${paint('dim', name)}${space}${GAP}${harmless(value)}\n`;
    })
    .join('');
}
