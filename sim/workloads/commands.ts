// Commands as workloads send them: what is decided, and how a repetition is told.
import type { FleetReader } from '../../src/fleet/index.ts';
import { accept, type Decision } from '../../src/journal/index.ts';
import type { Command } from '../world/operator.ts';
import type { Incarnation } from '../world/server.ts';

export type Decide = (fleet: FleetReader, life: Incarnation, nowMs: number) => Decision<unknown>;

/** A command that may arrive twice: it finds what it made and leaves it. */
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

/** A command whose repetition does no harm, but is not told from the first. */
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
