// The time by which documents may be forgotten: none while the clock is in doubt. A clock that jumped is reported, and stays in doubt until
// an operator has confirmed it. It must never be the process's steady time: that stays ahead after a clock was set back.
import { clockJumpedFinding, isClockDoubted, type IntegrityFinding } from '../alarms/index.ts';
import type { Journal, Store } from '../journal/index.ts';
import {
  ClockWatch,
  COMMITS_CHECKED_MAX,
  describeJump,
  findJumpBefore,
  type ClockReading,
} from '../journal/runtime.ts';

export interface TrustedTimeOptions {
  readonly journal: Pick<Journal, 'fleet' | 'fence' | 'clockAheadMs'>;
  readonly integrity: {
    report(finding: IntegrityFinding): void;
    hasPending(code: IntegrityFinding['code']): boolean;
  };
  readonly readClocks: () => ClockReading;
  /** The server that the clock belongs to, by the name that operators know. */
  readonly server: string;
}

/** Clocks of servers that are kept right differ by far less. */
const CLOCKS_DIFFER_MAX_MS = 5 * 60_000;

/** Called each time before something is forgotten: a jump is detected then at the latest. */
export function createTrustedTime({
  journal,
  integrity,
  readClocks,
  server,
}: TrustedTimeOptions): () => number | undefined {
  const watch = new ClockWatch(readClocks());
  let comparedEpoch: number | undefined;
  /** Once in a term: a clock that was confirmed is not checked again. */
  const aheadAtTakeover = (): string | undefined => {
    const { fence } = journal;
    if (fence === undefined || fence.epoch === comparedEpoch) return undefined;
    comparedEpoch = fence.epoch;
    const aheadMs = journal.clockAheadMs() ?? 0;
    return aheadMs > CLOCKS_DIFFER_MAX_MS
      ? `it is ${Math.round(aheadMs / 1000)} s ahead of the clock of the server that decided before`
      : undefined;
  };
  return () => {
    const now = readClocks();
    const jump = watch.compare(now);
    const found = jump === undefined ? aheadAtTakeover() : describeJump(jump);
    if (found !== undefined) integrity.report(clockJumpedFinding(server, found));
    const isDoubted = integrity.hasPending('clock-jumped') || isClockDoubted(journal.fleet);
    return isDoubted ? undefined : now.wallMs;
  };
}

/** At a start: compares the clock with the newest commits. Commits before the last confirmation of a clock are not compared again. */
export async function findJumpAtStart(store: Store, nowMs: number): Promise<string | undefined> {
  const { commits } = await store.history({ limit: COMMITS_CHECKED_MAX });
  const confirmed = commits.findIndex(({ changes }) =>
    changes.some(({ kind, id, body }) => kind === 'alarm' && body === null && id.startsWith('clock-jumped:')),
  );
  const newest = confirmed === -1 ? commits : commits.slice(0, confirmed + 1);
  const jump = findJumpBefore(
    newest.map(({ atMs }) => atMs),
    nowMs,
  );
  return jump && describeJump(jump);
}
