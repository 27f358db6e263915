// The vitest suites, run in this process so that an interrupt can cancel them and still run their teardown: a
// PostgreSQL that a suite has started must not outlive it.
import { relative, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createVitest, type TestModule, type Vitest } from 'vitest/node';
import { isTooBusy, mergeReports, reportOf, tallyOf, type FileReport } from './file-report.ts';
import { HangDetector, WORKERS_VARIABLE, WorkerFiles } from './hang-detector.ts';
import type { TestSuite } from './lanes.ts';
import { say } from './stage.ts';
import { NOTHING, ONE_FAILED, total, type TestTally } from './tally.ts';
import { killWorkers } from './workers.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export interface SuiteRun {
  readonly suites: readonly TestSuite[];
  readonly filters: readonly string[];
  readonly hangGraceMs: number;
  readonly stop: AbortSignal;
}

export interface SuiteResult {
  readonly tally: TestTally;
  readonly files: readonly FileReport[];
}

/** A test that hangs does not notice the cancellation; after this its process is ended. */
const CANCEL_GRACE_MS = 2000;
const HANG_CHECK_MS = 1000;

/** Several runs may be in progress side by side. */
export async function runSuites(run: SuiteRun): Promise<SuiteResult> {
  const workers = new WorkerFiles();
  // Of workers, and of the programs that they start by the hundred: types are stripped and code is compiled once.
  process.env['NODE_COMPILE_CACHE'] ??= resolve(ROOT, 'node_modules/.cache/muster');
  const detector = new HangDetector({
    nowMs: () => performance.now(),
    graceMs: run.hangGraceMs,
    onHang: (path) => {
      say(`${relative(ROOT, path)} hangs: no test or hook of it ended within its limit; its process is ended`);
      workers.kill(path);
    },
  });
  const vitest = await startWithoutSignalHandlers(run.suites, { detector, workers });
  const checking = setInterval(() => detector.check(), HANG_CHECK_MS);
  const done = new AbortController();
  try {
    const [result] = await Promise.all([
      collect(vitest, run.filters).finally(() => done.abort()),
      cancelOn(run.stop, vitest, done.signal),
    ]);
    return run.stop.aborted ? { ...result, tally: total([result.tally, ONE_FAILED]) } : result;
  } finally {
    clearInterval(checking);
    await vitest.close();
    workers.remove();
  }
}

/** Vitest ends the whole process on a signal, without teardown. Signals are the test command's business. */
async function startWithoutSignalHandlers(
  suites: readonly TestSuite[],
  { detector, workers }: { readonly detector: HangDetector; readonly workers: WorkerFiles },
): Promise<Vitest> {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const ours = new Set(signals.flatMap((signal) => process.listeners(signal)));
  const vitest = await createVitest({
    root: ROOT,
    run: true,
    watch: false,
    project: suites.flatMap((suite) => (suite === 'real' ? ['real', 'in-process'] : [suite])),
    // No window of what runs now: another run beside this one would write over it.
    reporters: [['default', { summary: false }], detector],
    env: { [WORKERS_VARIABLE]: workers.folder },
    passWithNoTests: true,
  });
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) if (!ours.has(listener)) process.off(signal, listener);
  }
  return vitest;
}

async function cancelOn(stop: AbortSignal, vitest: Vitest, done: AbortSignal): Promise<void> {
  await new Promise((received) => {
    AbortSignal.any([stop, done]).addEventListener('abort', received, { once: true });
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

async function collect(vitest: Vitest, filters: readonly string[]): Promise<SuiteResult> {
  // The filter may name files of other suites alone.
  if ((await vitest.globTestSpecifications([...filters])).length === 0) return { files: [], tally: NOTHING };
  const { testModules, unhandledErrors } = await vitest.start([...filters]);
  const files: FileReport[] = [];
  for (const module of testModules) files.push(await runAgainIfTooBusy(vitest, module));
  // An error outside of tests belongs to no file.
  return { files, tally: total([tallyOf(files), { passed: 0, failed: unhandledErrors.length, skips: [] }]) };
}

/** A machine that was too busy for packets may be quiet at the end of the run, when nothing runs beside them. */
async function runAgainIfTooBusy(vitest: Vitest, module: TestModule): Promise<FileReport> {
  const first = reportOf(module);
  if (!isTooBusy(first)) return first;
  say(`${first.path}: the machine was too busy; once more`);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([module.toTestSpecification()]);
  // Vitest answers with the files of all its runs.
  const again = testModules.find(({ moduleId }) => moduleId === module.moduleId);
  if (again === undefined) return first;
  const second = reportOf(again);
  return mergeReports(first, { ...second, isBroken: second.isBroken || unhandledErrors.length > 0 });
}
