// Commands of workloads: the decision, and how a repetition is recognised.
import { IDEMPOTENCY } from '../../src/access/index.ts';
import { idOf, put, type FleetReader } from '../../src/fleet/index.ts';
import { accept, type Decision } from '../../src/journal/index.ts';
import type { OperatorCommand } from '../world/operator.ts';
import type { Incarnation } from '../world/server.ts';

const HOUR_MS = 3600 * 1000;
/** Longer than any run. */
const KEPT_HOURS = 24;

export type Decide = (fleet: FleetReader, nowMs: number, life: Incarnation) => Decision<unknown>;

/** A command that may arrive twice: it finds what it made and changes nothing. */
export function once(tag: string, isDone: (fleet: FleetReader) => boolean, decide: Decide): OperatorCommand<unknown> {
  return {
    tag,
    once: true,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => (isDone(fleet) ? accept([], null) : decide(fleet, nowMs, life)) };
    },
  };
}

/** The same for what another operator may delete before it is repeated: recognised by an idempotency key, which its commit keeps. */
export function onceByKey(tag: string, decide: Decide): OperatorCommand<unknown> {
  const key = idOf(IDEMPOTENCY, `key-${tag}`);
  const isKept = (fleet: FleetReader): boolean => fleet.get(IDEMPOTENCY, key) !== undefined;
  return once(tag, isKept, (fleet, nowMs, life) => {
    const decision = decide(fleet, nowMs, life);
    if (decision.kind === 'refuse') return decision;
    const kept = { of: tag, status: 201, untilHour: Math.ceil(nowMs / HOUR_MS) + KEPT_HOURS };
    return accept([...decision.changes, put(IDEMPOTENCY, key, kept)], decision.answer);
  });
}

/** A command whose repetition does no harm, but is not recognised. */
export function plain(tag: string, decide: Decide): OperatorCommand<unknown> {
  return {
    tag,
    once: false,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => decide(fleet, nowMs, life) };
    },
  };
}
