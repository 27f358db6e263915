// Tries something out under load: first without it, to see that the machine itself loses nothing. A machine that is too busy says
// nothing about Muster, neither good nor bad, and is counted apart.
import { assess, mayBeOverruns, type Limits, type Verdict } from './oracle.ts';
import type { TrafficResults } from './traffic/results.ts';

const TRIES_MAX = 3;

export interface Trial {
  /** Runs the load, and the event in the middle of it if there is one. */
  readonly load: (event?: () => Promise<void>) => Promise<TrafficResults>;
  readonly event: () => Promise<void>;
  readonly limits?: Limits;
  /** Another assessment than that nothing was lost, for what is meant to lose something. */
  readonly accept?: (verdict: Verdict) => readonly string[];
}

interface TrialFigures {
  /** What a scenario measured beside what every load shows, in words. */
  readonly figures?: readonly string[];
}

export type Outcome =
  | ({ readonly kind: 'passed'; readonly verdict: Verdict } & TrialFigures)
  | ({ readonly kind: 'failed'; readonly verdict: Verdict; readonly problems: readonly string[] } & TrialFigures)
  | ({ readonly kind: 'machine-too-busy'; readonly tries: readonly Verdict[] } & TrialFigures);

export async function runTrial({ load, event, limits, accept = ({ problems }) => problems }: Trial): Promise<Outcome> {
  const tries: Verdict[] = [];
  while (tries.at(-1)?.good !== true) {
    if (tries.length === TRIES_MAX) return { kind: 'machine-too-busy', tries };
    tries.push(assess(await load(), limits));
  }
  const verdict = assess(await load(event), limits);
  const problems = accept(verdict);
  // It was quiet enough before, and is not any more.
  if (problems.length > 0 && mayBeOverruns(verdict)) return { kind: 'machine-too-busy', tries: [...tries, verdict] };
  return problems.length === 0 ? { kind: 'passed', verdict } : { kind: 'failed', verdict, problems };
}
