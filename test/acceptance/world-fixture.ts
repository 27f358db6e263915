// The verbs of the acceptance tests: hosts, networks, ports and instances, by name and with defaults for everything else.
import { onTestFinished } from 'vitest';
import { idOf, put, SETTING, type Change, type Refusal } from '../../src/fleet/index.ts';
import { clearForceDown, HOST, joinHosts, type Host, type HostSpec } from '../../src/hosts/index.ts';
import {
  createInstances,
  deleteInstances,
  INSTANCE,
  moveInstances,
  rebuildInstances,
  shelveInstance,
  unshelveInstance,
  usesOf,
  type CreateInstances,
  type Instance,
} from '../../src/instances/index.ts';
import {
  createFlavor,
  createGroup,
  type CreateFlavor,
  type CreateGroup,
} from '../../src/instances/decisions-fixture.ts';
import { createCommand } from '../../src/instances/reference-fixture.ts';
import { accept } from '../../src/journal/index.ts';
import { CLAIM, claimId, PORT, stockOf, type Claim, type PoolKey, type Port } from '../../src/network/index.ts';
import {
  createNetwork,
  createPort,
  createSegment,
  createSubnet,
  type CreateNetwork,
  type CreatePort,
  type CreateSegment,
  type CreateSubnet,
} from '../../src/network/decisions-fixture.ts';
import { ITEM, OPERATION, type Item, type Operation, type OperationId } from '../../src/operations/index.ts';
import { SCHEDULER, SPREADING } from '../../src/scheduler/index.ts';
import { SITE } from '../../src/sites/index.ts';
import { ControlPlaneHarness, type ControlPlaneHarnessOptions } from './control-plane-fixture.ts';

export interface AcceptanceHostShape extends Partial<HostSpec> {
  readonly memoryGiB?: number;
  /** The segments that it reaches; their physical networks have their names with `phys-` in front. */
  readonly segments?: readonly string[];
  /** The version of its agent. */
  readonly version?: number;
}

type Fault = Parameters<ControlPlaneHarness['network']['faults']['arm']>[0];

const HOUR_MS = 3_600_000;

export class AcceptanceWorld extends ControlPlaneHarness {
  /** A control plane without hosts and networks. At the end of the test it must have no violations. */
  static async empty<W extends AcceptanceWorld>(
    this: new (options: ControlPlaneHarnessOptions) => W,
    options: ControlPlaneHarnessOptions = {},
  ): Promise<W> {
    const world = new this(options);
    onTestFinished(() => {
      world.close();
      if (world.violations.length > 0) throw new Error(`what must never be: ${world.violations.join('; ')}`);
    });
    await world.startServer();
    await world.until('there is a leader', () => world.server.isDeciding);
    const first = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'ann', changedAtMs: 0 });
    await world.put(first, strictOrder());
    await world.flavor('small');
    return world;
  }

  async put(...changes: readonly Change[]): Promise<void> {
    await this.commit(() => accept(changes, null));
  }

  /** Joins hosts, starts their agents and waits until they are in service. */
  async hosts(shapes: Readonly<Record<string, AcceptanceHostShape>>): Promise<void> {
    const specs = Object.entries(shapes).map(([name, shape]) => hostSpec(name, shape));
    const command = { operation: this.operation(), deadlineMs: HOUR_MS, by: 'ann', nowMs: this.nowMs };
    await this.commit((fleet) => joinHosts(fleet, { hosts: specs, ...command }));
    for (const [name, { version }] of Object.entries(shapes))
      this.agents.start(name, version === undefined ? {} : { serviceVersion: version });
    await this.until('the hosts are active', () =>
      specs.every(({ name }) => this.host(name).state === 'active' && this.host(name).serviceVersion > 0),
    );
  }

  /** A host that was forced down is connected again, as it was. */
  async comeBack(id: string): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => clearForceDown(fleet, { id, by: 'ann', nowMs }));
    this.agents.start(id);
    await this.until(`${id} is back`, () => this.host(id).connection.state === 'up');
  }

  async net(name: string, facts: Partial<CreateNetwork> = {}): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => createNetwork(fleet, { name, by: 'ann', admin: true, nowMs, ...facts }));
  }

  async segment(name: string, network: string, facts: Partial<CreateSegment> = {}): Promise<void> {
    const { nowMs } = this;
    const wire = { type: 'vlan' as const, physicalNetwork: `phys-${name}` };
    await this.commit((fleet) => createSegment(fleet, { name, network, ...wire, by: 'ann', nowMs, ...facts }));
  }

  async subnet(name: string, network: string, cidr: string, facts: Partial<CreateSubnet> = {}): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => createSubnet(fleet, { name, network, cidr, by: 'ann', nowMs, ...facts }));
  }

  async flavor(name: string, facts: Partial<CreateFlavor> = {}): Promise<void> {
    const { nowMs } = this;
    const small = { vcpus: 1, memoryMiB: 512, diskGiB: 1 };
    await this.commit((fleet) => createFlavor(fleet, { name, ...small, by: 'ann', nowMs, ...facts }));
  }

  async group(name: string, policy: CreateGroup['policy'], project = 'default'): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => createGroup(fleet, { name, policy, project, by: 'ann', nowMs }));
  }

  /** A user's port. */
  async userPort(id: string, network: string, facts: Partial<CreatePort> = {}): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => createPort(fleet, { id, network, admin: true, by: 'ann', nowMs, ...facts }));
  }

  operation(): OperationId {
    return idOf(OPERATION, this.ids.next('op'));
  }

  /** A request with only a name: one NIC on network `n`. */
  createCommand(facts: Partial<CreateInstances> = {}): CreateInstances {
    return createCommand(this.operation(), this.nowMs, { hasCredentials: this.credentials, ...facts });
  }

  /** Requests instances; returns the operation that builds them. */
  async create(facts: Partial<CreateInstances> = {}): Promise<OperationId> {
    const command = this.createCommand(facts);
    return (await this.commit((fleet) => createInstances(fleet, command))).operation;
  }

  createRefused(facts: Partial<CreateInstances>): Promise<Refusal> {
    const command = this.createCommand(facts);
    return this.refusal((fleet) => createInstances(fleet, command));
  }

  /** Requests an instance and waits for the result. */
  async boot(facts: Partial<CreateInstances> = {}): Promise<Instance> {
    await this.create(facts);
    await this.settle();
    return this.instance(facts.name ?? 'web');
  }

  #command() {
    return { operation: this.operation(), by: 'ann', nowMs: this.nowMs, deadlineMs: 24 * HOUR_MS };
  }

  async remove(...ids: readonly string[]): Promise<OperationId> {
    const command = this.#command();
    return (await this.commit((fleet) => deleteInstances(fleet, { ids, ...command }))).operation;
  }

  async move(id: string, how: { readonly kind?: 'live' | 'cold'; readonly target?: string } = {}): Promise<void> {
    const command = this.#command();
    await this.commit((fleet) => moveInstances(fleet, { ids: [id], kind: 'live', ...how, ...command }));
  }

  async rebuild(id: string): Promise<void> {
    const command = this.#command();
    await this.commit((fleet) => rebuildInstances(fleet, { ids: [id], ...command }, usesOf(this.program)));
  }

  async shelve(id: string): Promise<void> {
    const command = { ...this.#command(), hasCredentials: this.credentials };
    await this.commit((fleet) => shelveInstance(fleet, { id, ...command }));
  }

  async unshelve(id: string): Promise<void> {
    const command = { ...this.#command(), hasCredentials: this.credentials };
    await this.commit((fleet) => unshelveInstance(fleet, { id, ...command }));
  }

  /** From now on calls of this kind fail. */
  arm(fault: Fault): void {
    const armed = this.network.faults.arm(fault);
    if (armed.kind === 'refuse') throw new Error(armed.refusal.message);
  }

  /** The calls to the simulated back end as text: caller, call, port, host, serial, outcome. */
  calls(instance?: string): string[] {
    return this.network.calls.list({ instance }).map((call) => {
      const what = call.ports?.join('+') ?? call.port;
      const at = call.host === undefined ? '' : `@${call.host}`;
      return `${call.by} ${call.op} ${what}${at} ${call.result ?? 'under way'}`;
    });
  }

  /** The tasks of hosts, as text. */
  tasks(): string[] {
    return this.performedTasks.map(({ host, task, instance }) => `${task} ${instance} on ${host}`);
  }

  /** Where copies of an instance are, running or not. */
  copies(instance: string): string[] {
    return [...this.fleet.all(HOST)].map(({ id }) => id as string).filter((host) => this.runs(host).includes(instance));
  }

  runs(host: string): string[] {
    return (this.agents.hypervisorOf(host)?.instances ?? []).map(({ id }) => id);
  }

  host(name: string): Host {
    return present(this.fleet.get(HOST, idOf(HOST, name)), `host ${name}`).doc;
  }

  hasInstance(name: string): boolean {
    return this.fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined;
  }

  instance(name: string): Instance {
    return present(this.fleet.get(INSTANCE, idOf(INSTANCE, name)), `instance ${name}`).doc;
  }

  hasPort(id: string): boolean {
    return this.fleet.get(PORT, idOf(PORT, id)) !== undefined;
  }

  port(id: string): Port {
    return present(this.fleet.get(PORT, idOf(PORT, id)), `port ${id}`).doc;
  }

  /** In the order of the NICs. */
  ports(instance: string): Port[] {
    return this.instance(instance).nics.map(({ port }) => this.port(port));
  }

  addresses(instance: string): string[] {
    return this.ports(instance).flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  }

  claim(instance: string, role: Claim['role'] = 'home'): Claim | undefined {
    return this.fleet.get(CLAIM, claimId(instance, role))?.doc;
  }

  free(pool: PoolKey, version: 4 | 6 = 4): number {
    return Number(stockOf(this.fleet).free(pool, version));
  }

  /** The item of an instance's build or other work. */
  item(operation: string, instance: string): Item {
    return present(this.fleet.get(ITEM, idOf(ITEM, `${operation}.${instance}`)), `item of ${instance}`).doc;
  }

  operationDoc(id: string): Operation {
    return present(this.fleet.get(OPERATION, idOf(OPERATION, id)), `operation ${id}`).doc;
  }
}

function present<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`there is no ${what}`);
  return found;
}

function hostSpec(name: string, { memoryGiB = 64, segments = [], version: _, ...spec }: AcceptanceHostShape): HostSpec {
  const capacity = { vcpus: 64, memoryMiB: memoryGiB * 1024, diskGiB: 1000, ratios: { vcpus: 4, memory: 1, disk: 1 } };
  return { name, capacity, physicalNetworks: segments.map((one) => `phys-${one}`), ...spec };
}

/** The host with the most free memory comes first, and nothing else counts. */
function strictOrder(): Change {
  const weights = Object.fromEntries(Object.keys(SPREADING).map((weigher) => [weigher, weigher === 'memory' ? 1 : 0]));
  const value = { weights, instancesPerHostMax: 0 };
  return put(SETTING, idOf(SETTING, SCHEDULER.name), { value, changedBy: 'ann', changedAtMs: 0 });
}
