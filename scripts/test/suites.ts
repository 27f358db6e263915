// The vitest suites, run in this process so that an interrupt can cancel them and still run their teardown: a
// PostgreSQL that a suite has started must not outlive it.
import { relative, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createVitest, type TestModule, type Vitest } from 'vitest/node';
import type { Part } from './options.ts';
import { ONE_FAILED, total, type Skip, type Tally } from './tally.ts';
import { killWorkers } from './workers.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export interface SuiteRun {
  readonly projects: readonly Part[];
  readonly filters: readonly string[];
  readonly stop: AbortSignal;
}

/** A test that hangs does not hear of the cancellation; after this its process is ended. */
const CANCEL_GRACE_MS = 2000;

export async function runSuites(run: SuiteRun): Promise<Tally> {
  const vitest = await startWithoutSignalHandlers(run.projects);
  const done = new AbortController();
  try {
    const [tally] = await Promise.all([
      collect(vitest, run.filters).finally(() => done.abort()),
      cancelOn(run.stop, vitest, done.signal),
    ]);
    return run.stop.aborted ? total([tally, ONE_FAILED]) : tally;
  } finally {
    await vitest.close();
  }
}

/** Vitest ends the whole process on a signal, without teardown. Signals are the test command's business. */
async function startWithoutSignalHandlers(projects: readonly Part[]): Promise<Vitest> {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const ours = new Set(signals.flatMap((signal) => process.listeners(signal)));
  const vitest = await createVitest({
    root: ROOT,
    run: true,
    watch: false,
    project: [...projects],
    reporters: ['default'],
    passWithNoTests: true,
  });
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) if (!ours.has(listener)) process.off(signal, listener);
  }
  return vitest;
}

async function cancelOn(stop: AbortSignal, vitest: Vitest, done: AbortSignal): Promise<void> {
  await new Promise((heard) => {
    AbortSignal.any([stop, done]).addEventListener('abort', heard, { once: true });
  });
  if (done.aborted) return;
  for (const path of unfinished(vitest)) process.stdout.write(`not finished: ${path}\n`);
  await Promise.race([vitest.cancelCurrentRun('keyboard-input'), setTimeout(CANCEL_GRACE_MS)]);
  if (!done.aborted) killWorkers();
}

function unfinished(vitest: Vitest): string[] {
  const running = vitest.state.getTestModules().filter((module) => module.state() === 'pending');
  return running.map((module) => relative(ROOT, module.moduleId));
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
