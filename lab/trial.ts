// Tries something out under load: first without it, to see that the machine itself loses nothing. A machine that is too busy says
// nothing about Muster, neither good nor bad, and is counted apart.
import { assess, mayBeOverruns, type OracleLimits, type LoadVerdict } from './oracle.ts';
import type { TrafficResults } from './traffic/results.ts';

const TRIES_MAX = 3;

export interface PacketTrial {
  /** Runs the load, and the event in the middle of it if there is one. */
  readonly load: (event?: () => Promise<void>) => Promise<TrafficResults>;
  readonly event: () => Promise<void>;
  readonly limits?: OracleLimits;
  /** Another assessment than that nothing was lost, for what is meant to lose something. */
  readonly accept?: (verdict: LoadVerdict) => readonly string[];
}

interface TrialFigures {
  /** What a scenario measured beside what every load shows, in words. */
  readonly figures?: readonly string[];
}

export type TrialOutcome =
  | ({ readonly kind: 'passed'; readonly verdict: LoadVerdict } & TrialFigures)
  | ({ readonly kind: 'failed'; readonly verdict: LoadVerdict; readonly problems: readonly string[] } & TrialFigures)
  | ({ readonly kind: 'machine-too-busy'; readonly tries: readonly LoadVerdict[] } & TrialFigures);

export async function runTrial({
  load,
  event,
  limits,
  accept = ({ problems }) => problems,
}: PacketTrial): Promise<TrialOutcome> {
  const tries: LoadVerdict[] = [];
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
