// A small control plane for tests of scale-in: a real journal on a memory disk with every invariant checked after every commit,
// the real engine, and tenants of two kinds. Time passes when a test says so.
import { createHash } from 'node:crypto';
import { accessModel } from '../access/index.ts';
import { alarmsModel } from '../alarms/index.ts';
import {
  idOf,
  put,
  Registry,
  SETTING,
  type Change,
  type Fleet,
  type FleetReader,
  type Refusal,
} from '../fleet/index.ts';
import { accept, Journal, type Clock, type Decision } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  operationsModel,
  recordStep,
  taskId,
  type Driver,
  type Item,
  type OperationId,
  type OperationKind,
} from '../operations/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { findHost } from './decide.ts';
import { hostJoin } from './join.ts';
import { HOST, hostsModel, type Host, type HostState } from './model.ts';
import { PENDING_CLEAN_UP, peerCleanUp } from './pending-clean-up.ts';
import { hostChange } from './preview-fixture.ts';
import type { ScaleInAnswer } from './scale-in-answer.ts';
import { ScaleInController } from './scale-in-controller.ts';
import { scaleInEndKind } from './scale-in-end.ts';
import { scaleInModel } from './scale-in-model.ts';
import { scaleInKind } from './scale-in-operation.ts';
import { scaleInRecoverKind } from './scale-in-recover.ts';
import {
  endScaleIn,
  recoverHosts,
  startScaleIn,
  type EndScaleIn,
  type RecoverHosts,
  type StartScaleIn,
} from './scale-in.ts';
import { SCALE_IN } from './scale-in-settings.ts';
import { TenantDriver, tenantsOf, type Holding } from './tenants-fixture.ts';

export const holding: Holding = {};
export const guests = tenantsOf('guest');
export const posts = tenantsOf('post', holding);
export const EVACUATORS = [posts.evacuator, guests.evacuator];
export const MODELS = [
  { kinds: [SETTING] },
  accessModel,
  sitesModel,
  alarmsModel,
  hostsModel,
  scaleInModel(EVACUATORS),
  guests.model,
  posts.model,
];

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Everybody is everybody's peer. */
const peersOf = (fleet: FleetReader, host: string): string[] =>
  [...fleet.all(HOST)].map(({ id }): string => id).filter((id) => id !== host);

export const KINDS: ReadonlyMap<string, OperationKind> = new Map(
  [
    scaleInKind(EVACUATORS),
    scaleInEndKind({ evacuators: EVACUATORS, peersOf }),
    scaleInRecoverKind(EVACUATORS),
    peerCleanUp,
    hostJoin,
    guests.operation,
    posts.operation,
  ].map((kind) => [kind.name, kind]),
);

/** Hosts that have not applied their view; the others have. */
class ViewsDriver implements Driver {
  readonly behind = new Set<string>();
  readonly asked: string[][] = [];

  async carryOut({ args }: Parameters<Driver['carryOut']>[0]): ReturnType<Driver['carryOut']> {
    const hosts = args['hosts'] as string[];
    this.asked.push(hosts);
    const behind = hosts.filter((host) => this.behind.has(host));
    if (behind.length === 0) return { kind: 'applied' };
    return { kind: 'failed', reason: { code: 'hosts-behind', hosts: behind }, retryable: true };
  }
}

const SITE_DOC = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });

export function hostsNamed(...names: readonly string[]): Change[] {
  return [SITE_DOC, ...names.map((name) => hostChange({ name, credential: `t-${name}` }))];
}

/** Documents of hosts that have come to a state as they would have. */
export function hostIn(name: string, state: HostState, facts: Partial<Host> = {}): Change {
  const isLeaving = state !== 'active' && state !== 'joining' && state !== 'removed';
  const leaving = { operation: 'op-before', drain: true, by: 'ann', atMs: 0 };
  return hostChange({ name, state, credential: `t-${name}`, ...(isLeaving && { leaving }), ...facts });
}

const PAUSE_MAX_MS = 20_000;

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
const LEASE_MS = 10 ** 13;
const TICKS_MAX = 200;
const HOUR_MS = 3_600_000;

function raise(facts: object): never {
  throw new Error('the engine logged an error', { cause: facts });
}

type Asked = (fleet: FleetReader) => Decision<ScaleInAnswer>;

export class World {
  readonly clock = new TestClock();
  readonly driver = new TenantDriver();
  readonly views = new ViewsDriver();
  readonly violations: string[] = [];
  /** What hosts' agents answered to a task `leave`. */
  readonly left: string[] = [];
  /** Hosts whose agents fail at whatever they are asked. */
  readonly unable = new Set<string>();
  readonly #disk = new MemoryDisk({ journalId: 'test', nowMs: () => this.clock.now });
  #journal: Journal | undefined;
  #engine: OperationsController | undefined;
  #keeper: ScaleInController | undefined;
  #ids = 0;

  static async of(...changes: readonly Change[]): Promise<World> {
    const world = new World();
    delete holding.reason;
    await world.restart();
    await world.commit(() => accept(changes, null));
    return world;
  }

  /** The server dies here and another comes up on the same disk. */
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
    const log = { info: () => undefined, warn: () => undefined, error: (facts: object) => raise(facts) };
    const drivers = new Map<string, Driver>([
      ['tenants', this.driver],
      ['views', this.views],
    ]);
    this.#journal = journal;
    this.#engine = new OperationsController({ journal, clock, kinds: KINDS, drivers, log });
    this.#keeper = new ScaleInController({ journal, clock, log, evacuators: EVACUATORS, ids: { next } });
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

  #asking(): { operation: OperationId; by: string; nowMs: number } {
    return { operation: this.operation(), by: 'ann', nowMs: this.nowMs };
  }

  starting(hosts: readonly string[], facts: Partial<StartScaleIn> = {}): Asked {
    const command = { hosts, drain: true, deadlineMs: 4 * HOUR_MS, ...this.#asking(), ...facts };
    return (fleet: FleetReader) => startScaleIn(fleet, EVACUATORS, command);
  }

  ending(hosts: readonly string[], facts: Partial<EndScaleIn> = {}): Asked {
    const command = { hosts, disconnect: false, ...this.#asking(), ...facts };
    return (fleet: FleetReader) => endScaleIn(fleet, EVACUATORS, command);
  }

  recovering(hosts: readonly string[], facts: Partial<RecoverHosts> = {}): Asked {
    const command = { hosts, failBack: false, ...this.#asking(), ...facts };
    return (fleet: FleetReader) => recoverHosts(fleet, EVACUATORS, command);
  }

  host(name: string): Host | undefined {
    return findHost(this.fleet, name)?.doc;
  }

  async edit(name: string, facts: Partial<Host>): Promise<void> {
    await this.commit((fleet) => {
      const doc = findHost(fleet, name)?.doc as Host;
      return accept([put(HOST, idOf(HOST, name), { ...doc, ...facts })], null);
    });
  }

  connect(name: string, state: Host['connection']['state']): Promise<void> {
    return this.edit(name, { connection: { state, sinceMs: this.nowMs } });
  }

  async budget(facts: Partial<(typeof SCALE_IN)['fallback']>): Promise<void> {
    const value = { ...SCALE_IN.fallback, ...facts };
    const doc = { value, changedBy: 'test', changedAtMs: 0 };
    await this.commit(() => accept([put(SETTING, idOf(SETTING, SCALE_IN.name), doc)], null));
  }

  /** A pass of the engine, then the agents, then the look after drained hosts. */
  async tick(): Promise<void> {
    this.clock.now += TICK_MS;
    await this.#engine?.pass();
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    await this.#agents();
    await this.#keeper?.look();
  }

  /** Hosts that are heard answer what they are asked. */
  async #agents(): Promise<void> {
    for (const { id, doc } of [...this.fleet.all(ITEM)]) {
      const kind = KINDS.get(this.fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.kind ?? '');
      const item = this.fleet.get(ITEM, id);
      if (item === undefined || !isOpen(item.doc) || doc.host === undefined) continue;
      if (this.host(doc.host)?.connection.state !== 'up') continue;
      const task = kind?.task?.(this.fleet, item);
      if (task === undefined) continue;
      this.left.push(`${task.kind} ${doc.host}`);
      const outcome = this.unable.has(doc.host) ? 'failed' : 'done';
      await this.commit((fleet) => {
        const step = kind?.answered?.(fleet, item, { task: taskId(item), outcome }, this.nowMs);
        return step === undefined ? accept([], 'stale') : recordStep(fleet, step, this.nowMs);
      });
    }
  }

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

  operationState(id: string | undefined): string | undefined {
    return this.fleet.get(OPERATION, idOf(OPERATION, id ?? ''))?.doc.state;
  }

  states(...names: readonly string[]): string {
    return names.map((name) => `${name} ${this.host(name)?.state ?? 'gone'}`).join(', ');
  }

  /** What peers still have to clean, by its id. */
  pending(): string[] {
    return [...this.fleet.all(PENDING_CLEAN_UP)].map(({ id }): string => id);
  }

  /** Open items: what is under way, and what it waits for. */
  open(): string[] {
    return [...this.fleet.all(ITEM)]
      .filter(({ doc }) => isOpen(doc))
      .map(({ id, doc }) => `${id} ${doc.step} ${doc.state}${doc.reason === undefined ? '' : ` (${doc.reason.code})`}`);
  }
}
