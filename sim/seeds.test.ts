import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  BAREMETAL_MARKS,
  CLOCK_MARKS,
  EXPECTED_MARKS,
  INSTANCE_MARKS,
  KUBERNETES_MARKS,
  MARKS_ELSEWHERE,
  SCALE_IN_MARKS,
} from './marks.ts';
import { SeedSuite } from './seed-suite.ts';
import { CORE } from './scenarios.ts';

const playing = new SeedSuite(CORE);

it.each(playing.slices)('seeds %i to %i: every property holds', async (first, last) => {
  const problem = await playing.play(first, last);
  if (problem !== undefined) expect.fail(problem);
});

it('every guard was hit by some seed', () => {
  console.log(playing.summary());
  expect(playing.missed()).toEqual([]);
});

it('every guard in the source is expected, or tested elsewhere', () => {
  const worlds = [EXPECTED_MARKS, INSTANCE_MARKS, SCALE_IN_MARKS, CLOCK_MARKS, BAREMETAL_MARKS, KUBERNETES_MARKS];
  const known = [...worlds.flat(), ...Object.keys(MARKS_ELSEWHERE)];
  const unknown = marksInSource().filter((name) => !known.some((one) => one === name || matches(name, one)));
  expect(unknown).toEqual([]);
});

function marksInSource(): string[] {
  const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts') && !file.endsWith('fleet/mark.ts'));
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bmark\(['`]([^'`]+)['`]\)/g)].map(([, name]) => name!),
  );
}

/** `journal-conflict-${kind}` stands for all marks that begin so. */
function matches(pattern: string, name: string): boolean {
  const [start, rest] = pattern.split('${');
  return rest !== undefined && name.startsWith(start!);
}
