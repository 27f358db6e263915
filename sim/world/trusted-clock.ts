// The time by which a simulated server lets documents be forgotten: as in the program, on clocks that the world sets.
import { clockJumpedFinding } from '../../src/alarms/index.ts';
import { INTEGRITY_CONTROLLER, INTEGRITY_HOOKS } from '../../src/alarms/module.ts';
import {
  provide,
  provideController,
  serviceKey,
  type Controller,
  type Provider,
  type Runtime,
} from '../../src/composition/index.ts';
import { StoreUnavailable, type Clock, type Journal } from '../../src/journal/index.ts';
import { RETENTION_TIMING } from '../../src/journal/module.ts';
import { findJumpAtStart, createTrustedTime, type TrustedTimeOptions } from '../../src/main/trusted-time.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { IncarnationContext } from './server.ts';

export const RETENTION_INTERVAL_MS = 2000;

/** The inputs of the decision whether a clock is trusted. */
export const TRUST_PARTS = serviceKey<TrustedTimeOptions>('trust-parts');
const START_CHECK = serviceKey<Controller & { readonly isDone: boolean }>('clock-check-at-start');

/** A server of the program checks its clock before it starts anything else. */
export function trustedTime(runtime: Runtime): () => number | undefined {
  const trusted = createTrustedTime(runtime.get(TRUST_PARTS));
  return () => (runtime.get(START_CHECK).isDone ? trusted() : undefined);
}

export function trustedTimeProviders({ journal, clock, log, program, url }: IncarnationContext): readonly Provider[] {
  // Its warnings are expected in worlds whose clocks jump.
  const quietly = { ...log, error: (facts: object, message: string) => log.warn(facts, message) };
  const readClocks = () => {
    const { nowMs } = program.scheduler;
    return { wallMs: WORLD_BEGINS_MS + nowMs + program.wallSkewMs, monotonicMs: nowMs };
  };
  return [
    provide(RETENTION_TIMING, () => ({ intervalMs: RETENTION_INTERVAL_MS })),
    provide(INTEGRITY_HOOKS, () => ({ log: quietly })),
    provide(TRUST_PARTS, (runtime) => {
      const integrity = runtime.get(INTEGRITY_CONTROLLER);
      return { journal, integrity, readClocks, server: url };
    }),
    provideController(START_CHECK, (runtime) => {
      const integrity = runtime.get(INTEGRITY_CONTROLLER);
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
