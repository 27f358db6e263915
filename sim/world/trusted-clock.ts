// The time by which a simulated server lets documents be forgotten: as in the program, on clocks that the world sets.
import { clockJumpedFinding } from '../../src/alarms/index.ts';
import { IntegrityController } from '../../src/alarms/runtime.ts';
import { provide, provideController, serviceKey, type Controller, type Provider } from '../../src/composition/index.ts';
import { StoreUnavailable, type Clock, type Journal } from '../../src/journal/index.ts';
import { RETENTION_TIMING, TRUSTED_TIME } from '../../src/journal/module.ts';
import { findJumpAtStart, createTrustedTime, type TrustedTimeOptions } from '../../src/main/trusted-time.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { IncarnationContext } from './server.ts';

export const RETENTION_INTERVAL_MS = 2000;

/** The inputs of the decision whether a clock is trusted. */
export const TRUST_PARTS = serviceKey<TrustedTimeOptions>('trust-parts');
const START_CHECK = serviceKey<Controller & { readonly isDone: boolean }>('clock-check-at-start');
const INTEGRITY = serviceKey<IntegrityController>('integrity');

export function trustedTimeProviders({ journal, clock, log, program, url }: IncarnationContext): readonly Provider[] {
  // Its warnings are expected in worlds whose clocks jump.
  const quietly = { ...log, error: (facts: object, message: string) => log.warn(facts, message) };
  const readClocks = () => {
    const { nowMs } = program.scheduler;
    return { wallMs: WORLD_BEGINS_MS + nowMs + program.wallSkewMs, monotonicMs: nowMs };
  };
  return [
    provide(RETENTION_TIMING, () => ({ intervalMs: RETENTION_INTERVAL_MS })),
    provideController(INTEGRITY, () => new IntegrityController({ journal, clock, log: quietly })),
    provide(TRUST_PARTS, (runtime) => ({ journal, integrity: runtime.get(INTEGRITY), readClocks, server: url })),
    provide(TRUSTED_TIME, (runtime) => {
      const trusted = createTrustedTime(runtime.get(TRUST_PARTS));
      // A server of the program checks its clock before it starts anything else.
      return () => (runtime.get(START_CHECK).isDone ? trusted() : undefined);
    }),
    provideController(START_CHECK, (runtime) => {
      const integrity = runtime.get(INTEGRITY);
      const check = {
        isDone: false,
        run: async (signal: AbortSignal): Promise<void> => {
          const jump = await findJump(journal, clock, signal);
          if (jump !== undefined) integrity.report(clockJumpedFinding(url, jump));
          check.isDone = true;
        },
      };
      return check;
    }),
  ];
}

/** A start waits until the store can be read. */
async function findJump(journal: Journal, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  while (!signal.aborted) {
    try {
      return await findJumpAtStart(journal.store, clock.nowMs());
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await clock.sleep(RETENTION_INTERVAL_MS, signal);
    }
  }
  return undefined;
}
