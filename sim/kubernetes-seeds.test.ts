import { expect, it } from 'vitest';
import { SeedSuite } from './seed-suite.ts';
import { KUBERNETES } from './scenarios.ts';

const playing = new SeedSuite(KUBERNETES);

it.each(playing.slices)('seeds %i to %i with Kubernetes: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of Kubernetes was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});
