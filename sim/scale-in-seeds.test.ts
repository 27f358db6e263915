import { expect, it } from 'vitest';
import { SeedSuite } from './seed-suite.ts';
import { SCALE_IN } from './scenarios.ts';

const playing = new SeedSuite(SCALE_IN);

it.each(playing.slices)('seeds %i to %i of hosts that come and go: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard of scale-in, elections and switches was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});
