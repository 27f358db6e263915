// A small control plane for tests: a real journal in memory with every invariant checked after every commit, and the real engine. Time passes
// only when a test advances it. What else a server has is up to the module under test.
import {
  idOf,
  put,
  Registry,
  type Change,
  type Fleet,
  type FleetReader,
  type Model,
  type Refusal,
} from '../fleet/index.ts';
import { accept, Journal, type Clock, type Decision, type Ids } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import {
  decideSteps,
  isOpen,
  ITEM,
  OPERATION,
  operationsModel,
  recordStep,
  type Item,
  type Log,
  type Operation,
  type OperationId,
  type PlannedStep,
} from '../operations/index.ts';
import type { OperationsController } from '../operations/runtime.ts';
import { HOST, type Host } from './model.ts';

/** A longer sleep waits for something else: it outlasts any test. */
const PAUSE_MAX_MS = 20_000;

/** Time passes when the test advances it, but for sleeps, which end at once unless they outlast any test. */
class SleeplessClock implements Clock {
  now = 1_000_000;
  nowMs(): number {
    return this.now;
  }
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= PAUSE_MAX_MS) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    signal?.addEventListener('abort', () => resolve(undefined));
    await promise;
  }
  async turn(): Promise<void> {}
}

/** Longer than any test: it is never renewed. */
const LEASE_MS = 10 ** 13;
/** Far more ticks than any operation needs. */
export const TICKS_MAX = 300;

function raise(facts: object): never {
  throw new Error('an error was logged', { cause: facts });
}

/** What a server has when it starts. */
export interface StartedServer {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export abstract class TestWorld {
  readonly clock = new SleeplessClock();
  readonly violations: string[] = [];
  readonly #models: readonly Model[];
  readonly #disk = new MemoryDisk({ journalId: 'test', nowMs: () => this.clock.now });
  #journal: Journal | undefined;
  #engine: OperationsController | undefined;
  #ids = 0;

  constructor(models: readonly Model[]) {
    this.#models = models;
  }

  /** Makes what a server runs, new for each, and returns its engine. */
  protected abstract begin(server: StartedServer): OperationsController;

  /** How much time passes in a pass of the engine. */
  protected get tickMs(): number {
    return 5000;
  }

  /** The server dies here and another starts on the same disk. Everything outside of it continues. */
  async restart(): Promise<void> {
    const { clock } = this;
    const registry = new Registry([operationsModel, ...this.#models]);
    const store = new MemoryStore(this.#disk);
    const next = (prefix: string): string => `${prefix}-${(this.#ids += 1)}`;
    const ids = { next, secret: () => next('secret') };
    const journal = new Journal({ store, registry, clock, ids });
    await journal.open();
    const before = await store.readLease('fleet');
    if (before !== undefined) await store.releaseLease('fleet', before.epoch);
    const lease = await store.acquireLease({ name: 'fleet', url: 'x', holder: next('server'), ttlMs: LEASE_MS });
    if (lease.kind !== 'held') throw new Error('the lease is taken');
    await journal.lead({ lease: 'fleet', epoch: lease.lease.epoch });
    const log = { info: () => undefined, warn: () => undefined, error: (facts: object) => raise(facts) };
    this.#journal = journal;
    this.#engine = this.begin({ journal, clock, ids, log });
    journal.onCommit(({ applied }) => {
      for (const { name, check } of registry.invariants)
        this.violations.push(...check(applied, journal.fleet).map((broken) => `${name}: ${broken}`));
    });
  }

  get journal(): Journal {
    return this.#journal as Journal;
  }

  get fleet(): Fleet {
    return this.journal.fleet;
  }

  get nowMs(): number {
    return this.clock.now;
  }

  /** A unique id for an operation. */
  operation(): OperationId {
    return `op-${(this.#ids += 1)}` as OperationId;
  }

  async commit<A>(decide: (fleet: FleetReader) => Decision<A>): Promise<A> {
    const outcome = await this.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'refused') throw new Error(`${outcome.refusal.code}: ${outcome.refusal.message}`);
    return outcome.answer;
  }

  /** Commits a step that was planned on an earlier state, as the engine does. */
  async commitPlanned(planned: PlannedStep): Promise<'recorded' | 'stale'> {
    if (planned.kind === 'act') throw new Error('an action is carried out, and not committed');
    return this.commit((fleet) =>
      planned.kind === 'decide' ? decideSteps(fleet, planned, this.nowMs) : recordStep(fleet, planned, this.nowMs),
    );
  }

  async refusal(decide: (fleet: FleetReader) => Decision<unknown>): Promise<Refusal> {
    const outcome = await this.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'accepted') throw new Error('it was not refused');
    return outcome.refusal;
  }

  async put(...changes: readonly Change[]): Promise<void> {
    await this.commit(() => accept(changes, null));
  }

  host(name: string): Host | undefined {
    return this.fleet.get(HOST, idOf(HOST, name))?.doc;
  }

  /** Changes a host's document, whatever its revision. */
  async change(name: string, edit: (host: Host) => Host): Promise<void> {
    await this.commit((fleet) => {
      const stored = fleet.get(HOST, idOf(HOST, name));
      if (stored === undefined) throw new Error(`there is no host ${name}`);
      return accept([put(HOST, stored.id, edit(stored.doc))], null);
    });
  }

  edit(name: string, facts: Partial<Host>): Promise<void> {
    return this.change(name, (doc) => ({ ...doc, ...facts }));
  }

  connect(name: string, state: Host['connection']['state']): Promise<void> {
    return this.edit(name, { connection: { state, sinceMs: this.nowMs } });
  }

  /** A pass of the engine. */
  async pass(): Promise<void> {
    this.clock.now += this.tickMs;
    await this.#engine?.pass();
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  }

  /** A pass of the engine, and all that is done beside it. */
  tick(): Promise<void> {
    return this.pass();
  }

  /** Until nothing more happens; what is still open waits for something that time alone does not bring. */
  async settle(): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      const before = this.fleet.revision;
      await this.tick();
      await this.tick();
      if (this.fleet.revision === before) return;
    }
    throw new Error(`it does not come to rest: ${JSON.stringify(this.open())}`);
  }

  item(operation: string, key: string): Item | undefined {
    return this.fleet.get(ITEM, idOf(ITEM, `${operation}.${key}`))?.doc;
  }

  operationDoc(id: string): Operation | undefined {
    return this.fleet.get(OPERATION, idOf(OPERATION, id))?.doc;
  }

  /** Open items: what is in progress, and what it waits for. */
  open(): string[] {
    return [...this.fleet.all(ITEM)]
      .filter(({ doc }) => isOpen(doc))
      .map(({ id, doc }) => `${id} ${doc.step} ${doc.state}${doc.reason === undefined ? '' : ` (${doc.reason.code})`}`);
  }
}
