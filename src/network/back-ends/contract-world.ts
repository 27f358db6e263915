// The world of the back ends' contract suite: one small fleet, and a harness that does to a port what its back end does, in the journal or by
// orders to the simulated network. After every step the journal's invariants hold, and an outside back end has the same state as the journal.
import { expect } from 'vitest';
import { idOf, put, type Change, type Fleet } from '../../fleet/index.ts';
import { nicRequirementsOf, attachNicPort } from '../ports/attach.ts';
import { CAPABILITIES, type PortToBind, type PortToCreate, type PortToRelease, type PortAnswer } from './back-end.ts';
import { bindPorts, recordPortBound, releasePort, recordPortCreated, unbindPort } from '../ports/bind.ts';
import { ManualClock } from './clock-fixture.ts';
import { NETWORK, PORT, type BackEndName, type Port, type PortId } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { commit, fleetWith, host, network, port as userPort, subnet, segment } from '../network-fixture.ts';
import { composeOrderPools } from './order-pools.ts';
import { isRefusal } from '../refusal.ts';
import { SimulatedNetwork } from './simulated/network.ts';
import { addressKey } from '../addresses/subnet-stock.ts';
import { networkPool, segmentOfPool, type StoredPort } from '../networks/topology.ts';

export interface NewNic {
  readonly port: string;
  readonly network: 'routed' | 'plain';
  readonly fixedIp?: { readonly ip: string; readonly subnet: string };
}

export interface HeldPort {
  readonly ips: readonly string[];
  readonly mac: string;
  readonly host: string | undefined;
  readonly segment: string | undefined;
  readonly serial: number;
}

/** The steps of the contract for the ports of one instance. Outcomes are `ok` or the code of the fault, one for all of them. */
export interface Harness {
  readonly fleet: Fleet;
  /** A port created by its user, without addresses yet or with none ever. */
  userPort(port: string, on: NewNic['network'], facts?: Partial<Port>): void;
  create(...nics: readonly NewNic[]): Promise<string>;
  bind(on: string, ports: readonly { readonly port: string; readonly pool: PoolKey }[]): Promise<string>;
  unbind(port: string): Promise<string>;
  release(port: string, how?: { readonly wasActive: boolean }): Promise<string>;
  heldPort(port: string): HeldPort | undefined;
  /** How often a back end outside the journal was called. */
  calls(): number;
}

const WHO = { by: 'test', nowMs: 7 };
const INSTANCE = 'web';

/** Two segments of a routed network, dual stack; a plain network with two addresses. h5 reaches both segments. */
function contractFleet(backEnd: BackEndName): Fleet {
  return fleetWith(
    network('routed', { backEnd }),
    network('plain', { backEnd }),
    segment('seg0', 'routed'),
    segment('seg2', 'routed'),
    subnet('s0', 'routed', '10.0.0.0/24', { segment: 'seg0', pools: [{ first: '10.0.0.11', last: '10.0.0.14' }] }),
    subnet('s0v6', 'routed', '2001:db8::/64', { segment: 'seg0' }),
    subnet('s2', 'routed', '10.2.0.0/24', { segment: 'seg2', pools: [{ first: '10.2.0.11', last: '10.2.0.12' }] }),
    subnet('p', 'plain', '192.168.0.0/24', { pools: [{ first: '192.168.0.7', last: '192.168.0.8' }] }),
    host('h2', 'phys-seg0'),
    host('h3', 'phys-seg2'),
    host('h4', 'phys-seg0'),
    host('h5', 'phys-seg0', 'phys-seg2'),
  );
}

/** The part in the journal, the same for every back end. */
export abstract class JournalHarness implements Harness {
  readonly fleet: Fleet;
  #nth = 0;

  constructor(backEnd: BackEndName) {
    this.fleet = contractFleet(backEnd);
  }

  abstract bind(on: string, ports: Parameters<Harness['bind']>[1]): Promise<string>;
  abstract unbind(port: string): Promise<string>;
  abstract release(port: string, how?: { readonly wasActive: boolean }): Promise<string>;
  abstract calls(): number;

  userPort(id: string, on: NewNic['network'], facts: Partial<Port> = {}): void {
    commit(this.fleet, [userPort(id, on, { state: 'wanted', ...facts })]);
  }

  async create(...nics: readonly NewNic[]): Promise<string> {
    const changes: Change[] = [];
    const taken = new Set<string>();
    for (const wanted of nics) {
      const made = this.#composePort(wanted, taken);
      if (isRefusal(made)) return made.code;
      for (const { subnet: of, ip } of made.doc.addresses) taken.add(addressKey(of, ip));
      changes.push(put(PORT, made.id, made.doc));
    }
    commit(this.fleet, changes);
    return 'ok';
  }

  #composePort({ port, network: on, fixedIp }: NewNic, taken: ReadonlySet<string>): ReturnType<typeof attachNicPort> {
    const known = this.stored(port);
    const nth = (this.#nth += 1);
    const nic = known?.doc.nic ?? nth;
    const of = { instance: INSTANCE, nic, project: 'default', portId: port, nth, taken, ...WHO };
    if (known !== undefined) return attachNicPort(this.fleet, { kind: 'port', port: known }, of);
    const fixedIps = fixedIp === undefined ? [] : [fixedIp];
    return attachNicPort(this.fleet, { kind: 'new', network: idOf(NETWORK, on), fixedIps }, of);
  }

  stored(port: string): StoredPort | undefined {
    return this.fleet.get(PORT, idOf(PORT, port));
  }

  put(ports: readonly { readonly id: PortId; readonly doc: Port }[]): void {
    commit(
      this.fleet,
      ports.map(({ id, doc }) => put(PORT, id, doc)),
    );
  }

  heldPort(port: string): HeldPort | undefined {
    const doc = this.stored(port)?.doc;
    if (doc === undefined) return undefined;
    const { addresses, mac, binding, serial } = doc;
    return { ips: addresses.map(({ ip }) => ip), mac, host: binding?.host, segment: binding?.segment, serial };
  }
}

/** Embedded and host-local: the journal is the back end. */
class InlineHarness extends JournalHarness {
  async bind(on: string, requests: Parameters<Harness['bind']>[1]): Promise<string> {
    const ports = requests.map(({ port, pool }) => ({ port: this.stored(port) as StoredPort, pool }));
    const bound = bindPorts(this.fleet, ports, { host: on, ...WHO });
    if (bound.kind === 'fault') return bound.fault.code;
    this.put(bound.ports);
    return 'ok';
  }

  async unbind(id: string): Promise<string> {
    const port = this.stored(id);
    if (port !== undefined) this.put([{ id: port.id, doc: unbindPort(port.doc, WHO) }]);
    return 'ok';
  }

  async release(id: string, { wasActive } = { wasActive: true }): Promise<string> {
    const port = this.stored(id);
    if (port !== undefined) commit(this.fleet, releasePort(this.fleet, port, { wasActive, ...WHO }));
    return 'ok';
  }

  calls(): number {
    return 0;
  }
}

/** Simulated: the journal orders, and records the answers. */
export class NonInlineHarness extends JournalHarness {
  readonly #clock = new ManualClock();
  readonly network = new SimulatedNetwork({ clock: this.#clock });
  readonly fence = {
    leaseEpoch: 1,
    deadlineAtMs: Number.MAX_SAFE_INTEGER,
    signal: new AbortController().signal,
  };
  readonly header: { readonly backEnd: BackEndName; readonly instance: string };

  constructor(backEnd: BackEndName) {
    super(backEnd);
    this.header = { backEnd, instance: INSTANCE };
  }

  override async create(...nics: readonly NewNic[]): Promise<string> {
    const outcome = await super.create(...nics);
    if (outcome !== 'ok') return outcome;
    const ports = nics.flatMap(({ port }) => this.stored(port) ?? []);
    const order = { ...this.header, op: 'create', ports: ports.map((port) => this.#composeCreate(port)) } as const;
    const carried = await this.network.create(order, this.fence);
    const answers = carried.kind === 'stale' ? [] : carried.ports;
    const bad = answers.find((answer) => answer.outcome !== 'ok');
    if (bad !== undefined) {
      for (const { id } of ports) await this.release(id, { wasActive: false });
      return bad.outcome === 'pool-empty' ? 'addresses-exhausted' : bad.outcome;
    }
    this.put(ports.map(({ id, doc }, nth) => ({ id, doc: recordPortCreated(doc, answerFields(answers[nth])) })));
    return 'ok';
  }

  #composeCreate({ id, doc }: StoredPort): PortToCreate {
    const { network: on, mac, serial, nic = 0, project, createdBy, addresses, ipAllocation } = doc;
    const fixedIps = addresses.map(({ ip, subnet: of }) => ({ ip, subnet: of }));
    const pick = ipAllocation === 'immediate' && addresses.length === 0;
    const pools = composeOrderPools(this.fleet, networkPool(on));
    return { port: id, network: on, mac, serial, nic, project, createdBy, fixedIps, pick, pools };
  }

  async bind(on: string, requests: Parameters<Harness['bind']>[1]): Promise<string> {
    // The serial is given out before any order carries it.
    const ports = requests.map(({ port }) => this.stored(port) as StoredPort);
    this.put(ports.map(({ id, doc }) => ({ id, doc: { ...doc, serial: doc.serial + 1 } })));
    const orders = requests.map((request) => this.composeBind(request));
    const carried = await this.network.bind({ ...this.header, op: 'bind', host: on, ports: orders }, this.fence);
    const answers = carried.kind === 'stale' ? [] : carried.ports;
    const bad = answers.find((answer) => answer.outcome !== 'ok');
    if (bad !== undefined) {
      for (const { port } of requests) await this.unbind(port);
      return bad.outcome;
    }
    this.recordBound(on, requests, answers);
    return 'ok';
  }

  /** Records the answer to a bind. */
  recordBound(on: string, requests: Parameters<Harness['bind']>[1], answers: readonly PortAnswer[]): void {
    this.put(
      requests.map(({ port, pool }, nth) => {
        const { id, doc } = this.stored(port) as StoredPort;
        const segmentId = segmentOfPool(pool);
        const at = { host: on, serial: doc.serial, ...(segmentId !== undefined && { segment: segmentId }) };
        return {
          id,
          doc: recordPortBound(doc, { ...at, type: answers[nth]?.type ?? '', ...answerFields(answers[nth]) }),
        };
      }),
    );
  }

  composeBind({ port, pool }: { readonly port: string; readonly pool: PoolKey }): PortToBind {
    const { id, doc } = this.stored(port) as StoredPort;
    const choice = nicRequirementsOf(this.fleet, doc, { wasActive: false }).choices.find((one) => one.pool === pool);
    const takes = choice?.takes ?? [];
    const goes = (chosenBy: string): boolean => takes.length > 0 && chosenBy === 'bind';
    const segmentId = segmentOfPool(pool);
    return {
      port: id,
      serial: doc.serial,
      nic: doc.nic ?? 0,
      pool,
      ...(segmentId !== undefined && { segment: segmentId }),
      takes,
      drops: doc.addresses.flatMap(({ ip, chosenBy }) => (goes(chosenBy) ? [ip] : [])),
      keeps: doc.addresses.flatMap(({ ip, chosenBy }) => (goes(chosenBy) ? [] : [ip])),
      pools: composeOrderPools(this.fleet, pool),
    };
  }

  async unbind(id: string): Promise<string> {
    const port = this.stored(id);
    // Addresses from a bind that failed for another NIC are unknown here, and so not kept there.
    const outcome = await this.#release('unbind', id, { keeps: port?.doc.addresses.map(({ ip }) => ip) ?? [] });
    if (outcome === 'ok' && port !== undefined) this.put([{ id: port.id, doc: unbindPort(port.doc, WHO) }]);
    return outcome;
  }

  async release(id: string, { wasActive } = { wasActive: true }): Promise<string> {
    const port = this.stored(id);
    const stays = (port?.doc.addresses ?? []).filter(({ chosenBy }) => wasActive || chosenBy !== 'bind');
    const outcome = await this.#release('release', id, { keeps: stays.map(({ ip }) => ip) });
    if (outcome === 'ok' && port !== undefined)
      commit(this.fleet, releasePort(this.fleet, port, { wasActive, ...WHO }));
    return outcome;
  }

  async #release(op: 'unbind' | 'release', id: string, more: Partial<PortToRelease>): Promise<string> {
    const doc = this.stored(id)?.doc;
    const { serial = 0, nic = 0, createdBy = 'muster' } = doc ?? {};
    const ports = [{ port: id, serial: serial + 1, nic, createdBy, ...more }];
    const carried = await this.network[op]({ ...this.header, op, ports }, this.fence);
    return carried.kind === 'stale' ? 'stale' : (carried.ports[0]?.outcome ?? 'ok');
  }

  /** The journal's state, which is the back end's own. */
  override heldPort(id: string): HeldPort | undefined {
    const held = super.heldPort(id);
    const there = this.network.port(id);
    if (this.stored(id)?.doc.state !== 'made') return held;
    expect(there?.addresses.map(({ ip }) => ip).toSorted()).toEqual(held?.ips.toSorted());
    expect([there?.binding?.host, there?.mac]).toEqual([held?.host, held?.mac]);
    return held;
  }

  calls(): number {
    return this.network.calls.list().length;
  }
}

function answerFields({ addresses = [], mac }: Partial<PortAnswer> = {}) {
  return { addresses, ...(mac !== undefined && { mac }), ...WHO };
}

export function harnessOf(backEnd: BackEndName): JournalHarness {
  return CAPABILITIES[backEnd].inline ? new InlineHarness(backEnd) : new NonInlineHarness(backEnd);
}
