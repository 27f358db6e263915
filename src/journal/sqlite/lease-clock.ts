// The clock of leases in SQLite: it begins at the wall-clock time of the process's start and then only counts what has passed. A wall
// clock that is set ahead ends no lease, and one that is set back lengthens none.

/** The same in all threads of a process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

const startedAtMs = Date.now() - monotonicMs();

export function leaseClockMs(): number {
  return Math.floor(startedAtMs + monotonicMs());
}
