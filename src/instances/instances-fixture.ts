// A small control plane for tests of instances, with a simulated network and machines that answer tasks.
import { ALARM, alarmId, type Alarm } from '../alarms/index.ts';
import { idOf, type Change } from '../fleet/index.ts';
import { TestWorld, TICKS_MAX, type StartedServer } from '../hosts/world-fixture.ts';
import type { Decision } from '../journal/index.ts';
import {
  CLAIM,
  claimId,
  composeOrderPools,
  PORT,
  recordNetworkEvents,
  type Claim,
  type NetworkEventReport,
  type Port,
} from '../network/index.ts';
import { NetworkDriver, simulatedBackEnds, SimulatedNetwork } from '../network/runtime.ts';
import type { Driver, Item, OperationId } from '../operations/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { createInstances, type CreateInstances } from './build/create.ts';
import { degradedPorts, openReplugItem } from './degraded/degraded.ts';
import { DegradedController } from './degraded/controller.ts';
import { Machines } from './machines-fixture.ts';
import { INSTANCE, type Instance } from './model.ts';
import { createCommand, fixtureF, KINDS, MODELS } from './reference-fixture.ts';

export class InstancesWorld extends TestWorld {
  readonly network = new SimulatedNetwork({
    clock: this.clock,
    emit: (news) => this.#eventReports.push(news),
    poolsOf: (pool) => composeOrderPools(this.fleet, pool),
  });
  /** Serves `simulated-single`, where a test needs two back ends and not two names of one. */
  readonly second = new SimulatedNetwork({ clock: this.clock, emit: (news) => this.#eventReports.push(news) });
  readonly machines = new Machines(this.network.hostNetwork);
  readonly #eventReports: NetworkEventReport[] = [];
  #degraded: DegradedController | undefined;

  #backEnds: 'one' | 'two' = 'one';

  /** A server on these documents. */
  static async of(changes: readonly Change[] = fixtureF(), backEnds: 'one' | 'two' = 'one'): Promise<InstancesWorld> {
    const world = new InstancesWorld(MODELS);
    world.#backEnds = backEnds;
    await world.restart();
    await world.put(...changes);
    return world;
  }

  protected override begin({ journal, clock, log }: StartedServer): OperationsController {
    const backEnds = new Map(simulatedBackEnds(this.network));
    if (this.#backEnds === 'two') backEnds.set('simulated-single', this.second);
    const drivers = new Map<string, Driver>([
      ['network', new NetworkDriver({ clock, backEnds, hasCredentials: () => true })],
      ['views', { carryOut: async () => ({ kind: 'applied' }) }],
    ]);
    const degraded = new DegradedController({ journal, clock, log });
    this.#degraded = degraded;
    journal.onCommit(({ applied }) => degraded.wake(applied));
    return new OperationsController({ journal, clock, kinds: KINDS, drivers, log });
  }

  /** Requests instances and returns the operation. */
  async create(facts: Partial<CreateInstances> = {}): Promise<OperationId> {
    const command = createCommand(this.operation(), this.nowMs, facts);
    return (await this.commit((fleet) => createInstances(fleet, command))).operation;
  }

  forceDown(name: string): Promise<void> {
    return this.edit(name, { forcedDown: { reason: 'test', by: 'test', atMs: this.nowMs } });
  }

  disconnectHost(name: string): Promise<void> {
    return this.connect(name, 'down');
  }

  /** Up again, and neither forced down nor in maintenance. */
  reconnectHost(name: string): Promise<void> {
    const connection = { state: 'up' as const, sinceMs: this.nowMs };
    return this.change(name, ({ forcedDown: _, disabled: __, ...doc }) => ({ ...doc, connection }));
  }

  /** One tick: the engine, the network's events, then the machines. */
  override async tick(): Promise<void> {
    await this.pass();
    await this.recordReports();
    await this.#degraded?.reconcile();
    await this.machines.answer(this.journal, KINDS, this.nowMs);
  }

  async recordReports(): Promise<void> {
    const events = this.#eventReports.splice(0);
    if (events.length > 0)
      await this.commit((fleet) => recordNetworkEvents(fleet, { events, nowMs: this.nowMs }) as Decision<unknown>);
  }

  /** Until the item of an instance in this operation comes to a step. */
  async runUntilStep(operation: string, instance: string, step: string): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      if (this.item(operation, instance)?.step === step) return;
      await this.pass();
      if (this.item(operation, instance)?.step === step) return;
      // A test that waits for the plug wait sees it here.
      if (step !== 'plug') await this.recordReports();
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

  /** The troubles of an active instance's ports: `p0: unbound`. */
  degraded(id: string): string[] {
    const instance = this.fleet.get(INSTANCE, idOf(INSTANCE, id));
    const troubled = instance === undefined ? [] : degradedPorts(this.fleet, instance);
    return troubled.map(({ port, trouble }) => `${port.id}: ${trouble}`);
  }

  alarm(id: string): Alarm | undefined {
    return this.fleet.get(ALARM, alarmId('instance-degraded', id))?.doc;
  }

  /** The operation that connects its ports again. */
  replug(id: string): Item | undefined {
    return openReplugItem(this.fleet, id)?.doc;
  }
}
