// A control plane with managers, for tests: one or several servers on one memory disk, simulated machines that check epochs and note every call, and
// manager programs that can be killed, paused and cut off. Every invariant is checked after every commit.
import { hash } from 'node:crypto';
import { accessModel } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { idOf, put, Registry, SETTING, type Change, type FleetReader } from '../../fleet/index.ts';
import { hostsModel } from '../../hosts/index.ts';
import { accept, Journal, NotHolder, StoreUnavailable, type Decision, type Store } from '../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../journal/runtime.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { LinkDown, type Reply, type Session } from '../../link/index.ts';
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
import { actOnMachine, readMachine } from '../drivers/simulated/act.ts';
import { SimulatedMachines } from '../drivers/simulated/machine-driver.ts';
import { MACHINE, MACHINE_CALL, MACHINE_FAULT, type MachineCallNote } from '../drivers/simulated/model.ts';
import { baremetalModel } from '../fleet-model.ts';
import type { ManagerLink } from '../manager/ports.ts';
import { ManagerProgram } from '../manager/program.ts';
import { MANAGER, managerLease, NODE, type Manager, type Node } from '../model.ts';
import { node } from '../nodes-fixture.ts';
import { beginDeploy, finishDeploy, isRefused, type TransitionResult } from '../nodes/transitions.ts';
import { ManagersController } from './controller.ts';
import { managerDrainKind } from './drain.ts';
import { ManagerGateway, type GatewayReply, type ManagerCommand } from './gateway.ts';
import { ManagerLeases } from './leases.ts';
import { denyUnlessManages } from './right.ts';
import { findNodeOf } from './share.ts';

export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: (facts) => raise(facts) };

function raise(facts: object): never {
  throw new Error('a program logged an error', { cause: facts });
}

const MODELS = [
  { kinds: [SETTING, MACHINE, MACHINE_CALL, MACHINE_FAULT] },
  ...[sitesModel, alarmsModel, accessModel, operationsModel, hostsModel, baremetalModel],
];

/** Deploys a node, then switches its machine off and on: three steps that a manager carries out. */
export const workKind: OperationKind = {
  name: 'work',
  steps: ['deploy', 'power-off', 'power-on'],
  cancel: { kind: 'none', because: 'of the test' },
  retry: { kind: 'none', because: 'of the test' },
  plan: () => [],
  task: (_fleet, item) => ({ kind: item.doc.step, args: { image: 'debian' } }),
  handleTaskAnswer: (fleet, item, { outcome, problems }, nowMs): RecordStep => {
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

export class ManagedPlane {
  readonly clock = new VirtualClock();
  readonly violations: string[] = [];
  /** Managers that were declared lost, one after the other. */
  readonly lost: string[] = [];
  /** By address. Take one out to cut the links to it. */
  readonly reachable = new Map<string, PlaneServer>();
  readonly #disk = new MemoryDisk({ journalId: 'plane', nowMs: () => this.clock.nowMs() });
  readonly #kinds = new Map([workKind, managerDrainKind].map((kind) => [kind.name, kind]));
  #ids = 0;

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
    const journal = new Journal({ store, registry: new Registry(MODELS), clock, ids });
    journal.onCommit((commit, applied) => {
      for (const invariant of journal.fleet.registry.invariants)
        for (const broken of invariant.check(journal.fleet, applied))
          this.violations.push(`${commit.revision}: ${invariant.name}: ${broken}`);
      for (const { kind, after } of applied)
        if (kind === MANAGER.name) this.#noteLoss(after?.doc as Manager | undefined);
    });
    await journal.open();
    const kinds = this.#kinds;
    const leases = new ManagerLeases(clock);
    const gateway = new ManagerGateway({ journal, clock, kinds, leases });
    const wakeManagers = (): void => gateway.wakeAll();
    const lease = new LeaseController({ journal, clock, log: SILENT, holder: this.id(name), url: name });
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

  /** Somebody who never answers decides from now on, for a while. */
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
    await this.commit(...ids.map((id) => put(NODE, idOf(NODE, id), node({ instance: `of-${id}`, ...data, ...used }))));
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

  /** Starts a manager's program. `servers` are those that it dials. */
  startManager(name: string, servers: readonly string[] = [...this.reachable.keys()], host?: string): TestManager {
    return new TestManager(this, { name, servers, holder: this.id(name), ...(host !== undefined && { host }) });
  }
}

const hashText = (text: string): string => hash('sha256', text, 'hex');

/** The calls of a manager, without a network: a server passes on what only the one that decides can answer. */
export class PlaneLink implements ManagerLink {
  readonly #plane: ManagedPlane;

  constructor(plane: ManagedPlane) {
    this.#plane = plane;
  }

  #at({ server }: Session): PlaneServer {
    const found = this.#plane.reachable.get(server);
    if (found === undefined) throw new LinkDown(`server "${server}" is away`);
    return found;
  }

  async #atHolder<A>(to: Session, ask: (server: PlaneServer) => Promise<GatewayReply<A>>): Promise<Reply<A>> {
    this.#at(to);
    if (!this.#plane.hasHolder) throw new LinkDown('no server decides');
    return this.#reply(() => ask(this.#plane.holder));
  }

  async #reply<A>(ask: () => Promise<GatewayReply<A>>): Promise<Reply<A>> {
    try {
      const said = await ask();
      if (said.kind === 'answer') return said;
      return { kind: 'refused', code: said.refusal.code, message: said.refusal.message };
    } catch (error) {
      if (error instanceof NotHolder || error instanceof StoreUnavailable) throw new LinkDown(error.message);
      throw error;
    }
  }

  #commit<A>({ journal }: PlaneServer, by: string, command: ManagerCommand<A>): Promise<GatewayReply<A>> {
    return journal.submit({ by, ...command }).then((outcome) => {
      if (outcome.kind === 'accepted') return { kind: 'answer', answer: outcome.answer };
      return { kind: 'refused', refusal: outcome.refusal };
    });
  }

  #caller({ journal }: PlaneServer, manager: string) {
    const submit: Parameters<ManagerGateway['register']>[0]['submit'] = (request) =>
      journal.submit({ ...request, by: manager });
    return { manager, by: manager, submit };
  }

  register: ManagerLink['register'] = (to, manager, request) =>
    this.#atHolder(to, (server) => server.gateway.register(this.#caller(server, manager), request));
  renew: ManagerLink['renew'] = async (to, manager, request) => {
    const { gateway } = this.#at(to);
    return this.#reply(() => gateway.renew(manager, request));
  };
  release: ManagerLink['release'] = (to, manager, request) =>
    this.#atHolder(to, (server) => server.gateway.release(this.#caller(server, manager), request));
  acquire: ManagerLink['acquire'] = (to, manager, request) =>
    this.#atHolder(to, (server) =>
      this.#commit(server, manager, server.gateway.acquire({ manager, by: manager }, request)),
    );
  tasks: ManagerLink['tasks'] = (to, manager, query, signal) =>
    this.#atHolder(to, ({ gateway }) => gateway.tasks(manager, query, { hash: hashText, closing: signal }));
  answer: ManagerLink['answer'] = (to, manager, request) =>
    this.#atHolder(to, (server) => this.#commit(server, manager, server.gateway.answer(manager, request)));
  reserve: ManagerLink['reserve'] = async () => {
    throw new LinkDown('nothing is reserved here');
  };
}

interface TestManagerOptions {
  readonly name: string;
  readonly servers: readonly string[];
  readonly holder: string;
  readonly host?: string;
}

/** One process of a manager. */
export class TestManager {
  readonly name: string;
  readonly program: ManagerProgram;
  readonly holder: string;
  readonly #plane: ManagedPlane;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  /** What it waits for while it is paused; of a killed one nothing ever comes. */
  #gate: Promise<unknown> = Promise.resolve();
  #resume: () => void = () => undefined;
  #isCut = false;

  constructor(plane: ManagedPlane, options: TestManagerOptions) {
    this.#plane = plane;
    this.name = options.name;
    this.holder = options.holder;
    const link = this.#wrap(new PlaneLink(plane));
    const clock = {
      nowMs: () => plane.clock.nowMs(),
      sleep: (ms: number, signal?: AbortSignal) => this.#whenAwake(plane.clock.sleep(ms, signal)),
      turn: () => this.#whenAwake(plane.clock.turn()),
    };
    const machines = new SimulatedMachines({ clock, link: this.#machineLink() });
    const ports = { link, clock, random: () => 0.5, log: SILENT, drivers: new Map([['simulated' as const, machines]]) };
    const more = { version: '1.0.0', token: () => 'token' };
    this.program = new ManagerProgram(ports, { ...options, ...more });
    this.#ended = this.program.run(this.#stopping.signal);
  }

  async #whenAwake<T>(call: Promise<T>): Promise<T> {
    const settled = await call.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await this.#gate;
    if ('error' in settled) throw settled.error;
    return settled.value;
  }

  #wrap(link: PlaneLink): ManagerLink {
    const call =
      <R extends unknown[], A>(one: (...args: R) => Promise<A>) =>
      async (...args: R): Promise<A> => {
        await this.#gate;
        if (this.#isCut) throw new LinkDown('cut off');
        return this.#whenAwake(one(...args));
      };
    const { register, renew, release, acquire, tasks, answer, reserve } = link;
    return {
      ...{ register: call(register), renew: call(renew), release: call(release), acquire: call(acquire) },
      ...{ tasks: call(tasks), answer: call(answer), reserve: call(reserve) },
    };
  }

  #machineLink(): ConstructorParameters<typeof SimulatedMachines>[0]['link'] {
    const plane = this.#plane;
    return {
      act: async (call) => {
        await this.#gate;
        if (this.#isCut || !plane.hasHolder) return { kind: 'away' };
        const isLeaseLive = plane.holder.leases.isLive;
        const command = { call, note: plane.id('call'), nowMs: plane.clock.nowMs() };
        const deny: Parameters<typeof actOnMachine>[2] = (fleet, { manager, node: id, nodeEpoch, instance }) =>
          denyUnlessManages(fleet, { manager, node: id, nodeEpoch, instance, isLeaseLive });
        const said = await this.#whenAwake(plane.submit((fleet) => actOnMachine(fleet, command, deny)));
        if (said.kind === 'lost') return { kind: 'away' };
        if (said.kind === 'outcome') return said;
        return { kind: 'refused', code: said.refusal.code, message: said.refusal.message };
      },
      inspect: async (id) => {
        await this.#gate;
        if (this.#isCut || !plane.hasHolder) return undefined;
        return readMachine(plane.fleet, id, plane.clock.nowMs());
      },
    };
  }

  /** Nothing moves any more, as with SIGSTOP. */
  pause(): void {
    const gate = Promise.withResolvers<undefined>();
    this.#gate = gate.promise;
    this.#resume = () => gate.resolve(undefined);
  }

  resume(): void {
    this.#resume();
  }

  /** As with SIGKILL. */
  kill(): void {
    this.#gate = new Promise(() => undefined);
  }

  cut(): void {
    this.#isCut = true;
  }

  heal(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    let ended = false;
    void this.#ended.then(() => {
      ended = true;
    });
    await this.#plane.clock.until(`manager ${this.name} has stopped`, () => ended);
  }
}
