// Every accepted commit is written by the lease holder while the lease is valid. A stale holder writes nothing.
import type { LedgerEntry } from '../world/ledger.ts';
import type { Checker } from './checker.ts';

export const singleDecider: Checker = {
  name: 'never: a commit by anybody but the holder of the lease',
  watch: (violated, world) => ({
    onWrite: ({ entries }) => {
      const [entry] = entries;
      const problem =
        entry && (problemWith(entry) ?? epochRegression(entry, world.ledger.at(entry.commit.revision - 1)));
      if (problem !== undefined) violated(`${entry?.writer} wrote ${entry?.commit.revision}: ${problem}`);
    },
  }),
};

function problemWith({ fence, lease, writer }: LedgerEntry): string | undefined {
  if (fence === undefined) return 'without a fence';
  if (lease === undefined) return 'without a lease';
  if (lease.epoch !== fence.epoch) return `under epoch ${fence.epoch}, the lease is at ${lease.epoch}`;
  if (lease.holder !== writer) return `under the lease of ${lease.holder}`;
  if (lease.expiresInMs <= 0) return `${-lease.expiresInMs} ms after its lease ran out`;
  return undefined;
}

function epochRegression(entry: LedgerEntry, before: LedgerEntry | undefined): string | undefined {
  const [now, then] = [entry.fence?.epoch ?? 0, before?.fence?.epoch ?? 0];
  return now < then ? `epoch ${now} after epoch ${then}` : undefined;
}
