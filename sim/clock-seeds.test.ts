import { expect, it } from 'vitest';
import { hunt } from './mutants/hunt.ts';
import { CLOCK_MUTANTS } from './mutants/mutants.ts';
import { Playing } from './playing.ts';
import { CLOCKS } from './scenarios.ts';

const playing = new Playing(CLOCKS);

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
  async (_name, mutant) => {
    const found = await hunt(mutant);
    expect(found, `no seed finds it: ${mutant.bug}`).toBeDefined();
    expect(mutant.caughtBy).toContain(found?.violation?.property);
  },
);
