// The outcomes of scenarios that were run several times, as the table of the documents.
import type { LoadVerdict } from '../oracle.ts';
import type { TrialOutcome } from '../trial.ts';

export interface ScenarioRuns {
  readonly name: string;
  readonly outcomes: readonly TrialOutcome[];
}

const HEAD = [
  'scenario',
  'runs',
  'passed',
  'failed',
  'too busy',
  'forward lost',
  'return lost',
  'push lost',
  'gap, ms',
];

export function tableOf(ran: readonly ScenarioRuns[]): string {
  const rows = [HEAD, HEAD.map((_, index) => (index === 0 ? '---' : '--:')), ...ran.map(rowOf)];
  return rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

function rowOf({ name, outcomes }: ScenarioRuns): string[] {
  const verdicts = outcomes.flatMap((outcome) => (outcome.kind === 'machine-too-busy' ? [] : [outcome.verdict]));
  const of = (kind: TrialOutcome['kind']): string => String(outcomes.filter((outcome) => outcome.kind === kind).length);
  return [
    name,
    String(outcomes.length),
    of('passed'),
    of('failed'),
    of('machine-too-busy'),
    rangeOf(verdicts, ({ echo }) => echo.forwardLost),
    rangeOf(verdicts, ({ echo }) => echo.returnLost),
    rangeOf(verdicts, ({ push }) => push.lost),
    rangeOf(verdicts, ({ longestGapMs: gap }) => Math.max(gap.forward, gap.return, gap.push)),
  ];
}

/** `0`, or `188-485`, or nothing when no run counts. */
function rangeOf(verdicts: readonly LoadVerdict[], of: (verdict: LoadVerdict) => number): string {
  if (verdicts.length === 0) return '';
  const values = verdicts.map((verdict) => Math.round(of(verdict)));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? String(least) : `${least}-${most}`;
}
