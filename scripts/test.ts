// The test command: everything that has to hold, in one run, closed by one line that counts it.
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { runChecks } from './test/checks.ts';
import { slowestLines, type FileReport } from './test/file-report.ts';
import { lanesOf, type TestStep } from './test/lanes.ts';
import { HELP, readOptions, type TestPart } from './test/options.ts';
import { ensureRequirements } from './test/requirements.ts';
import { say, stage } from './test/stage.ts';
import { runSuites } from './test/suites.ts';
import { closingLines, isGood, total, type TestTally } from './test/tally.ts';

const ROOT = resolve(import.meta.dirname, '..');

interface Run {
  readonly parts: readonly TestPart[];
  readonly filters: readonly string[];
  readonly hangGraceMs: number;
  readonly stop: AbortSignal;
}

async function runAll({ parts: wanted, filters, hangGraceMs, stop }: Run): Promise<TestTally> {
  // Kubernetes is built for minutes where it never was, so only for files of its own.
  const parts = wanted.filter((part) => part !== 'kubernetes' || hasFilesFor(filters));
  const tallies = await ensureRequirements({ parts, ci: process.env['CI'] === 'true', stop });
  const files: FileReport[] = [];
  const runStep = async (step: TestStep): Promise<readonly TestTally[]> => {
    if (step === 'checks') return runChecks(stop);
    const suites = await stage(`suites (${step.join(', ')})`, async () => {
      const result = await runSuites({ suites: step, filters, hangGraceMs, stop });
      files.push(...result.files);
      return result.tally;
    });
    return [suites];
  };
  await Promise.all(
    lanesOf(parts).map(async (lane) => {
      for (const step of lane) if (!stop.aborted) tallies.push(...(await runStep(step)));
    }),
  );
  for (const line of slowestLines(files)) process.stdout.write(`${line}\n`);
  return total(tallies);
}

function hasFilesFor(filters: readonly string[]): boolean {
  const paths = globSync('test/kubernetes/**/*.test.ts', { cwd: ROOT }).map((path) => resolve(ROOT, path));
  return filters.length === 0 || paths.some((path) => filters.some((filter) => path.includes(filter)));
}

/** The first signal stops what runs and lets it clean up; Node's own handling of a second one ends everything. */
function stopOnSignal(): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say(`${signal}: stopping`);
      stop.abort();
    });
  }
  return stop;
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  switch (options.kind) {
    case 'help':
      process.stdout.write(HELP);
      return 0;
    case 'refused':
      process.stderr.write(`${options.why}\n\n${HELP}`);
      return 2;
    case 'run': {
      const stop = stopOnSignal().signal;
      const tally = await runAll({ ...options, stop });
      process.stdout.write(`${closingLines(tally).join('\n')}\n`);
      return isGood(tally) && !stop.aborted ? 0 : 1;
    }
  }
}

process.exitCode = await main(process.argv.slice(2));
