import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { failure } from './report.ts';
import { FAULTS_MIN, FIXED_SEEDS, PORT_CALLS_MIN } from './fixed-seeds.ts';
import { EXPECTED_MARKS, MARKS_ELSEWHERE } from './marks.ts';
import { runSeed } from './seed.ts';
import { Tally } from './world/tally.ts';

// In slices, so that a slow machine shows how far it got and no single test is near its time limit.
const SLICE = 25;
const marks = new Tally();
let played = 0;

const slices = Array.from({ length: (FIXED_SEEDS.last - FIXED_SEEDS.first + 1) / SLICE }, (_, at) => {
  const first = FIXED_SEEDS.first + at * SLICE;
  return [first, first + SLICE - 1] as const;
});

it.each(slices)('seeds %i to %i: every property holds', async (first, last) => {
  for (let seed = first; seed <= last; seed += 1) {
    const result = await runSeed({ seed });
    if (result.violation !== undefined) expect.fail(failure(result));
    expect(result.portCalls.total, `port calls of seed ${seed}`).toBeGreaterThanOrEqual(PORT_CALLS_MIN);
    expect(result.faults.total, `faults of seed ${seed}`).toBeGreaterThanOrEqual(FAULTS_MIN);
    for (const [name, count] of result.marks.entries()) marks.count(name, count);
    played += 1;
  }
});

it('every guard was hit by some seed', () => {
  expect(played).toBe(FIXED_SEEDS.last - FIXED_SEEDS.first + 1);
  console.log(
    ['guards hit over the fixed seeds:', ...marks.entries().map(([name, count]) => `${name} ${count}`)].join('\n  '),
  );
  const missed = EXPECTED_MARKS.filter((name) => marks.of(name) === 0);
  expect(missed).toEqual([]);
});

it('every guard in the source is expected, or tested elsewhere', () => {
  const known = [...EXPECTED_MARKS, ...Object.keys(MARKS_ELSEWHERE)];
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
