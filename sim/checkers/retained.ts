// What retention deletes has expired by a clock that did not jump: the scheduler's own.
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Checker } from './checker.ts';

const DAY_MS = 24 * 3600 * 1000;
/** The least that the setting allows. No world lasts a day. */
const HISTORY_MS = DAY_MS;
/** A clock that is off by less counts as correct: it may have been slewed. */
const SLACK_MS = 5000;

export const retainedUntilExpiry: Checker = {
  name: 'never: something is forgotten before its time by a clock that did not jump',
  watch: (violated, world) => {
    const nowMs = (): number => WORLD_BEGINS_MS + world.scheduler.nowMs + SLACK_MS;
    return {
      onApplied: ({ truth, applied, entry: { commit } }) => {
        if (commit.by !== 'retention') return;
        for (const { kind, before } of applied) {
          const atMs = before && world.registry.kinds.get(kind)?.expiresAtMs?.(before.doc, truth);
          if (atMs === undefined || atMs <= nowMs()) continue;
          violated(`${kind} ${before?.id} went at revision ${commit.revision}, ${atMs - nowMs()} ms before its time`);
        }
      },
      onWrite: () => {
        const floor = world.disk.state.floor.revision;
        const last = world.ledger.at(floor)?.commit;
        if (world.faults.of('compaction') > 0 || last === undefined) return;
        if (last.atMs + HISTORY_MS > nowMs()) violated(`history up to revision ${floor} went before its time`);
      },
    };
  },
};
