import { describe, expect, it } from 'vitest';
import { FIXED_SEEDS } from '../fixed-seeds.ts';
import { runSeed, type SeedResult } from '../seed.ts';
import { MUTANTS } from './mutants.ts';
import type { Mutant } from './mutant.ts';

/** The first of the fixed seeds that finds it. */
async function hunt({ plant }: Mutant): Promise<SeedResult | undefined> {
  for (let seed = FIXED_SEEDS.first; seed <= FIXED_SEEDS.last; seed += 1) {
    const result = await runSeed({ seed, plant });
    if (result.violation !== undefined) return result;
  }
  return undefined;
}

describe('a planted bug is found by the fixed seeds', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s', async (_name, mutant) => {
    const found = await hunt(mutant);
    expect(found, `no seed finds it: ${mutant.bug}`).toBeDefined();
    expect(mutant.caughtBy).toContain(found?.violation?.property);
    console.log(`${mutant.name}: ${mutant.bug}\n  seed ${found?.seed}: ${found?.violation?.property}`);
  });
});
