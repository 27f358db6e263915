import { serviceKey, type Module } from '../composition/index.ts';
import { RetentionController } from './retention-controller.ts';
import { RETENTION } from './retention.ts';

/** The time by which something may be forgotten; undefined while the clock is in doubt. */
export const TRUSTED_TIME = serviceKey<() => number | undefined>('trusted-time');

/** Overrides of timings, for simulations. */
export const RETENTION_TIMING = serviceKey<{ readonly intervalMs?: number }>('retention-timing');

export const journalModule: Module = {
  name: 'journal',
  settings: [RETENTION],
  requires: [TRUSTED_TIME],
  controllers: (runtime) => [
    new RetentionController({
      ...runtime.environment,
      ...runtime.find(RETENTION_TIMING),
      trustedNowMs: runtime.get(TRUSTED_TIME),
    }),
  ],
};
