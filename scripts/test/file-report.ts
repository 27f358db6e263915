// What one test file came to, as plain data, and what is made of it: the tally, the slowest files, which files are run once more.
import type { TestModule, TestResult } from 'vitest/node';
import { total, type Skip, type TestTally } from './tally.ts';

export interface TestReport {
  readonly name: string;
  readonly state: TestResult['state'];
  /** Why it was skipped, as the test said. */
  readonly note?: string | undefined;
}

export interface FileReport {
  /** Relative to the project's root. */
  readonly path: string;
  /** Loading and set-up included. */
  readonly ms: number;
  readonly tests: readonly TestReport[];
  /** The file failed and none of its tests did: it could not be loaded, or its process was ended. */
  readonly isBroken: boolean;
}

/** What a packet test says when its control run lost packets as well: the machine, not the product, was at fault. */
const TOO_BUSY = 'machine-too-busy';

const SLOWEST_SHOWN = 10;

export function reportOf(module: TestModule): FileReport {
  const tests = [...module.children.allTests()].map((test): TestReport => {
    const result = test.result();
    return { name: test.fullName, state: result.state, note: result.state === 'skipped' ? result.note : undefined };
  });
  const { duration, collectDuration, setupDuration, prepareDuration, environmentSetupDuration } = module.diagnostic();
  return {
    path: module.relativeModuleId,
    ms: duration + collectDuration + setupDuration + prepareDuration + environmentSetupDuration,
    tests,
    isBroken: module.state() === 'failed' && !tests.some(({ state }) => state === 'failed'),
  };
}

export function isTooBusy({ tests }: FileReport): boolean {
  return tests.some(({ state, note }) => state === 'skipped' && note === TOO_BUSY);
}

const STATE_PRECEDENCE: Readonly<Record<TestReport['state'], number>> = {
  failed: 3,
  passed: 2,
  skipped: 1,
  pending: 0,
};

/** Two runs of one file: of each test the result that says more counts, a failure before a pass before a skip. */
export function mergeReports(first: FileReport, second: FileReport): FileReport {
  const again = new Map(second.tests.map((test) => [test.name, test]));
  const tests = first.tests.map((test) => {
    const other = again.get(test.name);
    return other !== undefined && STATE_PRECEDENCE[other.state] > STATE_PRECEDENCE[test.state] ? other : test;
  });
  return { ...first, ms: first.ms + second.ms, tests, isBroken: first.isBroken || second.isBroken };
}

export function tallyOf(reports: readonly FileReport[]): TestTally {
  return total(
    reports.map((report) => ({
      passed: countIn(report, 'passed'),
      failed: countIn(report, 'failed') + (report.isBroken ? 1 : 0),
      skips: skipsOf(report),
    })),
  );
}

export function slowestLines(reports: readonly FileReport[]): string[] {
  const slowest = [...reports].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN);
  return slowest.map(({ path, ms }) => `slow: ${(ms / 1000).toFixed(1).padStart(6)} s  ${path}`);
}

function skipsOf({ path, tests }: FileReport): Skip[] {
  const skipped = tests.filter(({ state }) => state === 'skipped');
  const [first] = skipped;
  if (first === undefined) return [];
  const reason = skipped.find(({ note }) => note !== undefined)?.note ?? `such as "${first.name}"`;
  return [{ suite: path, tests: skipped.length, reason }];
}

function countIn({ tests }: FileReport, wanted: TestReport['state']): number {
  return tests.filter(({ state }) => state === wanted).length;
}
