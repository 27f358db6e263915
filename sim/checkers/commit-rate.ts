// The control plane comes to rest: it does not commit without end, and a drain backs off after a failure. Either would fill disks and
// starve other work while nothing waits.
import { idOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { ITEM, type Item } from '../../src/operations/index.ts';
import type { Checker } from './checker.ts';

const WINDOW_MS = 3000;
/** The fixed seeds have 120 commits in a second at most; a loop that only the store slows down has 200 and more. */
const COMMITS_MAX = 500;

export const commitRateBounded: Checker = {
  name: 'never: the control plane commits without end',
  watch: (violated, { scheduler }) => {
    const times: number[] = [];
    return {
      onApplied: ({ entry: { commit } }) => {
        times.push(scheduler.nowMs);
        const first = times[times.length - COMMITS_MAX];
        if (first !== undefined && scheduler.nowMs - first < WINDOW_MS)
          violated(`${COMMITS_MAX} commits in ${scheduler.nowMs - first} ms, the last one by ${commit.by}`);
      },
    };
  },
};

/** Less than the shortest pause: servers' clocks may differ by a little. */
const PAUSE_MS = 3000;

export const failuresBackedOff: Checker = {
  name: 'never: a drain tries again at once what has just failed',
  watch: (violated, { scheduler }) => {
    /** When the world saw that an instance is in error, and with which fault. */
    const faults = new Map<string, { readonly seenMs: number; readonly fault: Instance['fault'] }>();
    return {
      onApplied: ({ truth, applied, entry: { commit } }) => {
        for (const change of applied) {
          const host = drainedHost(applied, change);
          const failed = faults.get(change.after?.id ?? '');
          const before = change.before?.doc as Instance;
          if (host !== undefined && failed !== undefined && isFaultOfThisDrain(truth, host, before, failed.fault)) {
            const afterMs = scheduler.nowMs - failed.seenMs;
            if (afterMs < PAUSE_MS)
              violated(`${change.after?.id} at ${commit.revision}, ${afterMs} ms after it failed`);
          }
          if (change.kind !== INSTANCE.name || change.after === undefined) continue;
          const { fault } = change.after.doc as Instance;
          if (fault === undefined) faults.delete(change.after.id);
          else if (fault.atMs !== faults.get(change.after.id)?.fault?.atMs)
            faults.set(change.after.id, { seenMs: scheduler.nowMs, fault });
        }
      },
    };
  },
};

/** The host that a drain takes an instance off with this change. */
function drainedHost(applied: readonly AppliedChange[], { kind, before, after }: AppliedChange): string | undefined {
  if (kind !== INSTANCE.name || before === undefined || after === undefined) return undefined;
  const [was, is] = [(before.doc as Instance).state, (after.doc as Instance).state];
  if (was === is || (is !== 'moving' && is !== 'rebuilding')) return undefined;
  // An earlier fault is retried by the caller who requested that.
  const started = applied.find(
    (one) =>
      one.kind === ITEM.name &&
      one.before === undefined &&
      (one.after?.doc as Item | undefined)?.target.id === after.id,
  );
  return (started?.after?.doc as Item | undefined)?.drainedHost;
}

/** A failed move does not keep it from being rebuilt once its host is off; earlier failures do not count then. */
function isFaultOfThisDrain(truth: Fleet, id: string, { move }: Instance, fault: Instance['fault']): boolean {
  const { leaving, forcedDown } = truth.get(HOST, idOf(HOST, id))?.doc ?? {};
  const sinceMs = Math.max(leaving?.atMs ?? 0, forcedDown?.atMs ?? 0);
  return fault !== undefined && fault.atMs >= sinceMs && (move === undefined) === (forcedDown !== undefined);
}
