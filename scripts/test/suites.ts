// The vitest suites, run in this process so that an interrupt can cancel them and still run their teardown: a
// PostgreSQL that a suite has started must not outlive it.
import { relative, resolve } from 'node:path';
import { createVitest, type TestModule, type Vitest } from 'vitest/node';
import type { Part } from './options.ts';
import type { Skip, Tally } from './tally.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export interface SuiteRun {
  readonly projects: readonly Part[];
  readonly filters: readonly string[];
  readonly stop: AbortSignal;
}

export async function runSuites(run: SuiteRun): Promise<Tally> {
  const vitest = await createVitest({
    root: ROOT,
    run: true,
    watch: false,
    project: [...run.projects],
    reporters: ['default'],
    passWithNoTests: true,
  });
  const cancel = (): void => void vitest.cancelCurrentRun('keyboard-input');
  run.stop.addEventListener('abort', cancel);
  try {
    return await collect(vitest, run.filters);
  } finally {
    run.stop.removeEventListener('abort', cancel);
    await vitest.close();
  }
}

async function collect(vitest: Vitest, filters: readonly string[]): Promise<Tally> {
  const { testModules, unhandledErrors } = await vitest.start([...filters]);
  const tests = testModules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
  // A file that could not be loaded has no tests to fail, and an error outside of tests belongs to none of them.
  const broken = testModules.filter((module) => module.state() === 'failed' && !hasFailedTest(module));
  return {
    passed: tests.filter((state) => state === 'passed').length,
    failed: tests.filter((state) => state === 'failed').length + broken.length + unhandledErrors.length,
    skips: testModules.flatMap(skipsOf),
  };
}

function hasFailedTest(module: TestModule): boolean {
  return !module.children.allTests('failed').next().done;
}

function skipsOf(module: TestModule): Skip[] {
  const skipped = [...module.children.allTests('skipped')];
  if (skipped.length === 0) return [];
  const notes = skipped.map((test) => {
    const result = test.result();
    return result.state === 'skipped' ? result.note : undefined;
  });
  const reason = notes.find((note) => note !== undefined) ?? `such as "${skipped[0]?.fullName ?? ''}"`;
  return [{ suite: relative(ROOT, module.moduleId), tests: skipped.length, reason }];
}
