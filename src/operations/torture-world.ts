// The world of the torture kit: a real journal and the real engine on a memory disk, one incarnation of a server after
// the other, and a store whose n-th call can be made to fail or to be the last thing the server does.
import { idOf, Registry, type Change, type FleetReader, type Model } from '../fleet/index.ts';
import { Journal, StoreUnavailable, type Clock, type Request, type Store } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { OperationsController } from './controller.ts';
import { cancelOperation } from './decide.ts';
import type { ActionFence, ActionOutcome, Driver, OperationKind } from './kind.ts';
import { OPERATION, operationsModel, type OperationId } from './model.ts';

/** An operation kind on the rack: how it starts, what the rest of the world does meanwhile, what must be true after. */
export interface TortureSubject {
  readonly name: string;
  readonly models: readonly Model[];
  readonly kind: OperationKind;
  /** Made anew for each run: what is outside the journal survives a crash of the server, not the end of a run. */
  readonly drivers?: () => ReadonlyMap<string, Driver>;
  readonly prepare: readonly Change[];
  readonly start: (operation: OperationId, nowMs: number) => Request<unknown>;
  /** What the other controllers do in one tick, from the current fleet. */
  readonly world: (journal: Journal, nowMs: number) => Promise<void>;
  /** Sentences on what is wrong after the operation succeeded; none when all is well. */
  readonly wrongWhenDone: (fleet: FleetReader) => readonly string[];
  readonly wrongWhenCancelled: (fleet: FleetReader) => readonly string[];
}

export type PortCallFault =
  | { readonly kind: 'none' }
  /** The server dies at this port call: before it takes effect, or after that and before its answer. */
  | { readonly kind: 'crash'; readonly at: number; readonly effect: 'before' | 'after' }
  | { readonly kind: 'fail'; readonly at: number; readonly outcome: 'failed' | 'unknown-written' | 'unknown-lost' }
  /** While the driver has its n-th action, before or after its effect, the lease is lost and won again, or the operation is cancelled. */
  | {
      readonly kind: 'abort';
      readonly at: number;
      readonly effect: 'before' | 'after';
      readonly cause: 'lease-lost' | 'operation-cancelled';
    };

/** The operation that is tortured. */
export const TORTURED = idOf(OPERATION, 'op-torture');

const PATIENCE_MS = 60_000;

class TortureClock implements Clock {
  #nowMs = 1_000_000;
  nowMs(): number {
    return this.#nowMs;
  }
  advance(ms: number): void {
    this.#nowMs += ms;
  }
  /** A short sleep is a pause before another try and over at once; a long one is patience that outlasts this world. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms > PATIENCE_MS) await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    else this.#nowMs += Math.min(ms, 1000);
  }
  async turn(): Promise<void> {}
}

const LEASE = { name: 'fleet', url: 'http://127.0.0.1:7070', ttlMs: 600_000 };
const NEVER = new Promise<never>(() => undefined);

export class TortureWorld {
  readonly clock = new TortureClock();
  readonly subject: TortureSubject;
  readonly violations: string[] = [];
  readonly #disk = new MemoryDisk({ journalId: 'torture', nowMs: () => this.clock.nowMs() });
  readonly #fault: PortCallFault;
  readonly #registry: Registry;
  readonly #drivers: ReadonlyMap<string, Driver>;
  portCalls = 0;
  commits = 0;
  driverCalls = 0;
  /** The reason of the planted abort, as the driver got it. */
  abortedWith: unknown;
  #disturb: (cause: 'lease-lost' | 'operation-cancelled') => Promise<void> = async () => undefined;
  #ids = 0;
  #died: () => void = () => undefined;

  constructor(subject: TortureSubject, fault: PortCallFault) {
    this.subject = subject;
    this.#fault = fault;
    this.#drivers = subject.drivers?.() ?? new Map<string, Driver>();
    this.#registry = new Registry([operationsModel, ...subject.models]);
  }

  /** A server comes up on the disk as it is. `died` resolves when the planted crash happens. */
  async incarnate(): Promise<{ journal: Journal; controller: OperationsController; died: Promise<'died'> }> {
    const died = new Promise<'died'>((resolve) => (this.#died = () => resolve('died')));
    const store = this.#store();
    const journal = new Journal({ store, registry: this.#registry, clock: this.clock, ids: this.#idPort() });
    await journal.open();
    this.clock.advance(LEASE.ttlMs + 1);
    const answer = await new MemoryStore(this.#disk).acquireLease({ ...LEASE, holder: `server-${this.#ids}` });
    if (answer.kind !== 'held') throw new Error('the lease of a dead server did not run out');
    await journal.lead({ lease: LEASE.name, epoch: answer.lease.epoch });
    this.#disturb = (cause) => (cause === 'lease-lost' ? this.#loseLease(journal) : this.cancel(journal, TORTURED));
    journal.onCommit(({ applied }) => {
      this.commits += 1;
      for (const invariant of this.#registry.invariants) {
        const broken = invariant.check(applied, journal.fleet);
        this.violations.push(...broken.map((sentence) => `${invariant.name}: ${sentence}`));
      }
    });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const kinds = new Map([[this.subject.kind.name, this.subject.kind]]);
    const controller = new OperationsController({
      journal,
      clock: this.clock,
      kinds,
      drivers: this.#faultyDrivers(),
      log,
    });
    return { journal, controller, died };
  }

  /** Another server has it for a moment. */
  async #loseLease(journal: Journal): Promise<void> {
    journal.stepDown();
    const store = new MemoryStore(this.#disk);
    const held = await store.readLease(LEASE.name);
    if (held !== undefined) await store.releaseLease(LEASE.name, held.epoch);
    const answer = await store.acquireLease({ ...LEASE, holder: `server-${this.#ids}-again` });
    if (answer.kind !== 'held') throw new Error('a lease that was given back is not free');
    await journal.lead({ lease: LEASE.name, epoch: answer.lease.epoch });
  }

  async cancel(journal: Journal, operation: OperationId): Promise<void> {
    const kinds = new Map([[this.subject.kind.name, this.subject.kind]]);
    const nowMs = this.clock.nowMs();
    await journal.submit({ by: 'torture', decide: (fleet) => cancelOperation(fleet, { id: operation, kinds, nowMs }) });
  }

  #idPort(): { next: (prefix: string) => string; secret: () => string } {
    const next = (prefix: string): string => `${prefix}-${String((this.#ids += 1)).padStart(8, '0')}`;
    return { next, secret: () => next('secret') };
  }

  /** Only what writes is a port call worth dying at: a read has no effect to lose. */
  #store(): Store {
    const store = new MemoryStore(this.#disk);
    const write = store.write.bind(store);
    store.write = (group) => this.#port(() => write(group));
    return store;
  }

  #faultyDrivers(): Map<string, Driver> {
    return new Map(
      [...this.#drivers].map(([name, driver]) => [
        name,
        {
          carryOut: async (action, fence) => {
            try {
              return await this.#port(() => this.#carryOut(() => driver.carryOut(action, fence), fence));
            } catch (error) {
              if (!(error instanceof StoreUnavailable)) throw error;
              return { kind: 'failed', reason: { code: 'driver-failed' } };
            }
          },
        },
      ]),
    );
  }

  async #carryOut(act: () => Promise<ActionOutcome>, { signal }: ActionFence): Promise<ActionOutcome> {
    this.driverCalls += 1;
    const fault = this.#fault;
    if (fault.kind !== 'abort' || fault.at !== this.driverCalls) return act();
    const outcome = fault.effect === 'after' ? await act() : undefined;
    await this.#disturb(fault.cause);
    this.abortedWith = signal.reason;
    return outcome ?? act();
  }

  async #port<T>(effect: () => Promise<T>): Promise<T> {
    this.portCalls += 1;
    const fault = this.#fault;
    if (fault.kind === 'none' || fault.kind === 'abort' || fault.at !== this.portCalls) return effect();
    if (fault.kind === 'crash') {
      if (fault.effect === 'after') await effect();
      this.#died();
      return NEVER;
    }
    if (fault.outcome === 'unknown-written') await effect();
    throw new StoreUnavailable('planted', { outcome: fault.outcome === 'failed' ? 'failed' : 'unknown' });
  }
}
