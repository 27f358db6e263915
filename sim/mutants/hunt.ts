// Finds a planted bug: the first of the fixed seeds of its world in which a property breaks.
import { HOUSE } from '../scenarios.ts';
import { runSeed, type SeedResult } from '../seed.ts';
import type { Mutant } from './mutant.ts';

export async function hunt({ plant, scenario = HOUSE }: Mutant): Promise<SeedResult | undefined> {
  const { first, last } = scenario.seeds;
  for (let seed = first; seed <= last; seed += 1) {
    const result = await runSeed({ seed, scenario, plant });
    if (result.violation !== undefined) return result;
  }
  return undefined;
}
