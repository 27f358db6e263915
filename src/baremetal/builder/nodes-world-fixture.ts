// A small control plane for tests of instances on nodes: managers that carry out what they are given in one go, machines that are simulated, and every
// invariant checked after every commit.
import { ALARM } from '../../alarms/index.ts';
import { idOf, put, SETTING, type Change, type Refusal } from '../../fleet/index.ts';
import { TestWorld, type StartedServer } from '../../hosts/world-fixture.ts';
import {
  Builders,
  createInstances,
  deleteInstances,
  hostBuilder,
  INSTANCE,
  previewInstances,
  type CreateInstances,
  type Flavor,
  type Instance,
} from '../../instances/index.ts';
import { createCommand, fixtureF, flavor, KINDS, MODELS } from '../../instances/reference-fixture.ts';
import { PORT, type Port } from '../../network/index.ts';
import { NetworkDriver, SimulatedNetwork, simulatedBackEnds } from '../../network/runtime.ts';
import type { Outcome } from '../../journal/index.ts';
import {
  cancelOperation,
  retryOperation,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../../operations/index.ts';
import { OperationsController } from '../../operations/runtime.ts';
import { readMachine } from '../drivers/simulated/act.ts';
import { armFault, type ArmFault } from '../drivers/simulated/faults.ts';
import { SimulatedInventory } from '../drivers/simulated/inventory-driver.ts';
import { MACHINE_CALL, simulatedModel, type MachineCallNote } from '../drivers/simulated/model.ts';
import { SIMULATED_INVENTORY, type SimulatedInventorySettings } from '../drivers/simulated/settings.ts';
import { loseManager, registerManager } from '../managers/decide.ts';
import type { ManagerTask } from '../managers/messages.ts';
import { listTasks } from '../managers/task-list.ts';
import type { ReservationBody } from '../matching/request.ts';
import { MANAGER, NODE, RESERVATION, type Manager, type Node, type Reservation } from '../model.ts';
import { putNode } from '../nodes-fixture.ts';
import { baremetalModel } from '../fleet-model.ts';
import { CLAIMS_DRIVER } from '../reservations/claim-order.ts';
import { reservationClaim } from '../reservations/claim-operation.ts';
import { ClaimsDriver } from '../reservations/claims-driver.ts';
import { reservationRelease } from '../reservations/release-operation.ts';
import { releaseReservation } from '../reservations/release.ts';
import type { ReserveAnswer } from '../reservations/reserve.ts';
import { baremetalBuild } from './build-operation.ts';
import { baremetalDelete, baremetalRelease } from './delete-operation.ts';
import { nodeBuilder } from './node-builder.ts';
import { baremetalPower, switchPower } from './power-operation.ts';
import { WorkingManagers, type TestTaskResult } from './working-managers-fixture.ts';

export const BUILDERS = new Builders([nodeBuilder, hostBuilder]);

export const NODE_KINDS: ReadonlyMap<string, OperationKind> = new Map([
  ...KINDS,
  ...[baremetalBuild, baremetalDelete, baremetalRelease, baremetalPower, reservationClaim, reservationRelease].map(
    (kind) => [kind.name, kind] as const,
  ),
]);

export const NODE_MODELS = [...MODELS, baremetalModel, simulatedModel];

/** A minute and a half. */
const QUIET_TICKS = 18;
const REVISIONS_MAX = 3000;

const CHANGED = { changedBy: 'test', changedAtMs: 0 };

/** Two racks of nodes, wired to the two segments of network `n`; the flavor `metal`. */
export function fixtureN(racks: readonly string[] = ['seg0', 'seg0', 'seg2']): Change[] {
  const nodes = racks.map((rack, nth) =>
    putNode(`n${nth + 1}`, { physicalNetworks: [`phys-${rack}`], site: 'central' }),
  );
  const value = { ...SIMULATED_INVENTORY.defaultValue, deployMs: 0, cleanMs: 0, powerMs: 0 };
  return [...fixtureF(), metal('metal'), ...nodes, put(SETTING, SIMULATED_INVENTORY.name, { value, ...CHANGED })];
}

export function metal(name: string, bareMetal: Flavor['bareMetal'] = {}): Change {
  return flavor(name, { vcpus: 4, memoryMiB: 1024, diskGiB: 10, bareMetal });
}

export class NodesWorld extends TestWorld {
  readonly managers = new WorkingManagers(NODE_KINDS);
  #leaseEpoch = 0;
  #notes = 0;

  /** Managers whose process runs. */
  get running(): Set<string> {
    return this.managers.running;
  }

  static async of(changes: readonly Change[] = fixtureN(), managers: readonly string[] = ['m1']): Promise<NodesWorld> {
    const world = new NodesWorld(NODE_MODELS);
    await world.restart();
    await world.put(...changes);
    for (const name of managers) await world.register(name);
    return world;
  }

  protected override begin({ journal, clock, ids, log }: StartedServer): OperationsController {
    const inventory = new SimulatedInventory({ journal, clock, ids });
    // An inventory that answers at once is not too late: sleeps of tests are over at once.
    const patient = { ...clock, nowMs: () => clock.nowMs(), sleep: () => Promise.withResolvers<never>().promise };
    const network = new SimulatedNetwork({ clock, emit: () => undefined });
    const drivers = new Map<string, Driver>([
      ['network', new NetworkDriver({ clock, backEnds: simulatedBackEnds(network), hasCredentials: () => true })],
      [CLAIMS_DRIVER, new ClaimsDriver({ clock: patient, inventories: new Map([['simulated', inventory]]) })],
    ]);
    return new OperationsController({ journal, clock, kinds: NODE_KINDS, drivers, log });
  }

  async register(name: string): Promise<void> {
    this.#leaseEpoch += 1;
    this.running.add(name);
    const tenure = { manager: name, holder: `${name}-${this.#leaseEpoch}`, leaseEpoch: this.#leaseEpoch };
    await this.commit((fleet) => registerManager(fleet, { ...tenure, version: '1', by: name, nowMs: this.nowMs }));
  }

  /** Its process is gone, and its lease ran out. */
  async lose(name: string): Promise<void> {
    this.running.delete(name);
    const { leaseEpoch } = this.manager(name);
    const command = { manager: name, leaseEpoch, by: 'test', nowMs: this.nowMs };
    await this.commit((fleet) => ({ kind: 'accept', changes: loseManager(fleet, command), answer: null }));
  }

  async drain(name: string): Promise<void> {
    const doc = this.manager(name);
    const draining = { by: 'test', atMs: this.nowMs };
    await this.put(put(MANAGER, idOf(MANAGER, name), { ...doc, state: 'draining', draining }));
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

  instance(id: string): Instance | undefined {
    return this.fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  }

  reservation(id: string): Reservation | undefined {
    return this.fleet.get(RESERVATION, idOf(RESERVATION, id))?.doc;
  }

  port(id: string): Port | undefined {
    return this.fleet.get(PORT, idOf(PORT, id))?.doc;
  }

  nodesOf(manager: string): string[] {
    return [...this.fleet.all(NODE)].filter(({ doc }) => doc.manager === manager).map(({ id }) => id);
  }

  alarms(): string[] {
    return [...this.fleet.all(ALARM)].map(({ doc }) => `${doc.reason.code}: ${String(doc.reason['node'])}`);
  }

  async cancel(id: string): Promise<void> {
    await this.commit((fleet) => cancelOperation(fleet, { id, kinds: NODE_KINDS, nowMs: this.nowMs }));
  }

  calls(): MachineCallNote[] {
    const notes = [...this.fleet.all(MACHINE_CALL)];
    return notes.sort((one, other) => one.revision - other.revision).map(({ doc }) => doc);
  }

  /** `deploy n1 for db by m1` */
  callsInWords(): string[] {
    return this.calls().map(({ op, node, instance, manager, accepted }) => {
      const who = manager === undefined ? '' : ` by ${manager}`;
      return `${op} ${node} for ${instance}${who}${accepted ? '' : ': refused'}`;
    });
  }

  async set(settings: Partial<SimulatedInventorySettings>): Promise<void> {
    const value = { ...SIMULATED_INVENTORY.defaultValue, deployMs: 0, cleanMs: 0, powerMs: 0, ...settings };
    await this.put(put(SETTING, SIMULATED_INVENTORY.name, { value, ...CHANGED }));
  }

  async arm(fault: Omit<ArmFault, 'id' | 'by' | 'nowMs'>): Promise<void> {
    const command = { ...fault, id: `fault-${(this.#notes += 1)}`, by: 'test', nowMs: this.nowMs };
    await this.commit((fleet) => armFault(fleet, command));
  }

  async create(facts: Partial<CreateInstances> = {}): Promise<OperationId> {
    const command = createCommand(this.operation(), this.nowMs, { flavor: 'metal', name: 'db', ...facts });
    return (await this.commit((fleet) => createInstances(fleet, command, BUILDERS))).operation;
  }

  refuse(facts: Partial<CreateInstances>): Promise<Refusal> {
    const command = createCommand(this.operation(), this.nowMs, { flavor: 'metal', name: 'db', ...facts });
    return this.refusal((fleet) => createInstances(fleet, command, BUILDERS));
  }

  async preview(facts: Partial<CreateInstances>): Promise<ReturnType<typeof previewInstances>> {
    const command = createCommand(this.operation(), this.nowMs, { flavor: 'metal', name: 'db', ...facts });
    return previewInstances(this.fleet, command, BUILDERS);
  }

  async retry(id: string): Promise<void> {
    await this.commit((fleet) => retryOperation(fleet, { id, kinds: NODE_KINDS, nowMs: this.nowMs }));
  }

  /** What the machine of a node is doing. */
  machine(node: string): string {
    return readMachine(this.fleet, node, this.nowMs).state;
  }

  async delete(id: string): Promise<OperationId> {
    const command = { ids: [id], operation: this.operation(), by: 'ann', nowMs: this.nowMs, deadlineMs: 10 ** 8 };
    return (await this.commit((fleet) => deleteInstances(fleet, command, BUILDERS))).operation;
  }

  async power(id: string, power: 'on' | 'off' | 'reboot'): Promise<OperationId> {
    const command = { id, power, operation: this.operation(), by: 'ann', nowMs: this.nowMs, deadlineMs: 10 ** 7 };
    return (await this.commit((fleet) => switchPower(fleet, command))).operation;
  }

  /** The engine, then every manager whose process runs. */
  override async tick(): Promise<void> {
    await this.pass();
    for (const name of this.running) await this.manage(name);
  }

  /** Machines are at work for a while without a commit, and what failed is tried again after a pause. */
  override async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TICKS; quiet += 1) {
      const before = this.fleet.revision;
      await this.tick();
      if (this.fleet.revision !== before) quiet = -1;
      if (this.fleet.revision > REVISIONS_MAX) throw new Error(`it does not come to rest: ${this.open().join('; ')}`);
    }
  }

  manage(name: string): Promise<void> {
    return this.managers.work(this.journal, name, this.nowMs);
  }

  /** Also late ones, which tests keep back. */
  answer(name: string, task: ManagerTask, result: TestTaskResult): Promise<void> {
    return this.managers.answer(this.journal, { name, task, nowMs: this.nowMs }, result);
  }

  tasks(manager: string): ManagerTask[] {
    return listTasks(this.fleet, NODE_KINDS, manager);
  }

  /** The task of a kind, as a manager that is slow has it. */
  task(manager: string, kind: string): ManagerTask {
    const found = this.tasks(manager).find((task) => task.kind === kind);
    if (found === undefined) throw new Error(`${manager} has no task ${kind}`);
    return found;
  }

  /** A request for a node, as the endpoint decides it. */
  requestByHand(body: ReservationBody, project?: string): Promise<Outcome<ReserveAnswer>> {
    const command = { name: 'eve', body, nowMs: this.nowMs, ...(project !== undefined && { project }) };
    return this.managers.reserve(this.journal, command);
  }

  async releaseByHand(instance: string): Promise<void> {
    const command = { instance, operation: this.operation(), by: 'eve', nowMs: this.nowMs };
    await this.commit((fleet) =>
      releaseReservation(fleet, fleet.get(RESERVATION, idOf(RESERVATION, instance)), command),
    );
  }

  /** The request of a reserve task, sent by its manager; its answer to the task is not. */
  reserveFor(task: ManagerTask, manager: string): Promise<Outcome<ReserveAnswer>> {
    return this.managers.requestNode(this.journal, { name: manager, task, nowMs: this.nowMs });
  }
}
