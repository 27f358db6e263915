// A store with some of its methods replaced.
import type { Store } from '../../src/journal/index.ts';

export function wrappedStore(inner: Store, replaced: Partial<Store>): Store {
  return {
    get journalId() {
      return inner.journalId;
    },
    write: (group) => inner.write(group),
    read: (after, limit) => inner.read(after, limit),
    snapshot: (take) => inner.snapshot(take),
    history: (query) => inner.history(query),
    waitForChange: (revision, signal) => inner.waitForChange(revision, signal),
    compact: (beforeMs, limit) => inner.compact(beforeMs, limit),
    acquireLease: (request) => inner.acquireLease(request),
    renewLease: (request) => inner.renewLease(request),
    releaseLease: (name, epoch) => inner.releaseLease(name, epoch),
    readLease: (name) => inner.readLease(name),
    awaitVacancy: (wait) => inner.awaitVacancy(wait),
    close: () => inner.close(),
    ...replaced,
  };
}
