// Databases that break their guarantees.
import type { Store } from '../../src/journal/index.ts';
import type { MemoryDisk } from '../../src/journal/runtime.ts';
import { acknowledged } from '../checkers/acknowledged.ts';
import { fleetsEqual } from '../checkers/fleets-equal.ts';
import { journalOrder } from '../checkers/journal-order.ts';
import { leaseExclusive } from '../checkers/lease.ts';
import { oneWriterPerEpoch } from '../checkers/one-writer.ts';
import { singleDecider } from '../checkers/single-decider.ts';
import type { Mutant } from './mutant.ts';
import { wrappedStore } from './wrapped-store.ts';

export function databaseMutant(
  mutant: Omit<Mutant, 'plant'>,
  replace: (inner: Store, disk: MemoryDisk) => Partial<Store>,
): Mutant {
  return {
    ...mutant,
    plant: (parts) => ({
      ...parts,
      database: (disk) => {
        const inner = parts.database(disk);
        return wrappedStore(inner, replace(inner, disk));
      },
    }),
  };
}

export const noFenceCheck = databaseMutant(
  {
    name: 'no-fence-check',
    bug: 'the database takes a group whatever its lease epoch',
    likely: 2,
    caughtBy: [singleDecider.name],
  },
  (inner) => ({
    write: ({ fence: _, ...group }) => inner.write(group),
  }),
);

export const noHeadCheck = databaseMutant(
  {
    name: 'no-head-check',
    bug: 'the database takes a group that was decided on another head',
    likely: 38,
    caughtBy: [journalOrder.name, acknowledged.name],
  },
  (inner) => ({
    write: ({ expectedHead: _, ...group }) => inner.write(group),
  }),
);

/** Flushes every other time only: the last commit before a power failure may be lost. */
export const acknowledgedBeforeDurable: Mutant = {
  name: 'acknowledged-before-durable',
  bug: 'the database answers before it has flushed',
  likely: 1,
  caughtBy: [acknowledged.name, journalOrder.name, leaseExclusive.name, oneWriterPerEpoch.name],
  plant: (parts) => ({
    ...parts,
    database: (disk) => {
      let calls = 0;
      const lazy = new Proxy(disk, {
        get: (target, key): unknown => {
          if (key === 'flush') return () => (++calls % 2 === 0 ? target.flush() : undefined);
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
      return parts.database(lazy);
    },
  }),
};

export const leaseTakenWhileHeld = databaseMutant(
  {
    name: 'lease-taken-while-held',
    bug: 'whoever asks for the lease gets it',
    caughtBy: [leaseExclusive.name],
  },
  (inner) => ({
    acquireLease: async (request) => {
      const lease = await inner.readLease(request.name);
      if (lease !== undefined) await inner.releaseLease(request.name, lease.epoch);
      return inner.acquireLease(request);
    },
  }),
);

export const seizedUnderTheSameEpoch = databaseMutant(
  {
    name: 'seized-under-the-same-epoch',
    bug: 'a lease whose holder’s session ended is taken without a new epoch',
    caughtBy: [leaseExclusive.name, oneWriterPerEpoch.name],
  },
  (inner, disk) => ({
    acquireLease: async (request) => {
      const { name, holder, url, ttlMs, endsWith = 'session' } = request;
      const lease = await inner.readLease(name);
      const isSeized = lease !== undefined && lease.expiresInMs > 0 && disk.isAbandoned(name, lease.epoch);
      if (!isSeized) return inner.acquireLease(request);
      const { epoch } = lease;
      const expiresAtMs = disk.nowMs() + ttlMs;
      disk.change((state) => state.leases.set(name, { name, holder, url, epoch, expiresAtMs, endsWith }));
      disk.flush();
      disk.beginTenure(name, { holder, epoch });
      return { kind: 'held', lease: { name, holder, url, epoch, expiresInMs: ttlMs } };
    },
  }),
);

export const leaseRenewedByAnybody = databaseMutant(
  {
    name: 'lease-renewed-too-late',
    bug: 'a lease is renewed although it ran out or is in other hands',
    caughtBy: [leaseExclusive.name],
  },
  (_inner, disk) => ({
    renewLease: async ({ name, holder, url, ttlMs, epoch, endsWith = 'session' }) => {
      const lease = { name, holder, url, epoch, expiresAtMs: disk.nowMs() + ttlMs, endsWith };
      disk.change((state) => state.leases.set(name, lease));
      disk.flush();
      return { kind: 'held', lease: { name, holder, url, epoch, expiresInMs: ttlMs } };
    },
  }),
);

export const halfAGroup = databaseMutant(
  {
    name: 'half-a-group',
    bug: 'of a group only the first commit is written',
    caughtBy: [journalOrder.name, fleetsEqual.name, acknowledged.name],
  },
  (inner) => ({
    write: async (group) => {
      const written = await inner.write({ ...group, batches: group.batches.slice(0, 1) });
      if (written.kind !== 'written') return written;
      return { ...written, revision: written.revision + group.batches.length - 1 };
    },
  }),
);
