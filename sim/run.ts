// The command line of the simulation: `--seed N` replays one, `--seeds A-B` runs many, `--world` says what goes on in them,
// `--trace` prints everything.
import { parseArgs } from 'node:util';
import { failure, summary } from './report.ts';
import { HOUSE, SCENARIOS, type Scenario } from './scenarios.ts';
import { runSeed } from './seed.ts';
import { Tally } from './world/tally.ts';

const USAGE = `usage: npm run sim -- [--world ${SCENARIOS.map(({ name }) => name).join('|')}] --seed N [--trace]
       npm run sim -- [--world …] --seeds A-B

exit codes: 0 all properties held, 1 a seed failed or a guard was never hit, 2 wrong arguments`;

interface Range {
  readonly first: number;
  readonly last: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      world: { type: 'string', default: HOUSE.name },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const range = rangeOf(values.seeds ?? values.seed ?? '');
  const scenario = SCENARIOS.find(({ name }) => name === values.world);
  if (range === undefined || scenario === undefined) {
    console.error(USAGE);
    return 2;
  }
  return range.first === range.last ? runOne(scenario, range.first, values.trace) : runMany(scenario, range);
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

/** Fewer seeds than the fixed ones may well miss a guard; those and more may not. */
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
  // What parseArgs does not take is told in its own words.
  if (!(error instanceof TypeError) || !('code' in error)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
