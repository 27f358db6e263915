// Commands of workloads: the decision, and how a repetition is recognised.
import type { FleetReader } from '../../src/fleet/index.ts';
import { accept, type Decision } from '../../src/journal/index.ts';
import type { Command } from '../world/operator.ts';
import type { Incarnation } from '../world/server.ts';

export type Decide = (fleet: FleetReader, life: Incarnation, nowMs: number) => Decision<unknown>;

/** A command that may arrive twice: it finds what it made and changes nothing. */
export function once(tag: string, isDone: (fleet: FleetReader) => boolean, decide: Decide): Command<unknown> {
  return {
    tag,
    once: true,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => (isDone(fleet) ? accept([], null) : decide(fleet, life, nowMs)) };
    },
  };
}

/** A command whose repetition does no harm, but is not recognised. */
export function plain(tag: string, decide: Decide): Command<unknown> {
  return {
    tag,
    once: false,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => decide(fleet, life, nowMs) };
    },
  };
}
