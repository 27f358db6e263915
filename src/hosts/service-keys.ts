// Service keys of hosts: running parts that other modules use, and those that others provide.
import { serviceKey } from '../composition/index.ts';
import type { LivenessController } from './liveness/controller.ts';

export const LIVENESS_CONTROLLER = serviceKey<LivenessController>('liveness');
/** When a removed host last reported, as far as this server knows. */
export const REMOVED_REPORTS = serviceKey<(host: string) => number | undefined>('removed-reports');
/** The hosts whose credential two machines use, and when this server last saw it. */
export const SHARED_CREDENTIALS =
  serviceKey<() => Iterable<readonly [host: string, sharedMs: number]>>('shared-credentials');
/** Overrides of timings, for tests and simulations that move the clock themselves. */
export const LIVENESS_TIMING = serviceKey<{ readonly intervalMs?: number }>('liveness-timing');
