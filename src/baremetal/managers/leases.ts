// What the store said of the managers' leases, on this server's own clock. It must never show a lease as live for longer than the store does:
// an answer counts from its request, and what is not known is not live.
import type { Clock, Lease } from '../../journal/index.ts';
import { managerLease } from '../model.ts';

/** Whether a manager holds its lease under this epoch now. */
export type IsLeaseLive = (manager: string, leaseEpoch: number) => boolean;

/** The names of all managers' leases begin so. */
export const MANAGER_LEASES_PREFIX = managerLease('');

/** After a longer time between two reads this server, or its way to the store, was away: managers could not renew here meanwhile. */
const READS_APART_MAX_MS = 3500;

interface KnownLease {
  readonly lease: Lease;
  readonly untilMs: number;
  /** When the store was read. */
  readonly requestedAtMs: number;
}

export class ManagerLeases {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #known = new Map<string, KnownLease>();
  #readAtMs: number | undefined;
  #servingSinceMs = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  readonly isLive: IsLeaseLive = (manager, leaseEpoch) => {
    const known = this.#known.get(manager);
    return known?.lease.epoch === leaseEpoch && this.#clock.nowMs() < known.untilMs;
  };

  /** The lease as the store had it last; its `expiresInMs` is of then. */
  find(manager: string): Lease | undefined {
    return this.#known.get(manager)?.lease;
  }

  /** How long it lasts at least from now on; 0 when it is not known to last. */
  remainingMs(manager: string): number {
    const known = this.#known.get(manager);
    return known === undefined ? 0 : Math.max(0, Math.floor(known.untilMs - this.#clock.nowMs()));
  }

  /** When the first of the live ones ends unless it is renewed. */
  firstEndMs(): number | undefined {
    const nowMs = this.#clock.nowMs();
    const ends = [...this.#known.values()].map(({ untilMs }) => untilMs).filter((untilMs) => untilMs > nowMs);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** An answer of the store; one to an earlier question is no news. */
  note(manager: string, lease: Lease, requestedAtMs: number): void {
    const known = this.#known.get(manager);
    if (known !== undefined && known.requestedAtMs > requestedAtMs) return;
    this.#known.set(manager, { lease, untilMs: requestedAtMs + lease.expiresInMs, requestedAtMs });
  }

  /** All of them as one answer: what is not in it is not there. */
  noteAll(leases: readonly Lease[], requestedAtMs: number): void {
    const nowMs = this.#clock.nowMs();
    if (this.#readAtMs === undefined || nowMs - this.#readAtMs > READS_APART_MAX_MS) this.#servingSinceMs = nowMs;
    this.#readAtMs = nowMs;
    const names = new Set(leases.map(({ name }) => name));
    for (const [manager, { requestedAtMs: notedMs }] of this.#known)
      if (!names.has(managerLease(manager)) && notedMs <= requestedAtMs) this.#known.delete(manager);
    for (const lease of leases) this.note(lease.name.slice(MANAGER_LEASES_PREFIX.length), lease, requestedAtMs);
  }

  /** It was released: whatever an earlier answer said. */
  forget(manager: string): void {
    this.#known.delete(manager);
  }

  /**
   * For how long this server has been able to renew leases without a gap, whether it decided or not. A lease that ran out in less than that
   * could have been renewed here.
   */
  servingMs(): number {
    const nowMs = this.#clock.nowMs();
    if (this.#readAtMs === undefined || nowMs - this.#readAtMs > READS_APART_MAX_MS) return 0;
    return nowMs - this.#servingSinceMs;
  }
}
