// A small control plane for tests of instances: a real journal on a memory disk with every invariant checked after every
// commit, the real engine, a simulated network, and machines that answer tasks. Time passes when a test says so.
import { idOf, put, Registry, type Change, type Fleet, type FleetReader, type Refusal } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { accept, Journal, type Clock, type Decision } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import {
  CLAIM,
  claimId,
  orderPools,
  PORT,
  recordNetworkEvents,
  type Claim,
  type NetworkNews,
  type Port,
} from '../network/index.ts';
import { NetworkDriver, SimulatedNetwork } from '../network/runtime.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  operationsModel,
  type Driver,
  type Item,
  type Operation,
  type OperationId,
} from '../operations/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { createInstances, type CreateInstances } from './create.ts';
import { Machines } from './machines-fixture.ts';
import { INSTANCE, type Instance } from './model.ts';
import { asked, fixtureF, KINDS, MODELS } from './reference-fixture.ts';

/** A longer sleep is patience with somebody else: it outlasts any test. */
const PAUSE_MAX_MS = 20_000;

/** Time passes when the test says so, but for sleeps, which are over at once unless they outlast any test. */
class TestClock implements Clock {
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

const TICK_MS = 5000;
/** Longer than any test: nobody renews it. */
const LEASE_MS = 10 ** 12;
/** Far more ticks than any operation needs. */
const TICKS_MAX = 100;

function raise(facts: object): never {
  throw new Error('the engine logged an error', { cause: facts });
}

export class World {
  readonly clock = new TestClock();
  readonly network = new SimulatedNetwork({
    clock: this.clock,
    emit: (news) => this.#news.push(news),
    poolsOf: (pool) => orderPools(this.fleet, pool),
  });
  readonly machines = new Machines(this.network.hostSide);
  readonly violations: string[] = [];
  readonly #news: NetworkNews[] = [];
  readonly #disk = new MemoryDisk({ journalId: 'test', nowMs: () => this.clock.now });
  #journal: Journal | undefined;
  #engine: OperationsController | undefined;
  #ids = 0;

  /** A server on these documents. */
  static async of(changes: readonly Change[] = fixtureF()): Promise<World> {
    const world = new World();
    await world.restart();
    await world.commit(() => accept(changes, null));
    return world;
  }

  /** The server dies here and another comes up on the same disk. Machines and networks go on. */
  async restart(): Promise<void> {
    const { clock } = this;
    const registry = new Registry([operationsModel, ...MODELS]);
    const store = new MemoryStore(this.#disk);
    const next = (prefix: string): string => `${prefix}-${(this.#ids += 1)}`;
    const journal = new Journal({ store, registry, clock, ids: { next, secret: () => next('secret') } });
    await journal.open();
    const before = await store.readLease('fleet');
    if (before !== undefined) await store.releaseLease('fleet', before.epoch);
    const lease = await store.acquireLease({ name: 'fleet', url: 'x', holder: next('server'), ttlMs: LEASE_MS });
    if (lease.kind !== 'held') throw new Error('the lease is taken');
    await journal.lead({ lease: 'fleet', epoch: lease.lease.epoch });
    journal.onCommit((_commit, applied) => {
      for (const { name, check } of registry.invariants)
        this.violations.push(...check(journal.fleet, applied).map((broken) => `${name}: ${broken}`));
    });
    const backEnds = new Map([['simulated', this.network] as const]);
    const drivers = new Map<string, Driver>([
      ['network', new NetworkDriver({ clock, backEnds, hasCredentials: () => true })],
      ['views', { carryOut: async () => ({ kind: 'applied' }) }],
    ]);
    const log = { info: () => undefined, warn: () => undefined, error: (facts: object) => raise(facts) };
    this.#journal = journal;
    this.#engine = new OperationsController({ journal, clock, kinds: KINDS, drivers, log });
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

  /** An id for an operation that no other has. */
  operation(): OperationId {
    return `op-${(this.#ids += 1)}` as OperationId;
  }

  async commit<A>(decide: (fleet: FleetReader) => Decision<A>): Promise<A> {
    const outcome = await this.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'refused') throw new Error(`${outcome.refusal.code}: ${outcome.refusal.message}`);
    return outcome.answer;
  }

  async refusal(decide: (fleet: FleetReader) => Decision<unknown>): Promise<Refusal> {
    const outcome = await this.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'accepted') throw new Error('it was not refused');
    return outcome.refusal;
  }

  /** Asks for instances and answers the operation. */
  async create(facts: Partial<CreateInstances> = {}): Promise<OperationId> {
    const command = asked(this.operation(), this.nowMs, facts);
    return (await this.commit((fleet) => createInstances(fleet, command))).operation;
  }

  async edit(name: string, facts: Partial<Host>): Promise<void> {
    await this.commit((fleet) => {
      const doc = hostDoc(fleet, name);
      return accept([put(HOST, idOf(HOST, name), { ...doc, ...facts })], null);
    });
  }

  forceDown(name: string): Promise<void> {
    return this.edit(name, { forcedDown: { reason: 'test', by: 'test', atMs: this.nowMs } });
  }

  goDown(name: string): Promise<void> {
    return this.edit(name, { connection: { state: 'down', sinceMs: this.nowMs } });
  }

  /** Up again, and neither forced down nor in maintenance. */
  async comeBack(name: string): Promise<void> {
    await this.commit((fleet) => {
      const { forcedDown: _, disabled: __, ...doc } = hostDoc(fleet, name);
      const connection = { state: 'up' as const, sinceMs: this.nowMs };
      return accept([put(HOST, idOf(HOST, name), { ...doc, connection })], null);
    });
  }

  /** A pass of the engine. */
  async pass(): Promise<void> {
    this.clock.now += TICK_MS;
    await this.#engine?.pass();
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  }

  /** One tick: the engine, the network's events, then the machines. */
  async tick(): Promise<void> {
    await this.pass();
    const events = this.#news.splice(0);
    if (events.length > 0)
      await this.commit((fleet) => recordNetworkEvents(fleet, { events, nowMs: this.nowMs }) as Decision<unknown>);
    await this.machines.answer(this.journal, KINDS, this.nowMs);
  }

  /** Until nothing more happens; what is left open waits for something that time alone does not bring. */
  async settle(): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      const before = this.fleet.revision;
      await this.tick();
      await this.tick();
      if (this.fleet.revision === before) return;
    }
    throw new Error(`it does not come to rest: ${JSON.stringify(this.open())}`);
  }

  /** Until the item of an instance in this operation comes to a step. */
  async until(operation: string, instance: string, step: string): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      if (this.item(operation, instance)?.step === step) return;
      await this.pass();
      if (this.item(operation, instance)?.step === step) return;
      await this.machines.answer(this.journal, KINDS, this.nowMs);
    }
    throw new Error(`${instance} does not come to "${step}": ${JSON.stringify(this.item(operation, instance))}`);
  }

  instance(id: string): Instance | undefined {
    return this.fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  }

  port(id: string): Port | undefined {
    return this.fleet.get(PORT, idOf(PORT, id))?.doc;
  }

  /** The ports of an instance, in the order of its NICs. */
  ports(id: string): Port[] {
    return (this.instance(id)?.nics ?? []).flatMap(({ port }) => this.port(port) ?? []);
  }

  addresses(id: string): string[] {
    return this.ports(id).flatMap((port) => port.addresses.map(({ ip }) => ip));
  }

  claim(id: string, role: Claim['role'] = 'home'): Claim | undefined {
    return this.fleet.get(CLAIM, claimId(id, role))?.doc;
  }

  item(operation: string, instance: string): Item | undefined {
    return this.fleet.get(ITEM, idOf(ITEM, `${operation}.${instance}`))?.doc;
  }

  operationDoc(id: string): Operation | undefined {
    return this.fleet.get(OPERATION, idOf(OPERATION, id))?.doc;
  }

  /** Open items: what is under way, and what it waits for. */
  open(): string[] {
    return [...this.fleet.all(ITEM)]
      .filter(({ doc }) => isOpen(doc))
      .map(({ id, doc }) => `${id} ${doc.step} ${doc.state}${doc.reason === undefined ? '' : ` (${doc.reason.code})`}`);
  }
}

function hostDoc(fleet: FleetReader, name: string): Host {
  const stored = fleet.get(HOST, idOf(HOST, name));
  if (stored === undefined) throw new Error(`there is no host ${name}`);
  return stored.doc;
}
