// A scenario: something that happens to hosts in the lab under load, and what has to hold.
import type { TrialOutcome } from '../trial.ts';

export interface ScenarioRun {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface LabScenario {
  /** As in `handover-by-plan`. */
  readonly name: string;
  readonly about: string;
  /** Brings up what it needs, and takes it away again. */
  run(how: ScenarioRun): Promise<TrialOutcome>;
}
