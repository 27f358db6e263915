// How figures are shown: a table for people, one JSON object a line for programs. Both say the same.
import type { Benchmark, Figure } from './benchmark.ts';

export interface Reporter {
  begins(benchmark: Benchmark): void;
  figure(figure: Figure): void;
  skipped(name: string, reason: string): void;
  ends(): void;
}

type Write = (text: string) => void;

/** What takes time is said beforehand, on `progress`, whatever the form of the figures. */
const announce = (progress: Write) => (benchmark: Benchmark) =>
  progress(`${benchmark.name}: ${benchmark.about}; about ${benchmark.seconds} s\n`);

export function jsonReporter(write: Write, progress: Write): Reporter {
  const line = (value: object): void => write(`${JSON.stringify(value)}\n`);
  return {
    begins: announce(progress),
    figure: (figure) => line({ ...figure, met: figure.met ?? null }),
    skipped: (name, reason) =>
      line({ name, value: null, unit: null, peer: null, ratio: null, goal: null, met: null, skipped: reason }),
    ends: () => {},
  };
}

const COLUMNS = ['name', 'value', 'unit', 'peer', 'ratio', 'goal', 'met'] as const;
const LEFT = new Set<string>(['name', 'unit', 'peer', 'goal', 'met']);

/** The table comes at the end. */
export function tableReporter(write: Write, progress: Write): Reporter {
  const rows: string[][] = [];
  return {
    begins: announce(progress),
    figure: (figure) => rows.push(cells(figure)),
    skipped: (name, reason) => rows.push([name, 'skipped', '', reason, '', '', '']),
    ends: () => {
      if (rows.length > 0) write(`\n${table([[...COLUMNS], ...rows])}`);
    },
  };
}

function cells({ name, value, unit, peer, ratio, goal, met }: Figure): string[] {
  return [name, formatValue(value), unit, peer, ratio.toFixed(2), goal, met === undefined ? '' : met ? 'yes' : 'NO'];
}

/** Three digits that mean something. */
function formatValue(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toPrecision(3);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (LEFT.has(COLUMNS[at]!) ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}
