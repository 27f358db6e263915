// Bugs of retention: a clock is trusted although it jumped.
import { TRUSTED_TIME } from '../../src/journal/module.ts';
import { retainedUntilExpiry } from '../checkers/retained.ts';
import { CLOCKS } from '../scenarios.ts';
import { TRUST_PARTS } from '../world/trusted-clock.ts';
import type { Mutant } from './mutant.ts';
import { withRunningPart } from './planting.ts';

export const retentionTrustsJumps: Mutant = {
  name: 'retention-trusts-jumps',
  bug: 'retention takes the wall clock as it is, whether or not it jumped',
  scenario: CLOCKS,
  plant: (parts) =>
    withRunningPart(parts, TRUSTED_TIME, (runtime) => {
      const { readClocks } = runtime.get(TRUST_PARTS);
      return () => readClocks().wallMs;
    }),
  caughtBy: [retainedUntilExpiry.name],
};

export const jumpTrustedAfterReport: Mutant = {
  name: 'jump-trusted-after-report',
  bug: 'retention pauses for the look that notices a jump, and trusts the clock again at the next',
  scenario: CLOCKS,
  plant: (parts) =>
    withRunningPart(parts, TRUSTED_TIME, (runtime) => {
      const { readClocks } = runtime.get(TRUST_PARTS);
      let last = readClocks();
      return () => {
        const now = readClocks();
        const byMs = now.wallMs - last.wallMs - (now.monotonicMs - last.monotonicMs);
        last = now;
        return Math.abs(byMs) > 5000 ? undefined : now.wallMs;
      };
    }),
  caughtBy: [retainedUntilExpiry.name],
};

export const retentionBySteadyTime: Mutant = {
  name: 'retention-by-steady-time',
  bug: 'retention asks whether the clock is trusted, and then takes the steady time of the process, which a clock that is set back leaves ahead',
  scenario: CLOCKS,
  plant: (parts) =>
    withRunningPart(parts, TRUSTED_TIME, (runtime, production) => {
      const trusted = production(runtime);
      const { clock } = runtime.environment;
      return () => (trusted() === undefined ? undefined : clock.nowMs());
    }),
  caughtBy: [retainedUntilExpiry.name],
};
