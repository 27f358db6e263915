import { expect, it } from 'vitest';
import { SeedSuite } from './seed-suite.ts';
import { BAREMETAL } from './scenarios.ts';

const playing = new SeedSuite(BAREMETAL);

it.each(playing.slices)('seeds %i to %i with bare metal: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of bare metal was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});
