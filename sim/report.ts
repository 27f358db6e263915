// The report of a run, for people.
import type { SeedResult } from './seed.ts';
import type { Tally } from './world/tally.ts';

export function summary(result: SeedResult): string {
  return [
    `${result.scenario} seed ${result.seed}  trace ${result.hash}`,
    `  ${result.portCalls.total} port calls (${list(result.portCalls)})`,
    `  ${result.faults.total} faults (${list(result.faults)})`,
    `  ${result.commits} commits, ${result.steps} steps, ${(result.virtualMs / 1000).toFixed(0)} s of virtual time`,
    `  guards: ${list(result.marks)}`,
  ].join('\n');
}

/** The seed, the property, the last lines of the trace, and the command that replays it. */
export function failure({ seed, scenario, hash, violation, lastLines }: SeedResult): string {
  return [
    ...lastLines.map((line) => `    ${line}`),
    `${scenario} seed ${seed} FAILED (trace ${hash})`,
    `  ${violation?.property}`,
    `  ${violation?.message}`,
    `  repeat it: npm run sim -- --world ${scenario} --seed ${seed} --trace`,
  ].join('\n');
}

function list(tally: Tally): string {
  return tally
    .entries()
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
