// A control plane with managers, for tests: one or several servers on one memory disk, simulated machines that check epochs and note every call, and
// manager programs that can be killed, paused and cut off. Every invariant is checked after every commit.
import { accessModel } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { idOf, put, Registry, SETTING, type Change, type FleetReader } from '../../fleet/index.ts';
import { hostsModel } from '../../hosts/index.ts';
import { accept, Journal, type Decision, type Store } from '../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../journal/runtime.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import {
  newOperation,
  OPERATION,
  operationsModel,
  record,
  type Log,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { LeaseController, OperationsController } from '../../operations/runtime.ts';
import { sitesModel } from '../../sites/index.ts';
import { MACHINE, MACHINE_CALL, MACHINE_FAULT, type MachineCallNote } from '../drivers/simulated/model.ts';
import { baremetalModel } from '../fleet-model.ts';
import { NODE_INVARIANTS } from '../nodes/invariants.ts';
import { MANAGER_INVARIANTS } from './invariants.ts';
import { MANAGER, managerLease, NODE, type Manager, type Node } from '../model.ts';
import { node, putReservationOf } from '../nodes-fixture.ts';
import { beginDeploy, finishDeploy, isRefused, type TransitionResult } from '../nodes/transitions.ts';
import { ManagersController } from './controller.ts';
import { managerDrainKind } from './drain.ts';
import { ManagerGateway } from './gateway.ts';
import { ManagerLeases } from './leases.ts';
import { managerRebalanceKind } from './rebalance.ts';
import { findNodeOf } from './share.ts';

export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: (facts) => raise(facts) };

function raise(facts: object): never {
  throw new Error('a program logged an error', { cause: facts });
}

const MODELS = [
  { kinds: [SETTING, MACHINE, MACHINE_CALL, MACHINE_FAULT] },
  ...[sitesModel, alarmsModel, accessModel, operationsModel, hostsModel],
  // Nodes are given to managers without reservations.
  { ...baremetalModel, invariants: [...NODE_INVARIANTS, ...MANAGER_INVARIANTS] },
];

/** Deploys a node, then switches its machine off and on: three steps that a manager carries out. */
const workKind: OperationKind = {
  name: 'work',
  steps: ['deploy', 'power-off', 'power-on'],
  cancel: { kind: 'none', because: 'of the test' },
  retry: { kind: 'none', because: 'of the test' },
  plan: () => [],
  task: (item) => ({ kind: item.doc.step, args: { image: 'debian' } }),
  handleTaskAnswer: (item, { outcome, problems }, { fleet, nowMs }): RecordStep => {
    if (outcome === 'failed')
      return record(item, {
        state: 'failed',
        step: item.doc.step,
        reason: { code: 'failed', problems: problems ?? [] },
      });
    return advanceWork(fleet, item, nowMs);
  },
};

function advanceWork(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { step, target } = item.doc;
  const found = findNodeOf(fleet, target);
  const next = workKind.steps[workKind.steps.indexOf(step) + 1];
  const changes =
    step === 'deploy' && found !== undefined ? [change(finishDeploy(found, { by: 'work', nowMs }), found.id)] : [];
  return next === undefined
    ? record(item, { state: 'done', step }, { changes })
    : record(item, { state: 'running', step: next }, { changes });
}

function change(result: TransitionResult, id: string): Change {
  if (isRefused(result)) throw new Error(result.message);
  return put(NODE, idOf(NODE, id), result);
}

export interface PlaneServer {
  readonly name: string;
  readonly journal: Journal;
  readonly gateway: ManagerGateway;
  readonly leases: ManagerLeases;
  readonly controller: ManagersController;
  readonly lease: LeaseController;
  stop(): Promise<void>;
}

interface PlaneProgram {
  readonly newRegistry: () => Registry;
  readonly kinds: ReadonlyMap<string, OperationKind>;
}

const OWN_PROGRAM: PlaneProgram = {
  newRegistry: () => new Registry(MODELS),
  kinds: new Map([workKind, managerDrainKind, managerRebalanceKind].map((kind) => [kind.name, kind])),
};

export class ManagedPlane {
  readonly #program: PlaneProgram;
  readonly clock = new VirtualClock();
  readonly violations: string[] = [];
  /** Managers that were declared lost, one after the other. */
  readonly lost: string[] = [];
  /** By address. Take one out to cut the links to it. */
  readonly reachable = new Map<string, PlaneServer>();
  readonly #disk = new MemoryDisk({ journalId: 'plane', nowMs: () => this.clock.nowMs() });
  #ids = 0;

  /** The models and kinds of these tests, or those of a whole program. */
  constructor(program: PlaneProgram = OWN_PROGRAM) {
    this.#program = program;
  }

  get kinds(): ReadonlyMap<string, OperationKind> {
    return this.#program.kinds;
  }

  #noteLoss(manager: Manager | undefined): void {
    if (manager?.state !== 'lost') return;
    this.lost.push(manager.name);
    const lease = this.#disk.state.leases.get(managerLease(manager.name));
    if (lease !== undefined && lease.expiresAtMs > this.clock.nowMs())
      this.violations.push(`manager ${manager.name} was declared lost before its lease ran out`);
  }

  id(prefix: string): string {
    return `${prefix}-${String((this.#ids += 1)).padStart(6, '0')}`;
  }

  /** Starts a server. Its address is its name. */
  async start(name: string): Promise<PlaneServer> {
    const { clock } = this;
    const ids = { next: (prefix: string) => this.id(prefix), secret: () => this.id('secret') };
    const store: Store = new MemoryStore(this.#disk);
    const journal = new Journal({ store, registry: this.#program.newRegistry(), clock, ids });
    journal.onCommit(({ commit, applied }) => {
      for (const invariant of journal.fleet.registry.invariants)
        for (const broken of invariant.check(applied, journal.fleet))
          this.violations.push(`${commit.revision}: ${invariant.name}: ${broken}`);
      for (const { kind, after } of applied)
        if (kind === MANAGER.name) this.#noteLoss(after?.doc as Manager | undefined);
    });
    await journal.open();
    const { kinds } = this;
    const leases = new ManagerLeases(clock);
    const gateway = new ManagerGateway({ journal, clock, kinds, leases });
    const wakeManagers = (): void => gateway.wakeAll();
    const lease = new LeaseController({ journal, clock, log: SILENT, holder: this.id(name), url: () => name });
    const controller = new ManagersController({ journal, clock, log: SILENT, leases, wakeManagers });
    const operations = new OperationsController({ journal, clock, kinds, drivers: new Map(), log: SILENT });
    const over = new AbortController();
    const running = [gateway, lease, controller, operations].map((one) => one.run(over.signal));
    running.push(journal.follow(over.signal));
    const server: PlaneServer = {
      ...{ name, journal, gateway, leases, controller, lease },
      stop: async () => {
        this.reachable.delete(name);
        over.abort();
        await this.clock.pass(0);
        await Promise.all(running);
        await store.close();
      },
    };
    this.reachable.set(name, server);
    return server;
  }

  /** A server that never answers decides from now on, for a while. */
  async seizeLease(ttlMs: number): Promise<void> {
    const store = new MemoryStore(this.#disk);
    const lease = await store.readLease('fleet');
    if (lease !== undefined) await store.releaseLease('fleet', lease.epoch);
    const answer = await store.acquireLease({ name: 'fleet', holder: 'ghost', url: 'ghost', ttlMs });
    if (answer.kind !== 'held') throw new Error('the lease is taken');
    await this.clock.until('no server decides', () => !this.hasHolder);
  }

  /** The server that decides. */
  get holder(): PlaneServer {
    const found = [...this.reachable.values()].find(({ journal }) => journal.fence !== undefined);
    if (found === undefined) throw new Error('no server decides');
    return found;
  }

  get hasHolder(): boolean {
    return [...this.reachable.values()].some(({ journal }) => journal.fence !== undefined);
  }

  get fleet(): FleetReader {
    return this.holder.journal.fleet;
  }

  async commit(...changes: readonly Change[]): Promise<void> {
    await this.submit(() => accept(changes, null));
  }

  async submit<A>(decide: (fleet: FleetReader) => Decision<A>): Promise<A> {
    const outcome = await this.holder.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'refused') throw new Error(`${outcome.refusal.code}: ${outcome.refusal.message}`);
    return outcome.answer;
  }

  /** Nodes that a manager has for instances of the same names, as if it had reserved them. */
  async give(manager: string, ids: readonly string[], facts: Partial<Node> = {}): Promise<void> {
    const { leaseEpoch } = this.manager(manager);
    const used = { state: 'active', power: 'on', epoch: 1, manager, managerEpoch: leaseEpoch, ...facts } as const;
    const data = used.state === 'reserved' ? {} : { dirty: true as const };
    const docs = ids.map((id) => [id, node({ instance: `of-${id}`, ...data, ...used })] as const);
    await this.commit(...docs.flatMap(([id, doc]) => [put(NODE, idOf(NODE, id), doc), putReservationOf(id, doc)]));
  }

  /** Has a node deployed, in the commit that begins it. */
  async work(id: string): Promise<string> {
    const operation = idOf(OPERATION, this.id('op'));
    const nowMs = this.clock.nowMs();
    await this.submit((fleet) => {
      const found = fleet.get(NODE, idOf(NODE, id));
      if (found === undefined) throw new Error(`there is no node ${id}`);
      const items = [{ key: id, target: { kind: NODE.name, id }, step: 'deploy', state: 'running' as const }];
      const began = newOperation({
        id: operation,
        kind: 'work',
        title: id,
        by: 'test',
        nowMs,
        deadlineMs: 10 ** 9,
        items,
      });
      return accept([change(beginDeploy(found, { by: 'test', nowMs }), id), ...began], null);
    });
    return operation;
  }

  manager(name: string): Manager {
    const found = this.fleet.get(MANAGER, idOf(MANAGER, name));
    if (found === undefined) throw new Error(`there is no manager ${name}`);
    return found.doc;
  }

  node(id: string): Node {
    const found = this.fleet.get(NODE, idOf(NODE, id));
    if (found === undefined) throw new Error(`there is no node ${id}`);
    return found.doc;
  }

  nodesOf(manager: string): string[] {
    return [...this.fleet.all(NODE)].filter(({ doc }) => doc.manager === manager).map(({ id }) => id);
  }

  calls(): MachineCallNote[] {
    return [...this.fleet.all(MACHINE_CALL)].map(({ doc }) => doc);
  }
}
