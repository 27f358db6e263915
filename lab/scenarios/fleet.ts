// A fleet in the lab: hosts with real agents under a real server, a tenant's network behind a router that leads outside, and one
// instance on each host. What scenarios and tests do something to.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { instanceNamespace } from '../../src/agent/node/instances/namespace-commands.ts';
import { compile, readDataplaneView } from '../../src/dataplane/index.ts';
import { advertisedNextHopOf } from '../../src/dataplane/compile/subnet-services.ts';
import { ELECTION } from '../../src/election/index.ts';
import { run } from '../command.ts';
import { findDifferences, toExpectedContents, type Differences } from '../flows-oracle/compare.ts';
import { readHost } from '../flows-oracle/read-host.ts';
import { withOverruns } from '../receive-overruns.ts';
import { Muster } from '../serve/muster.ts';
import { Endpoint } from '../traffic/endpoint.ts';
import { runLoad, type Source } from '../traffic/load.ts';
import type { TrafficResults } from '../traffic/results.ts';
import { ECHO_PER_SECOND, LOAD_MS, PUSH_PER_SECOND, usualFlows, type UsualLoad } from '../traffic/usual-load.ts';
import type { LabHost } from '../underlay/host.ts';
import { EXTERNAL_INTERFACE, OUTSIDE, TUNNEL_BRIDGE } from '../underlay/names.ts';
import { Underlay } from '../underlay/underlay.ts';

const LOOK_MS = 50;
/** Long enough for many flows to begin at both ends. */
const LATE_MS = 1500;
const PATIENCE_MS = 60_000;
const SERVED_PORT = 7000;

export const USUAL: UsualLoad = {
  address: OUTSIDE.address,
  port: SERVED_PORT,
  echoPerSecond: ECHO_PER_SECOND,
  pushPerSecond: PUSH_PER_SECOND,
  tcp: true,
  beginning: true,
};

export interface FleetInstance {
  readonly name: string;
  /** Of its host. */
  readonly host: number;
  readonly namespace: string;
  readonly addresses: readonly string[];
}

interface InstanceRepresentation {
  readonly state: string;
  readonly host?: string;
  readonly ports?: readonly { readonly addresses: readonly { readonly ip: string }[] }[];
}

interface ServiceRepresentation {
  readonly epoch: number;
  readonly designated?: { readonly host: string; readonly sinceMs: number };
  readonly standby?: string;
  readonly handover?: { readonly phase: string };
}

interface HistoryCommit {
  readonly changes: readonly {
    readonly id: string;
    readonly doc?: { readonly epoch?: number; readonly why?: { readonly cause: string } };
  }[];
}

export class LabFleet {
  readonly underlay: Underlay;
  readonly muster: Muster;
  readonly instances: FleetInstance[] = [];
  readonly #endpoints = new Map<string, Endpoint>();
  #server: Endpoint | undefined;

  private constructor(underlay: Underlay, muster: Muster) {
    this.underlay = underlay;
    this.muster = muster;
  }

  static async start(hosts: number, say?: (line: string) => void, signal?: AbortSignal): Promise<LabFleet> {
    const how = { ...(say !== undefined && { say }), ...(signal !== undefined && { signal }) };
    const underlay = await Underlay.start({ hosts, ...how });
    try {
      const fleet = new LabFleet(underlay, await Muster.start(underlay, how));
      await fleet.#networks();
      for (const { names } of underlay.hosts) await fleet.build(`vm${names.number}`, names.number);
      say?.(`${hosts} instances are built`);
      return fleet;
    } catch (error) {
      await underlay.close();
      throw error;
    }
  }

  async #networks(): Promise<void> {
    const { client } = this.muster;
    await client.post('/networks', { name: 'ext', external: true, shared: true });
    await client.post('/subnets', {
      name: 'ext-v4',
      network: 'ext',
      cidr: '198.51.100.0/24',
      gateway: OUTSIDE.address,
    });
    await client.post('/subnets', {
      name: 'ext-v6',
      network: 'ext',
      cidr: '2001:db8:ff::/64',
      gateway: OUTSIDE.address6,
    });
    await client.post('/networks', { name: 'blue' });
    await client.post('/subnets', { name: 'blue-v4', network: 'blue', cidr: '10.0.0.0/24' });
    await client.post('/subnets', { name: 'blue-v6', network: 'blue', cidr: '2001:db8:1::/64' });
    await client.post('/flavors', { name: 'tiny', vcpus: 1, memoryMiB: 64, diskGiB: 1 });
    await client.post('/routers', { name: 'edge', subnets: ['blue-v4', 'blue-v6'], externalNetwork: 'ext' });
    // As the operator of the network outside does it: the way to the subnet is an address that goes with the service.
    const { ip } = advertisedNextHopOf('subnet-route:blue-v6');
    await run([
      'ip',
      '-n',
      this.underlay.names.external,
      'route',
      'add',
      '2001:db8:1::/64',
      'via',
      ip,
      'dev',
      OUTSIDE.bridge,
    ]);
  }

  async build(name: string, host: number, network = 'blue'): Promise<FleetInstance> {
    const { names } = this.underlay.host(host);
    await this.muster.client.post('/instances', {
      name,
      flavor: 'tiny',
      networks: [{ network }],
      host: names.name,
    });
    const built = await this.until(`${name} is not active`, async () => {
      const shown = (await this.muster.client.get(`/instances/${name}`)) as InstanceRepresentation;
      return shown.state === 'active' ? shown : undefined;
    });
    const addresses = (built.ports ?? []).flatMap((port) => port.addresses.map(({ ip }) => ip));
    const instance = { name, host, namespace: instanceNamespace(names.namespace, name), addresses };
    if (network === 'blue') this.instances.push(instance);
    return instance;
  }

  /** Takes instances away that were built beside the usual ones, and waits until they are gone. */
  async destroy(...names: readonly string[]): Promise<void> {
    await this.muster.muster('instances', 'delete', ...names, '--wait', '--timeout', '60s');
  }

  async service(id: string): Promise<ServiceRepresentation> {
    return (await this.muster.client.get(`/services/${encodeURIComponent(id)}`)) as ServiceRepresentation;
  }

  /** The host that does a service. */
  async designated(service: string): Promise<number> {
    return this.until(`${service} is not served`, async () => {
      const { designated, handover } = await this.service(service);
      return handover === undefined && designated !== undefined ? Number(designated.host.slice(1)) : undefined;
    });
  }

  async holdElections(held: boolean): Promise<void> {
    await this.setElection({ held });
  }

  async setElection(some: Partial<typeof ELECTION.defaultValue>): Promise<void> {
    await this.muster.muster('settings', 'set', ELECTION.name, JSON.stringify({ ...ELECTION.defaultValue, ...some }));
  }

  /** The ports of a host whose BFD is down, or not up yet. */
  async listBfdDownPorts(host: LabHost): Promise<readonly string[]> {
    const shown = await host.vsctl('--format=json', '--columns=name,bfd_status', 'find', 'interface', 'type=geneve');
    const { data } = JSON.parse(shown) as { readonly data: readonly (readonly [string, unknown])[] };
    return data.flatMap(([name, status]) => (JSON.stringify(status).includes('["forwarding","true"]') ? [] : [name]));
  }

  /** How often a service went to another host because its own was lost to the others. */
  async countFailovers(): Promise<number> {
    const text = await this.muster.muster('history', '--kind', 'service', '--limit', '1000', '--output', 'json');
    const commits = JSON.parse(text) as readonly HistoryCommit[];
    const lost = commits.flatMap(({ changes }) => changes.filter(({ doc }) => doc?.why?.cause === 'host-lost'));
    return new Set(lost.map(({ id, doc }) => `${id} ${doc?.epoch}`)).size;
  }

  /** Resolves when BFD is up at all hosts to all their peers. */
  async untilBfdUp(): Promise<void> {
    for (const host of this.underlay.hosts) {
      await this.until(`${host.names.name} has BFD down to some peers`, async () =>
        (await this.listBfdDownPorts(host)).length === 0 ? true : undefined,
      );
    }
  }

  /** Nothing goes from one host to another any more, nor back; answers how to mend it. */
  async cut(one: LabHost, other: LabHost): Promise<() => Promise<void>> {
    const ends = [
      { host: one, from: other },
      { host: other, from: one },
    ];
    const flow = ({ from }: (typeof ends)[number]): string => `udp,nw_src=${from.names.tunnelAddress}`;
    for (const end of ends) await end.host.ofctl('add-flow', TUNNEL_BRIDGE, `priority=100,${flow(end)},actions=drop`);
    return async () => {
      for (const end of ends) await end.host.ofctl('del-flows', TUNNEL_BRIDGE, flow(end));
    };
  }

  /** Hands a service over, and waits until that is over. */
  async move(service: string, to: number): Promise<void> {
    await this.muster.muster('services', 'move', service, '--host', `h${to}`, '--wait', '--timeout', '60s');
  }

  /** A third host sends to the old one until a while after the others have turned to the new one. */
  async moveWithOneLate(service: string, to: number): Promise<void> {
    const from = await this.designated(service);
    const late = this.underlay.hosts.map(({ names }) => names.number).find((one) => one !== from && one !== to);
    if (late === undefined) throw new Error(`no host but h${from} and h${to} is there`);
    const turnsLate = this.muster.pauseAgentDuring(late, async () => {
      await this.until(`${service} is not switched`, async () =>
        (await this.service(service)).handover?.phase === 'switched' ? true : undefined,
      );
      await setTimeout(LATE_MS);
    });
    await Promise.all([turnsLate, this.move(service, to)]);
  }

  async until<T>(complaint: string, look: () => Promise<T | undefined>): Promise<T> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > deadlineMs) throw new Error(`${complaint} after ${PATIENCE_MS} ms`);
      await setTimeout(LOOK_MS);
    }
  }

  /** The load from these instances to the outside, ready to be run as often as it is needed. */
  async load(
    usual: UsualLoad = USUAL,
    from: readonly FleetInstance[] = this.instances,
    pinging: readonly FleetInstance[] = from.slice(0, 1),
  ): Promise<(event?: () => Promise<void>) => Promise<TrafficResults>> {
    if (this.#server === undefined) {
      this.#server = new Endpoint(this.underlay.names.external);
      await this.#server.serve(SERVED_PORT);
    }
    const server = this.#server;
    const endpoints = from.map(({ namespace }) => this.#endpoint(namespace));
    let runs = 0;
    const sources = (): readonly Source[] => {
      const flows = usualFlows(from.length, { ...usual, nth: (runs += 1) });
      return endpoints.map((endpoint, nth) => ({ endpoint, flows: flows[nth] ?? [] }));
    };
    const pings = pinging.map(({ namespace }) => ({ namespace, address: usual.address, everyMs: 20 }));
    return withOverruns(this.underlay.names, (event) =>
      runLoad({ server, sources: sources(), pings, durationMs: LOAD_MS, eventAfterMs: 1500, tailMs: 2000 }, event),
    );
  }

  #endpoint(namespace: string): Endpoint {
    let endpoint = this.#endpoints.get(namespace);
    if (endpoint === undefined) this.#endpoints.set(namespace, (endpoint = new Endpoint(namespace)));
    return endpoint;
  }

  /** What should be on a host by its agent's last view, beside what ovs-ofctl finds there. */
  async differences(host: LabHost): Promise<Differences> {
    const text = await readFile(join(host.names.folder, 'agent', 'agent-view.json'), 'utf8');
    const { view } = JSON.parse(text) as {
      readonly view: { readonly host: string; readonly parts: Record<string, unknown> };
    };
    const shown = readDataplaneView(view.host, view.parts);
    if (shown === undefined) throw new Error(`the view of ${view.host} has nothing of its switch`);
    const { contents } = compile(shown, { nextHop });
    const flows = contents.flows.map((flow) => ({
      ...flow,
      match: renameExternalPort(flow.match),
      actions: renameExternalPort(flow.actions),
    }));
    return findDifferences(toExpectedContents({ flows, groups: contents.groups }), await readHost(host));
  }

  /** Resolves when every switch has what its view requires, or says what is different. */
  async waitForConvergence(hosts: readonly LabHost[] = this.underlay.hosts): Promise<readonly string[]> {
    let found: string[] = [];
    for (let looks = 0; looks < 100; looks += 1) {
      found = [];
      for (const host of hosts) {
        const { missing, unexpected } = await this.differences(host);
        found.push(...missing.map((one) => `${host.names.name} lacks ${one}`));
        found.push(...unexpected.map((one) => `${host.names.name} has left ${one}`));
      }
      if (found.length === 0) return [];
      await setTimeout(100);
    }
    return found;
  }

  async close(): Promise<void> {
    for (const endpoint of this.#endpoints.values()) await endpoint.close();
    await this.#server?.close();
    await this.muster.close();
    await this.underlay.close();
  }
}

/** All that are outside are one machine. */
function nextHop(ip: string): string | undefined {
  return ip === OUTSIDE.address || ip === OUTSIDE.address6 ? OUTSIDE.mac : undefined;
}

/** The way out is plugged in by its own name. */
function renameExternalPort(words: string): string {
  return words.replaceAll('"muster-ext"', EXTERNAL_INTERFACE);
}
