// Binds ports to a host, where the journal is the back end: the mapping is checked again, deferred addresses are picked, and all ports are bound
// or none. Also decides what is left of a port when it is unbound or its instance ends.
import { idOf, mark, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost, type Host } from '../../hosts/index.ts';
import { canonicalizeAddresses, type AllocatedAddress } from '../addresses/allocation.ts';
import { isReleasable } from './attach.ts';
import { disassociatePort } from '../routers/floating-target.ts';
import { PORT, SUBNET, type Address, type BackEndName, type Port, type PortId } from '../model.ts';
import type { PoolKey } from './nic-requirements.ts';
import { stockOf } from '../addresses/stock.ts';
import { addressKey } from '../addresses/subnet-stock.ts';
import {
  findNetwork,
  hostReaches,
  networkPool,
  segmentOfPool,
  topologyOf,
  type StoredPort,
} from '../networks/topology.ts';

export interface BindRequest {
  readonly port: StoredPort;
  readonly pool: PoolKey;
}

export type BindFault =
  | { readonly code: 'pool-empty'; readonly pool: PoolKey }
  | { readonly code: 'mapping-gone'; readonly pool: PoolKey }
  | { readonly code: 'address-not-carried'; readonly ip: string };

export interface BindTarget {
  readonly host: string;
  readonly by: string;
  readonly nowMs: number;
}

export type BindResult =
  | { readonly kind: 'bound'; readonly ports: readonly BoundPort[] }
  | { readonly kind: 'fault'; readonly nic: number; readonly fault: BindFault };

/** How a host connects a port, by back end. */
const BINDING_TYPES: Readonly<Record<BackEndName, string>> = {
  embedded: 'ovs',
  'host-local': 'bridge',
  simulated: 'simulated',
  'simulated-single': 'simulated',
};

interface BoundPort {
  readonly id: PortId;
  readonly doc: Port;
}

/** Binds all ports to a host, or none. Ports of one call never get the same address. */
export function bindPorts(fleet: FleetReader, requests: readonly BindRequest[], at: BindTarget): BindResult {
  const ports: BoundPort[] = [];
  for (const { nic, outcome, id } of attemptBinds(fleet, requests, at)) {
    if ('code' in outcome) return { kind: 'fault', nic, fault: outcome };
    ports.push({ id, doc: outcome });
  }
  return { kind: 'bound', ports };
}

/** Those of the ports that can be bound to a host: a failing one does not prevent the others. */
export function bindAllPossible(
  fleet: FleetReader,
  requests: readonly BindRequest[],
  at: BindTarget,
): readonly BoundPort[] {
  const ports: BoundPort[] = [];
  for (const { outcome, id } of attemptBinds(fleet, requests, at))
    if (!('code' in outcome)) ports.push({ id, doc: outcome });
  return ports;
}

interface BindAttempt {
  readonly id: PortId;
  readonly nic: number;
  readonly outcome: Port | BindFault;
}

function* attemptBinds(fleet: FleetReader, requests: readonly BindRequest[], at: BindTarget): Iterable<BindAttempt> {
  const host = findHost(fleet, at.host)?.doc;
  let taken = NONE_TAKEN;
  // An address that a later port of the call holds is not picked for an earlier one.
  for (const { port } of requests) taken = addAddressKeys(taken, port.doc.addresses);
  for (let nth = 0; nth < requests.length; nth += 1) {
    const { port, pool } = requests[nth] as BindRequest;
    const outcome = bindPort(fleet, { port: port.doc, pool, host, at, taken });
    yield { id: port.id, nic: port.doc.nic ?? nth, outcome };
    if (nth < requests.length - 1 && !('code' in outcome)) taken = addAddressKeys(taken, outcome.addresses);
  }
}

export const NONE_TAKEN: ReadonlySet<string> = new Set();

/** Most calls have a single port without addresses: then no set is built. */
export function addAddressKeys(taken: ReadonlySet<string>, addresses: readonly Address[]): ReadonlySet<string> {
  if (addresses.length === 0) return taken;
  return new Set([...taken, ...addresses.map(({ subnet, ip }) => addressKey(subnet, ip))]);
}

interface PortBindInput {
  readonly port: Port;
  readonly pool: PoolKey;
  readonly host: Host | undefined;
  readonly at: BindTarget;
  readonly taken: ReadonlySet<string>;
}

function bindPort(fleet: FleetReader, input: PortBindInput): Port | BindFault {
  const { port, pool, host, at } = input;
  const network = findNetwork(fleet, port.network);
  if (network === undefined || host === undefined || !isMapped(fleet, input)) {
    mark('bind-mapping-gone');
    return { code: 'mapping-gone', pool };
  }
  const addresses = resolveBoundAddresses(fleet, input);
  if (!Array.isArray(addresses)) return addresses;
  const segment = segmentOfPool(pool);
  const serial = port.serial + 1;
  const binding: Port['binding'] = { host: at.host, serial, type: BINDING_TYPES[network.doc.backEnd] };
  if (segment !== undefined) binding.segment = segment;
  return { ...port, state: 'made', addresses, binding, serial, changedBy: at.by, changedAtMs: at.nowMs };
}

/** The mapping may have changed since the host was chosen: hosts report changes, and networks become routed. */
function isMapped(fleet: FleetReader, { port, pool, host }: PortBindInput): boolean {
  const topology = topologyOf(fleet);
  const id = segmentOfPool(pool);
  if (id === undefined) return pool === networkPool(port.network) && !topology.isRouted(port.network);
  const segment = topology.segment(port.network, id);
  return segment !== undefined && host !== undefined && hostReaches(host, segment.doc);
}

/** The addresses of a port on a pool: those that it holds if they lie there, else new ones where it needs them. */
export function resolveBoundAddresses(
  fleet: FleetReader,
  { port, pool, taken }: Pick<PortBindInput, 'port' | 'pool' | 'taken'>,
): Address[] | BindFault {
  if (port.addresses.length > 0) {
    const segment = segmentOfPool(pool);
    const elsewhere = port.addresses.find((address) => segmentOf(fleet, address) !== segment);
    if (elsewhere === undefined) return port.addresses;
    if (!isReleasable(port)) return { code: 'address-not-carried', ip: elsewhere.ip };
  }
  if (port.ipAllocation !== 'deferred') return [];
  const stock = stockOf(fleet);
  const picked = stock.versionsOf(pool).map((version) => stock.pick(pool, version, taken));
  if (picked.length === 0 || picked.includes(undefined)) return { code: 'pool-empty', pool };
  return picked.map((address): Address => {
    const { ip, subnet } = address as AllocatedAddress;
    return { ip, subnet, chosenBy: 'bind' };
  });
}

function segmentOf(fleet: FleetReader, { subnet }: Address): string | undefined {
  return fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc.segment;
}

export interface ReportedBinding {
  readonly host: string;
  readonly serial: number;
  readonly segment?: string;
  readonly type: string;
  readonly addresses: readonly AllocatedAddress[];
  readonly mac?: string;
  readonly by: string;
  readonly nowMs: number;
}

/** A port after the bind that a back end outside the journal, or a host, has reported. */
export function recordPortBound(port: Port, answer: ReportedBinding): Port {
  const { host, serial, segment, type, addresses, mac = port.mac, by, nowMs } = answer;
  return {
    ...port,
    state: 'made',
    mac,
    addresses: keepOrigins(port, addresses, 'bind'),
    binding: { host, serial, ...(segment !== undefined && { segment }), type },
    serial: Math.max(port.serial, serial),
    changedBy: by,
    changedAtMs: nowMs,
  };
}

/** A port after the create that a back end outside the journal has reported. */
export function recordPortCreated(
  port: Port,
  answer: { readonly addresses: readonly AllocatedAddress[]; mac?: string; by: string; nowMs: number },
): Port {
  const { addresses, mac = port.mac, by, nowMs } = answer;
  return {
    ...port,
    state: 'made',
    mac,
    addresses: keepOrigins(port, addresses, 'create'),
    changedBy: by,
    changedAtMs: nowMs,
  };
}

/**
 * Known addresses keep their origin. Each address is canonical, or it would have two owners. Callers check with `canonicalizeAddresses` first
 * that all of them are addresses: a document with an invalid one is refused.
 */
function keepOrigins(port: Port, reported: readonly AllocatedAddress[], chosenBy: Address['chosenBy']): Address[] {
  return (canonicalizeAddresses(reported) ?? reported).map(({ ip, subnet }) => {
    const had = port.addresses.find((one) => one.ip === ip && one.subnet === subnet);
    return had ?? { ip, subnet, chosenBy };
  });
}

/** A port with the addresses that a back end outside the journal says it has. */
export function recordHeldAddresses(port: Port, addresses: readonly AllocatedAddress[]): Port {
  return { ...port, addresses: keepOrigins(port, addresses, 'bind') };
}

/** Removes the binding and keeps the addresses; answers and events of the old binding no longer count. */
export function unbindPort(port: Port, at: { readonly by: string; readonly nowMs: number }): Port {
  const { binding: _, ...rest } = port;
  return { ...rest, serial: port.serial + 1, changedBy: at.by, changedAtMs: at.nowMs };
}

export interface PortRelease {
  readonly wasActive: boolean;
  readonly by: string;
  readonly nowMs: number;
}

/**
 * The end of an instance for one of its ports. A port that Muster created is deleted. A user's port is handed back: after a failed build as it
 * was before, after an instance that ran with its addresses and without the instance's name. A floating address keeps pointing to a port that
 * stays, and to none when it is deleted.
 */
export function releasePort(fleet: FleetReader, { id, doc }: StoredPort, how: PortRelease): Change[] {
  if (doc.createdBy === 'muster') return [remove(PORT, id), ...disassociatePort(fleet, id, how)];
  const { instance: _instance, nic: _nic, tag: _tag, dnsName, ...rest } = unbindPort(doc, how);
  const addresses = how.wasActive
    ? doc.addresses.map((address): Address =>
        address.chosenBy === 'bind' ? { ...address, chosenBy: 'user' } : address,
      )
    : doc.addresses.filter(({ chosenBy }) => chosenBy !== 'bind');
  return [put(PORT, id, { ...rest, addresses, ...(dnsName !== undefined && !how.wasActive && { dnsName }) })];
}
