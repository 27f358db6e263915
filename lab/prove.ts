// `npm run lab:prove`: runs every scenario several times, and prints the table for the documents.
import { parseArgs } from 'node:util';
import { checkLabRequirements } from './requirements.ts';
import { SCENARIOS } from './scenarios/catalogue.ts';
import type { LabScenario } from './scenarios/scenario.ts';
import { tableOf, type ScenarioRuns } from './scenarios/table.ts';
import { Interrupted, listenForInterrupt } from './interrupt.ts';
import type { TrialOutcome } from './trial.ts';

const HELP = `npm run lab:prove -- [options] [SCENARIO ...]

Runs every scenario, or those that are named, several times each, and prints a table. A run on a machine that loses packets
by itself is counted apart: it shows nothing.

  --runs N       how often each (default: 10)
  --json         one JSON object for each run instead of the table
  --list         what there is
  --help         this text

Exit codes: 0 every run passed or was on a machine that was too busy, 1 one failed, 2 wrong usage, 130 after Ctrl-C.
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '10' },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1) throw new TypeError(`--runs ${values.runs}: say a number from 1`);
  const chosen = selectScenarios(positionals);
  if (values.help) process.stdout.write(HELP);
  else if (values.list) for (const { name, about } of chosen) process.stdout.write(`${name}: ${about}\n`);
  else return prove(chosen, { runs, json: values.json });
  return 0;
}

function selectScenarios(names: readonly string[]): readonly LabScenario[] {
  const unknown = names.find((name) => !SCENARIOS.some((one) => one.name === name));
  if (unknown !== undefined) throw new TypeError(`no scenario is called "${unknown}"; --list shows what there is`);
  return names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name));
}

async function prove(
  scenarios: readonly LabScenario[],
  { runs, json }: { runs: number; json: boolean },
): Promise<number> {
  const reason = await checkLabRequirements();
  if (reason !== undefined) {
    say(reason);
    return 1;
  }
  const signal = listenForInterrupt();
  const ran: { name: string; outcomes: TrialOutcome[] }[] = [];
  try {
    for (const scenario of scenarios) {
      const row = { name: scenario.name, outcomes: [] as TrialOutcome[] };
      ran.push(row);
      for (let run = 1; run <= runs; run += 1) {
        signal.throwIfAborted();
        const outcome = await scenario.run({ say: () => undefined, signal });
        row.outcomes.push(outcome);
        say(`${scenario.name} ${run} of ${runs}: ${outcome.kind}${whyOf(outcome)}`);
        if (json) process.stdout.write(`${JSON.stringify({ scenario: scenario.name, run, ...outcome })}\n`);
      }
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    return 130;
  } finally {
    if (!json) process.stdout.write(tableOf(ran));
  }
  return hasFailure(ran) ? 1 : 0;
}

function whyOf(outcome: TrialOutcome): string {
  const why = outcome.kind === 'failed' ? ` (${outcome.problems.join('; ')})` : '';
  return outcome.figures === undefined ? why : `${why}: ${outcome.figures.join(', ')}`;
}

function hasFailure(ran: readonly ScenarioRuns[]): boolean {
  return ran.some(({ outcomes }) => outcomes.some(({ kind }) => kind === 'failed'));
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n\n${HELP}`);
  process.exitCode = 2;
}
process.exit();
