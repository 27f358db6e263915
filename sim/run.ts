// The command line of the simulation: `--seed N` replays one, `--seeds A-B` runs many, `--world` selects the scenario, `--trace` prints
// everything, `--hunt MINUTES` plays fresh random seeds on all cores.
import { parseArgs } from 'node:util';
import { DEFAULT_FAILURES_FILE, defaultJobs, runHunt, type HuntCommand } from './hunt/command.ts';
import { failure, summary } from './report.ts';
import { CORE, SCENARIOS, type Scenario } from './scenarios.ts';
import { runSeed } from './seed.ts';
import { Tally } from './world/tally.ts';

const USAGE = `usage: npm run sim -- [--world ${SCENARIOS.map(({ name }) => name).join('|')}] --seed N [--trace]
       npm run sim -- [--world …] --seeds A-B
       npm run sim -- [--world …] --hunt MINUTES [--jobs N] [--failures FILE]

  --seed N         replay one seed; --trace prints every step
  --seeds A-B      play many, and see whether every guard was hit
  --hunt MINUTES   play fresh random seeds of all worlds, or of one, until the time is up; Ctrl-C ends it early
  --jobs N         how many seeds are played at a time (all cores: ${defaultJobs()})
  --failures FILE  where a hunt appends what it finds, a line of JSON each: world, seed, property, message and the
                   command that replays it (${DEFAULT_FAILURES_FILE})

exit codes: 0 all properties held, 1 a seed failed or a guard was never hit, 2 wrong arguments, 130 a hunt was stopped`;

interface Range {
  readonly first: number;
  readonly last: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      world: { type: 'string' },
      hunt: { type: 'string' },
      jobs: { type: 'string' },
      failures: { type: 'string' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.hunt !== undefined) {
    const command = huntOf(values);
    if (command !== undefined) return runHunt(command);
    console.error(USAGE);
    return 2;
  }
  const range = rangeOf(values.seeds ?? values.seed ?? '');
  const scenario = SCENARIOS.find(({ name }) => name === (values.world ?? CORE.name));
  if (range === undefined || scenario === undefined) {
    console.error(USAGE);
    return 2;
  }
  return range.first === range.last ? runOne(scenario, range.first, values.trace) : runMany(scenario, range);
}

interface HuntValues {
  readonly hunt?: string | undefined;
  readonly world?: string | undefined;
  readonly jobs?: string | undefined;
  readonly failures?: string | undefined;
  readonly seed?: string | undefined;
  readonly seeds?: string | undefined;
}

function huntOf({ hunt, world, jobs, failures, seed, seeds }: HuntValues): HuntCommand | undefined {
  const minutes = /^\d+(\.\d+)?$/.test(hunt ?? '') ? Number(hunt) : 0;
  const atOnce = jobs === undefined ? defaultJobs() : /^[1-9]\d{0,2}$/.test(jobs) ? Number(jobs) : 0;
  const worlds = SCENARIOS.map(({ name }) => name).filter((name) => world === undefined || name === world);
  const isWrong = minutes <= 0 || atOnce === 0 || worlds.length === 0 || seed !== undefined || seeds !== undefined;
  return isWrong ? undefined : { worlds, minutes, jobs: atOnce, failuresFile: failures ?? DEFAULT_FAILURES_FILE };
}

async function runOne(scenario: Scenario, seed: number, trace: boolean): Promise<number> {
  const result = await runSeed({ scenario, seed, ...(trace && { print: (line: string) => console.log(line) }) });
  console.log(summary(result));
  if (result.violation !== undefined) console.error(failure(result));
  return result.violation === undefined ? 0 : 1;
}

async function runMany(scenario: Scenario, range: Range): Promise<number> {
  const startedMs = performance.now();
  const sums = { failed: 0, calls: 0, faults: 0, commits: 0 };
  const marks = new Tally();
  for (let seed = range.first; seed <= range.last; seed += 1) {
    const result = await runSeed({ scenario, seed });
    sums.calls += result.portCalls.total;
    sums.faults += result.faults.total;
    sums.commits += result.commits;
    for (const [name, count] of result.marks.entries()) marks.count(name, count);
    if (result.violation === undefined) continue;
    sums.failed += 1;
    console.error(failure(result));
  }
  const seeds = range.last - range.first + 1;
  const perSecond = ((seeds / (performance.now() - startedMs)) * 1000).toFixed(1);
  const { failed, calls, faults, commits } = sums;
  console.log(`${seeds} seeds, ${failed} failed; ${calls} port calls, ${faults} faults, ${commits} commits`);
  console.log(`${perSecond} seeds a second, ${Math.round(calls / seeds)} port calls a seed`);
  for (const [name, count] of marks.entries()) console.log(`  mark ${name.padEnd(32)} ${count}`);
  return failed === 0 && guardsHit(scenario, range, marks) ? 0 : 1;
}

/** Fewer seeds than the fixed ones may miss a guard; those and more may not. */
function guardsHit({ marks: expected, seeds }: Scenario, { first, last }: Range, marks: Tally): boolean {
  const missed = expected.filter((name) => marks.of(name) === 0);
  if (missed.length === 0 || first > seeds.first || last < seeds.last) return true;
  console.error(`never hit: ${missed.join(', ')}`);
  return false;
}

function rangeOf(text: string): Range | undefined {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (match === null) return undefined;
  const first = Number(match[1]);
  const last = Number(match[2] ?? match[1]);
  return last < first ? undefined : { first, last };
}

try {
  process.exitCode = await main();
} catch (error) {
  // Errors of parseArgs are shown as they are.
  if (!(error instanceof TypeError) || !('code' in error)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
