import { expect, it } from 'vitest';
import { findMutant, SEARCH_LIMIT_MS, searchReport } from './mutants/find-mutant.ts';
import { GRAY_MUTANTS } from './mutants/mutants.ts';
import { SeedSuite } from './seed-suite.ts';
import { GRAY_FAILURES } from './scenarios.ts';

const playing = new SeedSuite(GRAY_FAILURES);

it.each(playing.slices)('seeds %i to %i with gray failures: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of returns and degraded hosts was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});

it.each(GRAY_MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'a planted bug is found: %s',
  { timeout: SEARCH_LIMIT_MS },
  async (_name, mutant) => {
    const found = await findMutant(mutant);
    expect(found, `no seed finds it: ${mutant.bug}`).toBeDefined();
    expect(mutant.caughtBy).toContain(found?.violation?.property);
    if (found !== undefined) console.log(searchReport(mutant, found));
  },
);
