// The disk of stores in memory, which several servers share. It distinguishes written from durable: a power cut takes everything that was
// not flushed.
import type { Lease, LeaseRequest, Position, StoredCommit, StoredResource } from './store.ts';

/** What is on the disk. */
export interface DiskState {
  readonly commits: StoredCommit[];
  readonly resources: Map<string, StoredResource>;
  readonly leases: Map<string, StoredLease>;
  floor: Position;
}

export interface StoredLease extends Omit<Lease, 'expiresInMs'> {
  readonly expiresAtMs: number;
  readonly endsWith: NonNullable<LeaseRequest['endsWith']>;
}

interface HeldTenure {
  readonly holder: string;
  readonly epoch: number;
}

function emptyState(): DiskState {
  return { commits: [], resources: new Map(), leases: new Map(), floor: { revision: 0 } };
}

function copyOf(state: DiskState): DiskState {
  return {
    commits: [...state.commits],
    resources: new Map(state.resources),
    leases: new Map(state.leases),
    floor: state.floor,
  };
}

/** The disk and its clock. Everything written is visible to all stores on it; only what is flushed survives a power cut. */
export class MemoryDisk {
  readonly journalId: string;
  readonly #nowMs: () => number;
  #written = emptyState();
  #unflushed: ((state: DiskState) => void)[] = [];
  readonly #durable = emptyState();
  readonly #waiters = new Set<() => void>();
  /** Whose session keeps which lease, under which epoch. Not on the disk: it is lost with the session and at a power cut. */
  readonly #tenures = new Map<string, HeldTenure>();
  readonly #vacancyWaiters = new Set<() => void>();

  constructor(options: { readonly journalId: string; readonly nowMs: () => number }) {
    this.journalId = options.journalId;
    this.#nowMs = options.nowMs;
  }

  nowMs(): number {
    return this.#nowMs();
  }

  get state(): DiskState {
    return this.#written;
  }

  /** Does a change to what is written. It is lost in a power cut until `flush`. */
  change(edit: (state: DiskState) => void): void {
    edit(this.#written);
    this.#unflushed.push(edit);
  }

  flush(): void {
    for (const edit of this.#unflushed) edit(this.#durable);
    this.#unflushed = [];
  }

  cutPower(): void {
    this.#unflushed = [];
    this.#written = copyOf(this.#durable);
    this.#tenures.clear();
    for (const wake of [...this.#vacancyWaiters]) wake();
  }

  beginTenure(lease: string, tenure: HeldTenure): void {
    this.#tenures.set(lease, tenure);
  }

  /** It ends with a session, and none keeps it under this epoch. */
  isAbandoned(lease: string, epoch: number): boolean {
    if (this.#written.leases.get(lease)?.endsWith === 'time') return false;
    return this.#tenures.get(lease)?.epoch !== epoch;
  }

  /** The holder's connection is gone, whether it knows or not. */
  endSession(holder: string): void {
    for (const [lease, tenure] of this.#tenures) if (tenure.holder === holder) this.#tenures.delete(lease);
    for (const wake of [...this.#vacancyWaiters]) wake();
  }

  waitForVacancy(signal: AbortSignal): Promise<void> {
    return waitIn(this.#vacancyWaiters, signal);
  }

  announce(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  waitForAnnouncement(signal: AbortSignal): Promise<void> {
    return waitIn(this.#waiters, signal);
  }
}

function waitIn(waiters: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const wake = (): void => {
      signal.removeEventListener('abort', wake);
      waiters.delete(wake);
      resolve();
    };
    signal.addEventListener('abort', wake, { once: true });
    waiters.add(wake);
  });
}
