// Tables: columns as wide as their widest cell, no lines between them, nothing cut off. Pipes get the same without colours.
import { stateColour, type Colour, type Paint } from './paint.ts';
import { sanitizeLine, textWidth } from './text-width.ts';

export interface TableColumn<R> {
  readonly title: string;
  readonly of: (row: R) => string | number | undefined;
  /** Words that name a state have the state's colour. */
  readonly colour?: 'state' | Colour;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

export function renderTable<R>(rows: readonly R[], columns: readonly TableColumn<R>[], paint: Paint): string {
  return new TableWriter(columns, paint).render(rows);
}

/** A table that is written in parts: its head comes with the first, and a column that was wider once stays so. */
export class TableWriter<R> {
  readonly #columns: readonly TableColumn<R>[];
  readonly #paint: Paint;
  readonly #widths: number[];
  #hasHead = false;

  constructor(columns: readonly TableColumn<R>[], paint: Paint) {
    this.#columns = columns;
    this.#paint = paint;
    this.#widths = columns.map(({ title }) => textWidth(title));
  }

  render(rows: readonly R[]): string {
    const cells = rows.map((row) => this.#columns.map((column) => cellText(column.of(row))));
    for (const row of cells) {
      for (const [at, text] of row.entries()) this.#widths[at] = Math.max(this.#widths[at] ?? 0, textWidth(text));
    }
    const lines = cells.map((row) => this.#line(row, (text, at) => this.#colourOf(text, at)));
    if (!this.#hasHead) lines.unshift(this.#head());
    this.#hasHead = true;
    return lines.map((text) => `${text}\n`).join('');
  }

  #head(): string {
    const titles = this.#columns.map((column) => column.title.toUpperCase());
    return this.#line(titles, () => 'dim');
  }

  #line(texts: readonly string[], colourOf: (text: string, at: number) => Colour | undefined): string {
    return texts
      .map((text, at) => {
        const space = ' '.repeat(Math.max(0, (this.#widths[at] ?? 0) - textWidth(text)));
        const painted = this.#paint(colourOf(text, at), text);
        return this.#columns[at]?.align === 'right' ? `${space}${painted}` : `${painted}${space}`;
      })
      .join(GAP)
      .trimEnd();
  }

  #colourOf(text: string, at: number): Colour | undefined {
    const colour = this.#columns[at]?.colour;
    return colour === 'state' ? stateColour(text.split(' ')[0] ?? '') : colour;
  }
}

function cellText(value: string | number | undefined): string {
  return value === undefined || value === '' ? '-' : sanitizeLine(String(value));
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
      return `${paint('dim', name)}${space}${GAP}${sanitizeLine(value)}\n`;
    })
    .join('');
}
