// Watches the managers' leases: a manager whose lease ran out is declared lost, alarms say what is so, and a drain that a host's scale-in began ends
// when the host stays. Servers that do not decide read the leases as well, so that one which begins to decide knows for how long it could have
// renewed them. It must never declare a manager lost by a clock: the store says that a lease ran out.
import { valueOf, type FleetReader } from '../../fleet/index.ts';
import { accept, LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../../journal/index.ts';
import { MANAGER } from '../model.ts';
import { findLostManagers, reconcileManagers } from './loss.ts';
import { MANAGER_LEASES_PREFIX, type ManagerLeases } from './leases.ts';
import { MANAGERS } from './settings.ts';

export interface ManagersControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly leases: ManagerLeases;
  /** Managers that wait for tasks look again. */
  readonly wakeManagers: () => void;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 1000;
/** Without managers there is nothing to watch; the commit of the first one that registers wakes this. */
const IDLE_MS = 10_000;
/** Between two reads: the end of a lease is looked at when it is due. */
const READS_APART_MS = 25;
const CONTROLLER = 'managers';

export class ManagersController {
  readonly #options: ManagersControllerOptions;
  readonly #loop: LeaseHolderLoop;
  #epoch: number | undefined;
  #wasYoung = true;

  constructor(options: ManagersControllerOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: CONTROLLER,
      reconcile: (pass) => this.#reconcile(pass),
      intervalMs: () => this.#untilNextMs(),
      runsAsFollower: true,
      subscribe: () =>
        options.journal.onCommit(({ applied }) => {
          if (applied.some(({ kind }) => kind === MANAGER.name)) this.#loop.wake();
        }),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  /** A lease that is about to end is read when it does. */
  #untilNextMs(): number {
    const { journal, clock, leases, intervalMs = INTERVAL_MS } = this.#options;
    if (journal.fleet.count(MANAGER) === 0) return IDLE_MS;
    const endMs = leases.firstEndMs() ?? Infinity;
    return Math.max(READS_APART_MS, Math.min(intervalMs, endMs - clock.nowMs()));
  }

  async #reconcile({ fence }: LeasePass): Promise<void> {
    const { journal, clock, leases } = this.#options;
    const { fleet } = journal;
    if (fleet.count(MANAGER) > 0) {
      const requestedAtMs = clock.nowMs();
      leases.noteAll(await journal.store.readLeases(MANAGER_LEASES_PREFIX), requestedAtMs);
    }
    this.#wakeWhenOfferChanges(fence?.epoch);
    if (fence === undefined) return;
    const lost = findLostManagers(fleet, leases);
    const nowMs = clock.nowMs();
    const reconcile = (at: FleetReader) => reconcileManagers(at, { lost, by: CONTROLLER, nowMs });
    if (reconcile(fleet).length === 0) return;
    const why = lost.length > 0 ? `lost: ${lost.map(({ manager }) => manager).join(', ')}` : 'managers reconciled';
    await journal.submit({ by: CONTROLLER, why, decide: (at) => accept(reconcile(at), null) });
  }

  /** What is offered changes without a commit when this server has served for long enough, and when another one decides. */
  #wakeWhenOfferChanges(epoch: number | undefined): void {
    const { journal, leases, wakeManagers } = this.#options;
    const isYoung = leases.servingMs() < valueOf(journal.fleet, MANAGERS).leaseMs;
    const changes = isYoung !== this.#wasYoung || epoch !== this.#epoch;
    this.#wasYoung = isYoung;
    this.#epoch = epoch;
    if (changes) wakeManagers();
  }
}
