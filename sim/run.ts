// The command line of the simulation: `--seed N` replays one, `--seeds A-B` runs many, `--trace` prints everything.
import { parseArgs } from 'node:util';
import { runSeed, type SeedResult } from './seed.ts';
import { Tally } from './world/tally.ts';

const USAGE = `usage: npm run sim -- --seed N [--trace]
       npm run sim -- --seeds A-B

exit codes: 0 all properties held, 1 a seed failed, 2 wrong arguments`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { seed: { type: 'string' }, seeds: { type: 'string' }, trace: { type: 'boolean', default: false } },
  });
  const range = rangeOf(values.seeds ?? values.seed ?? '');
  if (range === undefined) {
    console.error(USAGE);
    return 2;
  }
  const print = values.trace ? (line: string): void => console.log(line) : undefined;
  const startedMs = performance.now();
  const summary = { seeds: 0, failed: 0, calls: 0, faults: 0, commits: 0, marks: new Tally() };
  for (let seed = range.first; seed <= range.last; seed += 1) {
    const result = await runSeed({ seed, ...(print && { print }) });
    summary.seeds += 1;
    summary.calls += result.portCalls.total;
    summary.faults += result.faults.total;
    summary.commits += result.commits;
    for (const [name, count] of result.marks.entries()) summary.marks.count(name, count);
    if (range.first === range.last) console.log(describe(result));
    if (result.violation !== undefined) {
      summary.failed += 1;
      console.error(failure(result));
    }
  }
  if (range.first !== range.last) {
    const seconds = (performance.now() - startedMs) / 1000;
    const { seeds, failed, calls, faults, commits } = summary;
    console.log(
      `${seeds} seeds, ${failed} failed; ${calls} port calls, ${faults} faults, ${commits} commits; ` +
        `${(seeds / seconds).toFixed(1)} seeds a second`,
    );
    for (const [name, count] of summary.marks.entries()) console.log(`  mark ${name.padEnd(32)} ${count}`);
  }
  return summary.failed === 0 ? 0 : 1;
}

function rangeOf(text: string): { readonly first: number; readonly last: number } | undefined {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (match === null) return undefined;
  const first = Number(match[1]);
  const last = Number(match[2] ?? match[1]);
  return last < first ? undefined : { first, last };
}

function describe(result: SeedResult): string {
  return [
    `seed ${result.seed}  trace ${result.hash}`,
    `  ${result.portCalls.total} port calls (${list(result.portCalls)})`,
    `  ${result.faults.total} faults (${list(result.faults)})`,
    `  ${result.commits} commits, ${result.steps} steps, ${(result.virtualMs / 1000).toFixed(0)} s of virtual time`,
    `  marks: ${list(result.marks)}`,
  ].join('\n');
}

function list(tally: Tally): string {
  return tally
    .entries()
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function failure({ seed, hash, violation, lastLines }: SeedResult): string {
  return [
    ...lastLines.map((line) => `    ${line}`),
    `seed ${seed} FAILED (trace ${hash})`,
    `  ${violation?.property}`,
    `  ${violation?.message}`,
    `  repeat it: npm run sim -- --seed ${seed} --trace`,
  ].join('\n');
}

process.exitCode = await main();
