// The commands of a part of the README's tour, each with what it prints there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const README = join(import.meta.dirname, '../../README.md');

export interface TourStep {
  readonly command: string;
  readonly printed: string;
}

/** From a text to the next one, both in bold. */
export function readTour(begin: string, end: string): TourStep[] {
  const readme = readFileSync(README, 'utf8');
  const tour = readme.slice(readme.indexOf(begin), readme.indexOf(end));
  const steps: { command: string; printed: string }[] = [];
  for (const line of tour.split('\n')) {
    const shown = line.startsWith('    ') ? line.slice(4) : '';
    if (shown.startsWith('$ ')) steps.push({ command: shown.slice(2), printed: '' });
    else if (shown !== '') steps.at(-1)!.printed += `${shown}\n`;
  }
  return steps;
}
