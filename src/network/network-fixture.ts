// A small fleet with networks, for the tests of this module: documents by their names, everything else by default.
import { expect } from 'vitest';
import { Fleet, idOf, put, Registry, type Change, type Invariant } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { HOST, hostsModel, type Host } from '../hosts/index.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { CLAIM, claimId, type Claim } from './claim.ts';
import { parseCidr, parseIp, type Cidr } from './addresses/ip.ts';
import { NETWORK, PORT, SEGMENT, SUBNET, type Network, type Port, type Segment, type Subnet } from './model.ts';
import { networkModel } from './fleet-model.ts';
import { defaultGateway, defaultPools } from './networks/subnet-form.ts';

const CHANGED = { changedBy: 'test', changedAtMs: 0 };
export const WHO = { by: 'ann', nowMs: 7 };

export function fleetWith(...changes: Change[]): Fleet {
  const fleet = new Fleet(new Registry([sitesModel, operationsModel, hostsModel, networkModel]));
  fleet.apply(1, [put(SITE, idOf(SITE, 'central'), { name: 'central', ...CHANGED })]);
  if (changes.length > 0) commit(fleet, changes);
  return fleet;
}

/** Applies a commit and checks every invariant. */
export function commit(fleet: Fleet, changes: readonly Change[]): void {
  for (const { kind, id, doc } of changes) {
    if (doc !== null) expect(fleet.registry.kinds.get(kind)?.check(doc), `${kind}/${id}`).toBeUndefined();
  }
  const applied = fleet.apply(fleet.revision + 1, changes);
  for (const { name, check } of networkModel.invariants ?? [])
    expect({ name, broken: check(applied, fleet) }).toEqual({ name, broken: [] });
}

/** Commits a decision; throws when it was refused. */
export function commitAccepted<A>(fleet: Fleet, decision: Decision<A>): A {
  if (decision.kind === 'refuse') throw new Error(`${decision.refusal.code}: ${decision.refusal.message}`);
  if (decision.changes.length > 0) commit(fleet, decision.changes);
  return decision.answer;
}

export function violationsOf(fleet: Fleet, changes: readonly Change[], invariants: readonly Invariant[]): string[] {
  const applied = fleet.apply(fleet.revision + 1, changes);
  return invariants.filter(({ check }) => check(applied, fleet).length > 0).map(({ name }) => name);
}

export function network(name: string, facts: Partial<Network> = {}): Change {
  const doc: Network = {
    name,
    project: 'default',
    backEnd: 'embedded',
    shared: false,
    external: false,
    portSecurity: true,
    ...CHANGED,
    ...facts,
  };
  return put(NETWORK, idOf(NETWORK, name), doc);
}

export function segment(name: string, of: string, facts: Partial<Segment> = {}): Change {
  const doc: Segment = {
    name,
    network: of,
    type: 'vlan',
    physicalNetwork: `phys-${name}`,
    dynamic: false,
    ...CHANGED,
    ...facts,
  };
  return put(SEGMENT, idOf(SEGMENT, name), doc);
}

/** With the default gateway and pools, unless `facts` say otherwise. */
export function subnet(name: string, of: string, cidr: string, facts: Partial<Subnet> = {}): Change {
  const parsed = parseCidr(cidr) as Cidr;
  const gateway = defaultGateway(parsed);
  const doc: Subnet = {
    name,
    network: of,
    cidr,
    version: parsed.version,
    ...(gateway !== undefined && { gateway }),
    pools: defaultPools(parsed, gateway === undefined ? undefined : parseIp(gateway)?.value),
    ...CHANGED,
    ...facts,
  };
  return put(SUBNET, idOf(SUBNET, name), doc);
}

/** An unattached user's port that needs no address yet. */
export function port(id: string, of: string, facts: Partial<Port> = {}): Change {
  const doc: Port = {
    network: of,
    project: 'default',
    createdBy: 'user',
    state: 'made',
    mac: macOf(id),
    ipAllocation: 'deferred',
    addresses: [],
    serial: 0,
    portSecurity: true,
    securityGroups: [],
    ...CHANGED,
    ...facts,
  };
  return put(PORT, idOf(PORT, id), doc);
}

/** A different one for every id. */
function macOf(id: string): string {
  let digits = 7;
  for (let at = 0; at < id.length; at += 1) digits = (digits * 31 + id.charCodeAt(at)) % 2 ** 40;
  return `52${digits.toString(16).padStart(10, '0').replaceAll(/../g, ':$&')}`;
}

export function host(name: string, ...physicalNetworks: string[]): Change {
  const doc: Host = {
    name,
    site: 'central',
    zone: 'default',
    aggregates: [],
    traits: [],
    physicalNetworks,
    baseWeight: 0,
    capacity: { vcpus: 8, memoryMiB: 8192, diskGiB: 100, ratios: { vcpus: 1, memory: 1, disk: 1 } },
    state: 'active',
    connection: { state: 'up', sinceMs: 0 },
    serviceVersion: 3,
    ...CHANGED,
  };
  return put(HOST, idOf(HOST, name), doc);
}

export function claim(instance: string, ...addresses: Claim['addresses']): Change {
  const doc: Claim = { instance, role: 'home', host: 'h1', vcpus: 1, memoryMiB: 1, diskGiB: 1, addresses, sinceMs: 0 };
  return put(CLAIM, claimId(instance, 'home'), doc);
}

export function portDoc(fleet: Fleet, id: string): Port {
  const stored = fleet.get(PORT, idOf(PORT, id));
  if (stored === undefined) throw new Error(`there is no port ${id}`);
  return stored.doc;
}
