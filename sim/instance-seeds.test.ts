import { expect, it } from 'vitest';
import { SeedSuite } from './seed-suite.ts';
import { INSTANCES } from './scenarios.ts';

const playing = new SeedSuite(INSTANCES);

it.each(playing.slices)('seeds %i to %i with instances: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of networks and instances was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});
