// What a run of the test command adds up to, and the words it closes with.

export interface Skip {
  readonly suite: string;
  readonly tests: number;
  readonly reason: string;
}

export interface TestTally {
  readonly passed: number;
  readonly failed: number;
  readonly skips: readonly Skip[];
}

export const NOTHING: TestTally = { passed: 0, failed: 0, skips: [] };
export const ONE_PASSED: TestTally = { passed: 1, failed: 0, skips: [] };
export const ONE_FAILED: TestTally = { passed: 0, failed: 1, skips: [] };

export function total(tallies: readonly TestTally[]): TestTally {
  return {
    passed: sum(tallies.map((tally) => tally.passed)),
    failed: sum(tallies.map((tally) => tally.failed)),
    skips: tallies.flatMap((tally) => tally.skips),
  };
}

/** A run that ran nothing has shown nothing. */
export function isGood(tally: TestTally): boolean {
  return tally.failed === 0 && tally.passed > 0;
}

/** Machines read the last line: its form is fixed. */
export function closingLines(tally: TestTally): string[] {
  const skipped = sum(tally.skips.map((skip) => skip.tests));
  return [
    ...tally.skips.map((skip) => `skipped: ${skip.suite} (${skip.tests}): ${skip.reason}`),
    `muster: ${tally.passed} passed, ${tally.failed} failed, ${skipped} skipped`,
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
