// `npm run bench`: runs the benchmarks that are named, or all of them, one after the other.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Benchmark } from './benchmark.ts';
import { BENCHMARKS } from './catalogue.ts';
import { jsonReporter, tableReporter, type Reporter } from './report.ts';
import { Interrupted, BenchScope } from './scope.ts';

const USAGE = `usage: npm run bench -- [options] [NAME ...]

Runs every benchmark, or those whose names begin with NAME. Each ends within a minute; each figure stands beside its peer
or its limit, measured in the same run. Other work on the machine shows in the values, less in the ratios.

  --json        one JSON object a line: name, value, unit, peer, ratio, goal, met
  --list        what there is, and how long each takes
  --data DIR    where the stores are put; must be on a real disk (default: ./data)
  --help

Exit code: 0, also when a goal is missed; 1 when a benchmark fails; 2 for a mistake on the command line; 130 after Ctrl-C.
`;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  data: { type: 'string', default: 'data' },
} as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const chosen = chosenBy(positionals);
  if (values.list) {
    for (const { name, about, seconds } of chosen) process.stdout.write(`${name}: ${about}; about ${seconds} s\n`);
    return 0;
  }
  const write = (text: string): void => void process.stdout.write(text);
  const progress = (text: string): void => void process.stderr.write(text);
  const reporter = values.json ? jsonReporter(write, progress) : tableReporter(write, progress);
  return runAll(chosen, { reporter, folder: resolve(values.data), signal: untilCtrlC() });
}

/** A name in full is that one alone, though others begin with it. */
function chosenBy(names: readonly string[]): readonly Benchmark[] {
  if (names.length === 0) return BENCHMARKS;
  const wanted = new Set(
    names.flatMap((name) => {
      const exact = BENCHMARKS.filter((one) => one.name === name);
      const found = exact.length > 0 ? exact : BENCHMARKS.filter((one) => one.name.startsWith(name));
      if (found.length === 0) throw new TypeError(`no benchmark begins with "${name}"; --list shows what there is`);
      return found;
    }),
  );
  return BENCHMARKS.filter((one) => wanted.has(one));
}

interface Run {
  readonly reporter: Reporter;
  readonly folder: string;
  readonly signal: AbortSignal;
}

async function runAll(benchmarks: readonly Benchmark[], { reporter, folder, signal }: Run): Promise<number> {
  let exitCode = 0;
  for (const benchmark of benchmarks) {
    reporter.begins(benchmark);
    const scope = new BenchScope(folder, signal);
    try {
      const answer = await benchmark.run(scope);
      if ('skipped' in answer) reporter.skipped(benchmark.name, answer.skipped);
      else for (const figure of answer) reporter.figure(figure);
    } catch (error) {
      if (signal.aborted || error instanceof Interrupted) {
        exitCode = 130;
        break;
      }
      process.stderr.write(`${benchmark.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
      exitCode = 1;
    } finally {
      await scope.close();
    }
  }
  reporter.ends();
  return exitCode;
}

/** The first Ctrl-C ends the benchmark and clears up; the second one does not wait for that. */
function untilCtrlC(): AbortSignal {
  const over = new AbortController();
  const stop = (): void => {
    if (over.signal.aborted) process.exit(130);
    over.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return over.signal;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
// Handlers for signals and idle connections must not keep a finished run alive.
process.exit();
