import { expect, it } from 'vitest';
import { findMutant, SEARCH_LIMIT_MS } from './mutants/find-mutant.ts';
import { CLOCK_MUTANTS } from './mutants/mutants.ts';
import { SeedSuite } from './seed-suite.ts';
import { CLOCKS } from './scenarios.ts';

const playing = new SeedSuite(CLOCKS);

it.each(playing.slices)('seeds %i to %i with clocks that jump: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of retention was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});

it.each(CLOCK_MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'a planted bug is found: %s',
  { timeout: SEARCH_LIMIT_MS },
  async (_name, mutant) => {
    const found = await findMutant(mutant);
    expect(found, `no seed finds it: ${mutant.bug}`).toBeDefined();
    expect(mutant.caughtBy).toContain(found?.violation?.property);
  },
);
