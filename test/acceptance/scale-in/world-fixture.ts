// The verbs of the scale-in tests: routers and zones, leaving hosts and services, and the real state of switches. Hosts a to g have tunnels to one
// another; network `n` is behind router `edge`, which has an external network.
import { idOf, put, SETTING, type Refusal } from '../../../src/fleet/index.ts';
import { ELECTION, SERVICE, type Service } from '../../../src/election/index.ts';
import {
  editHost,
  previewScaleIn,
  reAdmitHost,
  type EndScaleIn,
  type RecoverHosts,
  type ScaleInPreview,
  type StartScaleIn,
} from '../../../src/hosts/decisions-fixture.ts';
import {
  evacuatorsOf,
  endScaleIn,
  forceDownHost,
  HOST,
  recoverHosts,
  startScaleIn,
  type ScaleInAnswer,
} from '../../../src/hosts/index.ts';
import { createRouter, createTransportZone } from '../../../src/network/index.ts';
import { deleteRouter, type CreateRouter } from '../../../src/network/decisions-fixture.ts';
import { OPERATION, type Operation } from '../../../src/operations/index.ts';
import type { ControlPlaneHarnessOptions } from '../control-plane-fixture.ts';
import { sha256 } from '../server-fixture.ts';
import { AcceptanceWorld, type AcceptanceHostShape } from '../world-fixture.ts';

const HOUR_MS = 3_600_000;
const BUDGETS = { movesAtOnce: 32, movesPerHostAtOnce: 4 };

export class ScaleInAcceptanceWorld extends AcceptanceWorld {
  readonly #evacuators = evacuatorsOf(this.program);

  /** Also waits until the switches of all connected hosts have converged, where a switch answers at all. */
  override async settle(): Promise<void> {
    await super.settle();
    const hasConverged = (host: string): boolean => this.server.gateway.hasConverged(host, this.fleet.revision);
    const reachable = (): string[] =>
      this.all(HOST).flatMap(({ id, doc }) =>
        doc.connection.state === 'up' && !this.switchOf(id).faults.down ? [id] : [],
      );
    await this.until('all hosts have converged', () => this.server.isDeciding && reachable().every(hasConverged));
  }

  /** The caller of an operator's requests. */
  #command() {
    return { operation: this.operation(), by: 'ann', nowMs: this.nowMs };
  }

  async zone(name: string, mesh: 'full' | 'needed' = 'full'): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => createTransportZone(fleet, { name, mesh, by: 'ann', nowMs }));
  }

  /** With external network `out`, unless given otherwise. */
  async router(name: string, subnets: readonly string[], facts: Partial<CreateRouter> = {}): Promise<void> {
    const { nowMs } = this;
    const request = { name, subnets, externalNetwork: 'out', portId: `${name}-out`, admin: true, by: 'ann', nowMs };
    await this.commit((fleet) => createRouter(fleet, { ...request, ...facts }));
  }

  async removeRouter(id: string): Promise<void> {
    await this.commit((fleet) => deleteRouter(fleet, { id }));
  }

  async edit(id: string, edit: Parameters<typeof editHost>[1]['edit']): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => editHost(fleet, { id, edit, by: 'ann', nowMs }));
  }

  /** While it is set, no service is elected. */
  async holdElections(held: boolean): Promise<void> {
    const doc = { value: { ...ELECTION.defaultValue, held }, changedBy: 'ann', changedAtMs: this.nowMs };
    await this.put(put(SETTING, idOf(SETTING, ELECTION.name), doc));
  }

  start(hosts: readonly string[], facts: Partial<StartScaleIn> = {}): Promise<ScaleInAnswer> {
    const command = { hosts, drain: true, deadlineMs: 4 * HOUR_MS, ...this.#command(), ...facts };
    return this.commit((fleet) => startScaleIn(fleet, this.#evacuators, command));
  }

  startRefused(hosts: readonly string[], facts: Partial<StartScaleIn> = {}): Promise<Refusal> {
    const command = { hosts, drain: true, deadlineMs: 4 * HOUR_MS, ...this.#command(), ...facts };
    return this.refusal((fleet) => startScaleIn(fleet, this.#evacuators, command));
  }

  end(hosts: readonly string[], facts: Partial<EndScaleIn> = {}): Promise<ScaleInAnswer> {
    const command = { hosts, disconnect: false, ...this.#command(), ...facts };
    return this.commit((fleet) => endScaleIn(fleet, this.#evacuators, command));
  }

  endRefused(hosts: readonly string[], facts: Partial<EndScaleIn> = {}): Promise<Refusal> {
    const command = { hosts, disconnect: false, ...this.#command(), ...facts };
    return this.refusal((fleet) => endScaleIn(fleet, this.#evacuators, command));
  }

  recover(hosts: readonly string[], facts: Partial<RecoverHosts> = {}): Promise<ScaleInAnswer> {
    const command = { hosts, failBack: false, ...this.#command(), ...facts };
    return this.commit((fleet) => recoverHosts(fleet, command));
  }

  recoverRefused(hosts: readonly string[]): Promise<Refusal> {
    const command = { hosts, failBack: false, ...this.#command() };
    return this.refusal((fleet) => recoverHosts(fleet, command));
  }

  preview(...hosts: readonly string[]): ScaleInPreview {
    const request = { hosts, nowMs: this.nowMs, hash: sha256, budgets: BUDGETS };
    const preview = previewScaleIn(this.fleet, this.#evacuators, request);
    if ('code' in preview) throw new Error(preview.message);
    return preview;
  }

  /** A start that is bound to a preview. */
  pinToPlan(plan: string): Pick<StartScaleIn, 'plan'> {
    return { plan: { plan, hash: sha256 } };
  }

  /** An instance on a host, with a port in each of these networks. */
  async place(name: string, host: string, ...networks: readonly string[]): Promise<void> {
    const nics = (networks.length === 0 ? ['n'] : networks).map((network) => ({ network }));
    await this.boot({ name, place: { onlyHost: host }, networks: nics });
  }

  /** Its agent is stopped; waits until the host is down. */
  async disconnect(...hosts: readonly string[]): Promise<void> {
    for (const host of hosts) await this.agents.stop(host);
    await this.until('they are down', () => hosts.every((host) => this.host(host).connection.state === 'down'));
  }

  /** Forces it down. */
  async forceDown(id: string): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => forceDownHost(fleet, { id, reason: 'burnt', by: 'ann', nowMs }));
  }

  /** Clears its force-down. */
  async reAdmit(id: string): Promise<void> {
    const { nowMs } = this;
    await this.commit((fleet) => reAdmitHost(fleet, { id, reason: 'looked at', by: 'ann', nowMs }));
  }

  /** Its agent runs again, and reports for long enough. */
  async reconnect(...hosts: readonly string[]): Promise<void> {
    for (const host of hosts) this.agents.start(host);
    await this.until('they are up', () => hosts.every((host) => this.host(host).connection.state === 'up'));
  }

  async untilState(state: string, ...hosts: readonly string[]): Promise<void> {
    await this.until(`${hosts.join()} ${state}`, () => hosts.every((host) => this.host(host).state === state));
  }

  states(...hosts: readonly string[]): string[] {
    return hosts.map((host) => this.host(host).state);
  }

  service(id: string): Service {
    const found = this.fleet.get(SERVICE, idOf(SERVICE, id))?.doc;
    if (found === undefined) throw new Error(`there is no service ${id}`);
    return found;
  }

  /** The designated host of a service; undefined while it is not served. */
  designatedHostOf(service: string): string | undefined {
    return this.service(service).designated?.host;
  }

  /** The hosts that a service was at, one after the other. */
  designationHistoryOf(service: string): string[] {
    const hosts = this.versionsOf(SERVICE.name, service).map(
      (doc) => (doc as Service | undefined)?.designated?.host ?? 'none',
    );
    return hosts.filter((host, at) => host !== hosts[at - 1]);
  }

  operations(kind: string): { readonly id: string; readonly doc: Operation }[] {
    return this.all(OPERATION).filter(({ doc }) => doc.kind === kind);
  }
}

export const HOSTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const;

export function tunnelAddress(host: string): string {
  return `192.0.2.${host.charCodeAt(0) - 96}`;
}

export interface ScaleInFixture extends ControlPlaneHarnessOptions {
  /** Overrides for some hosts; all of a to g exist. */
  readonly hosts?: Readonly<Record<string, AcceptanceHostShape>>;
  readonly dhcp?: boolean;
  /** Of the default zone; full by default. */
  readonly mesh?: 'full' | 'needed';
}

/** Seven hosts, so that a few that are cut off are not mistaken for a silent site. Memory is the same: names decide. */
export async function scaleInWorld({
  hosts = {},
  dhcp = false,
  mesh = 'full',
  ...options
}: ScaleInFixture = {}): Promise<ScaleInAcceptanceWorld> {
  const world = await ScaleInAcceptanceWorld.empty(options);
  await world.zone('default', mesh);
  await world.net('out', { external: true, shared: true });
  await world.subnet('out-net', 'out', '203.0.113.0/24');
  await world.net('n');
  await world.subnet('sub', 'n', '10.0.0.0/24', { dhcp });
  await world.hosts(Object.fromEntries(HOSTS.map((name) => [name, shapeOf(name, hosts[name])])));
  await world.router('edge', ['sub']);
  await world.settle();
  return world;
}

export function shapeOf(name: string, shape: AcceptanceHostShape = {}): AcceptanceHostShape {
  return { tunnelAddress: tunnelAddress(name), ...shape };
}
