// Finds a planted bug: the first of the fixed seeds of its world in which a property breaks.
import { CORE } from '../scenarios.ts';
import { runSeed, type SeedResult } from '../seed.ts';
import type { Mutant } from './mutant.ts';

/** For all seeds on a slow and busy machine, once `likely` does not find it any more. */
export const SEARCH_LIMIT_MS = 900_000;

export async function findMutant({ plant, scenario = CORE, likely }: Mutant): Promise<SeedResult | undefined> {
  const { first, last } = scenario.seeds;
  const seeds = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  for (const seed of new Set(likely === undefined ? seeds : [likely, ...seeds])) {
    const result = await runSeed({ seed, scenario, plant });
    if (result.violation !== undefined) return result;
  }
  return undefined;
}

/** Which seed finds it and how; and that it was searched for, if another one was tried first. */
export function searchReport({ name, bug, likely, scenario = CORE }: Mutant, { seed, violation }: SeedResult): string {
  const lines = [`${name}: ${bug}`, `  seed ${seed}: ${violation?.property}`];
  const hint = `  found after a search: name it as \`likely: ${seed}\``;
  return [...lines, ...(seed === (likely ?? scenario.seeds.first) ? [] : [hint])].join('\n');
}
