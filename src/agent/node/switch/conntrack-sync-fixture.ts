// Hosts with switches, one of which does a NAT that is handed over by hand: each phase is put into the journal as the operation
// would.
import { onTestFinished } from 'vitest';
import { compile, formatConnection, readDataplaneView, type TrackedConnection } from '../../../dataplane/index.ts';
import { SimulatedSwitch } from '../../../dataplane/runtime.ts';
import { SERVICE, type Handover, type Service } from '../../../election/index.ts';
import { anyWhy } from '../../../election/why-fixture.ts';
import { idOf, put, remove, type Change } from '../../../fleet/index.ts';
import { accept } from '../../../journal/index.ts';
import { TRANSPORT_ZONE } from '../../../network/index.ts';
import { TestHost } from '../agent-fixture.ts';
import { TestControlPlane } from '../../server/control-plane-fixture.ts';
import type { AgentPorts } from '../ports.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

export const NAT = 'nat:edge';

export interface ConntrackSyncHost {
  readonly name: string;
  readonly testHost: TestHost;
  readonly simulatedSwitch: SimulatedSwitch;
}

type DesignationFacts = Pick<Service, 'designated' | 'standby' | 'handover'>;

function handoverFacts(from: string, to: string, phase: Handover['phase']): DesignationFacts {
  const host = phase === 'preparing' || phase === 'syncing' ? from : to;
  const why = anyWhy();
  return { designated: { host, sinceMs: 0 }, handover: { operation: 'op', from, to, phase, why, sinceMs: 0 } };
}

export class ConntrackSyncWorld {
  readonly clock = new VirtualClock();
  readonly plane = new TestControlPlane(this.clock);
  readonly hosts = new Map<string, ConntrackSyncHost>();
  /** Why hosts cannot prepare services: by `host service`. */
  readonly unpreparable = new Map<string, string>();
  readonly #epochs = new Map<string, number>();

  /** Hosts in service, agents running, with as many servers as there are names for. */
  static async start(names: readonly string[], servers: readonly string[] = ['s1']): Promise<ConntrackSyncWorld> {
    const world = new ConntrackSyncWorld();
    const { clock, plane } = world;
    for (const server of servers) {
      await plane.start(server);
      await clock.until('there is a lease holder', () => plane.hasLeader);
    }
    const zone = { name: 'default', mesh: 'full' as const, changedBy: 'test', changedAtMs: 0 };
    await plane.commit(() => accept([put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone)], null));
    await plane.register(...names);
    for (const name of names) await world.#add(name, servers);
    onTestFinished(() => world.close());
    await clock.until('all are in service', () => names.every((name) => plane.host(name)?.state === 'active'));
    return world;
  }

  async #add(name: string, servers: readonly string[]): Promise<void> {
    await this.plane.edit(name, { tunnelAddress: `172.16.0.${this.hosts.size + 1}` });
    const simulatedSwitch = new SimulatedSwitch({ host: name, clock: this.clock });
    const token = await this.plane.joinToken(name);
    const joinToken = (): Promise<string> => Promise.resolve(token);
    const machine = {
      switch: simulatedSwitch,
      prepareFailureOf: (id: string) => this.unpreparable.get(`${name} ${id}`),
    };
    const testHost = new TestHost(this.plane, { name, servers, joinToken, machine });
    this.hosts.set(name, { name, testHost, simulatedSwitch });
    testHost.start();
  }

  async close(): Promise<void> {
    await Promise.all([...this.hosts.values()].map(({ testHost }) => testHost.stop()));
    await this.plane.close();
  }

  host(name: string): ConntrackSyncHost {
    const host = this.hosts.get(name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  }

  /** The same machine, and another agent on it. */
  async restart(name: string, replace: Partial<AgentPorts> = {}): Promise<void> {
    const { testHost } = this.host(name);
    await testHost.stop();
    testHost.start(replace);
  }

  async designate(host: string, id = NAT): Promise<void> {
    await this.#put(id, { designated: { host, sinceMs: 0 } });
  }

  /** With a host that would take it over. */
  async designateWith(host: string, standby: string): Promise<void> {
    await this.#put(NAT, { designated: { host, sinceMs: 0 }, standby });
  }

  async setHandoverPhase(from: string, to: string, phase: Handover['phase'], id = NAT): Promise<void> {
    await this.#put(id, handoverFacts(from, to, phase));
  }

  /** Two hosts have handovers to each other, and get both views at once. */
  async startCrossHandover(one: string, other: string, back: string): Promise<void> {
    const changes = [
      this.#change(NAT, handoverFacts(one, other, 'syncing')),
      this.#change(back, handoverFacts(other, one, 'syncing')),
    ];
    await this.plane.commit(() => accept(changes, null));
  }

  async withdraw(id = NAT): Promise<void> {
    await this.plane.commit(() => accept([remove(SERVICE, idOf(SERVICE, id))], null));
  }

  async #put(id: string, facts: DesignationFacts): Promise<void> {
    const change = this.#change(id, facts);
    await this.plane.commit(() => accept([change], null));
  }

  #change(id: string, facts: DesignationFacts): Change {
    const epoch = (this.#epochs.get(id) ?? 0) + 1;
    this.#epochs.set(id, epoch);
    const [, subject = ''] = id.split(':');
    const rules = { exclusion: 'soft', onControlLoss: 'move', changedBy: 'test', changedAtMs: 0 } as const;
    const doc: Service = { type: 'nat', subject, epoch, ...rules, ...facts };
    return put(SERVICE, idOf(SERVICE, id), doc);
  }

  hasConverged(...names: readonly string[]): boolean {
    const { revision } = this.plane.leader.journal.fleet;
    const { gateway } = this.plane.leader;
    return names.every(
      (name) => gateway.hasConverged(name, revision) && gateway.reports.get(name)?.unready === undefined,
    );
  }

  async untilConverged(...names: readonly string[]): Promise<void> {
    await this.clock.until(`converged: ${names.join(', ')}`, () => this.plane.hasLeader && this.hasConverged(...names));
  }

  /** What packets began on a host. */
  track(name: string, connections: readonly TrackedConnection[], id = NAT): void {
    const { simulatedSwitch } = this.host(name);
    simulatedSwitch.track(this.#zone(name, id), connections);
  }

  /** What its switch has of a service. */
  async listTracked(name: string, id = NAT): Promise<string[]> {
    const found = await this.host(name).simulatedSwitch.listConnections(this.#zone(name, id));
    return found.map((one) => formatConnection(one)).sort();
  }

  #zone(name: string, id: string): number {
    const zones = [...this.hosts.values()].map(({ testHost: { driver } }) => {
      const view = driver.view && readDataplaneView(driver.view.host, driver.view.parts);
      return view && compile(view).zones.get(id);
    });
    const zone = zones.find((one) => one !== undefined) ?? this.#zones.get(id);
    if (zone === undefined) throw new Error(`${name} does not know ${id}`);
    this.#zones.set(id, zone);
    return zone;
  }

  readonly #zones = new Map<string, number>();
}
