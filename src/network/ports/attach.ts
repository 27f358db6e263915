// The ports of an instance's NICs: created for it or used as they are, and their requirements on a host. Nothing is bound here.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { pickAddresses } from '../addresses/allocation.ts';
import { encodeMac, MACS } from '../addresses/mac.ts';
import { PORT, SUBNET, type Address, type Network, type Port, type PortId } from '../model.ts';
import type { NicRequirements, PoolChoice } from './nic-requirements.ts';
import { conflict, isRefusal, unknownResource } from '../refusal.ts';
import type { ResolvedNic } from '../networks/resolve.ts';
import { choiceOf, findNetwork, networkPool, topologyOf, type StoredPort } from '../networks/topology.ts';

export interface NicAttachment {
  readonly instance: string;
  readonly nic: number;
  readonly project: string;
  readonly portId: string;
  /** Counts the new ports of one commit; the NIC's number by default. */
  readonly nth?: number | undefined;
  /** The revision of the commit's decision, when `fleet` is a trial on top of it. */
  readonly revision?: number | undefined;
  /** Addresses that the same commit gives out and `fleet` does not contain yet (see `addressKey`). */
  readonly taken?: ReadonlySet<string> | undefined;
  readonly securityGroups?: readonly string[] | undefined;
  readonly by: string;
  readonly nowMs: number;
}

/** The port of a NIC, attached to its instance and not bound. */
export function attachNicPort(
  fleet: FleetReader,
  nic: ResolvedNic,
  attachment: NicAttachment,
): { readonly id: PortId; readonly doc: Port } | Refusal {
  return nic.kind === 'port' ? attachExistingPort(nic, attachment) : composeNicPort(fleet, nic, attachment);
}

function attachExistingPort(
  { port, tag }: Extract<ResolvedNic, { kind: 'port' }>,
  of: NicAttachment,
): StoredPort | Refusal {
  const { instance, nic, by, nowMs } = of;
  if (port.doc.instance !== undefined && port.doc.instance !== instance) {
    const message = `Port "${port.id}" is attached to "${port.doc.instance}". Delete that instance first, or use another port.`;
    return conflict('port-in-use', message, { facts: { port: port.id, instance: port.doc.instance } });
  }
  const { tag: _, ...doc } = port.doc;
  const attached: Port = {
    ...doc,
    instance,
    nic,
    ...(tag !== undefined && { tag }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  return { ...port, doc: attached };
}

function composeNicPort(
  fleet: FleetReader,
  { network: id, fixedIps, tag }: Extract<ResolvedNic, { kind: 'new' }>,
  of: NicAttachment,
): { readonly id: PortId; readonly doc: Port } | Refusal {
  const network = findNetwork(fleet, id)?.doc;
  if (network === undefined) return unknownResource('network', id);
  const isRequested = fixedIps.length > 0;
  const allocated = isRequested
    ? fixedIps.map(({ ip, subnet }): Address => ({ ip, subnet, chosenBy: 'user' }))
    : pickInitialAddresses(fleet, id, network, of.taken);
  if (isRefusal(allocated)) return allocated;
  const { instance, nic, project, by, nowMs, nth = nic, securityGroups = NO_GROUPS } = of;
  const { portSecurity, qosPolicy, minBandwidthKbps } = network;
  const doc: Port = {
    network: id,
    project,
    createdBy: 'muster',
    state: network.backEnd === 'embedded' ? 'made' : 'wanted',
    mac: allocateMac(fleet, nth, of.revision),
    instance,
    nic,
    ipAllocation: ipAllocationOf(fleet, id, network, isRequested),
    addresses: [...allocated],
    serial: 0,
    portSecurity,
    securityGroups: portSecurity ? [...securityGroups] : [],
    changedBy: by,
    changedAtMs: nowMs,
  };
  // Assigned one by one: spreading parts into one object would allocate each again.
  if (tag !== undefined) doc.tag = tag;
  if (qosPolicy !== undefined) doc.qosPolicy = qosPolicy;
  if (minBandwidthKbps !== undefined) doc.minBandwidthKbps = minBandwidthKbps;
  return { id: idOf(PORT, of.portId), doc };
}

const NO_GROUPS: readonly string[] = [];

/** The fields that a port gets from its network. */
export function portDefaultsOf(network: Network): Pick<Port, 'portSecurity' | 'qosPolicy' | 'minBandwidthKbps'> {
  const { portSecurity, qosPolicy, minBandwidthKbps } = network;
  return {
    portSecurity,
    ...(qosPolicy !== undefined && { qosPolicy }),
    ...(minBandwidthKbps !== undefined && { minBandwidthKbps }),
  };
}

/** How a port gets its addresses: derived from the request and the network, never an input. */
export function ipAllocationOf(
  fleet: FleetReader,
  id: string,
  network: Network,
  isRequested: boolean,
): Exclude<Port['ipAllocation'], 'none'> {
  if (isRequested) return 'immediate';
  // Hosts that do their own networking allocate when the host is known, whatever the network looks like.
  return network.backEnd === 'host-local' || topologyOf(fleet).isRouted(id) ? 'deferred' : 'immediate';
}

const NO_ADDRESSES: readonly Address[] = [];

/** Only Muster's own address management picks one now, and only where every host can carry it. */
export function pickInitialAddresses(
  fleet: FleetReader,
  id: string,
  network: Network,
  taken?: ReadonlySet<string>,
): readonly Address[] | Refusal {
  if (network.backEnd !== 'embedded' || topologyOf(fleet).isRouted(id)) return NO_ADDRESSES;
  const picked = pickAddresses(fleet, { network: id, pool: networkPool(id), ...(taken !== undefined && { taken }) });
  return isRefusal(picked) ? picked : picked.map((address) => ({ ...address, chosenBy: 'create' }));
}

/** Skips ahead in the counter where a port has the address already: the neighbours are for the next ports. */
const MAC_STRIDE = 1021;

export function allocateMac(fleet: FleetReader, nth: number, revision = fleet.revision): string {
  const macs = fleet.projection(MACS);
  for (let at = nth; ; at += MAC_STRIDE) {
    const mac = encodeMac(revision, at);
    if (!macs.has(mac)) return mac;
  }
}

/** The requirements of a port on its host. An instance that ran keeps all its addresses wherever it moves. */
export function nicRequirementsOf(
  fleet: FleetReader,
  port: Port,
  how: { readonly wasActive: boolean },
): NicRequirements {
  const { network, minBandwidthKbps, pciRequest } = port;
  const kept = pinnedAddressOf(fleet, port, how.wasActive);
  return { network, choices: poolChoicesOf(fleet, port, kept), address: kept?.ip, minBandwidthKbps, pciRequest };
}

/** The address that pins a port to one segment of a routed network. */
function pinnedAddressOf(fleet: FleetReader, port: Port, wasActive: boolean): Address | undefined {
  const [held] = port.addresses;
  if (held === undefined || !topologyOf(fleet).isRouted(port.network)) return undefined;
  return wasActive || !isReleasable(port) ? held : undefined;
}

function poolChoicesOf(fleet: FleetReader, port: Port, kept: Address | undefined): readonly PoolChoice[] {
  const topology = topologyOf(fleet);
  const [held] = port.addresses;
  if (held === undefined) {
    return port.ipAllocation === 'deferred'
      ? topology.addressChoicesOf(port.network)
      : topology.placementChoicesOf(port.network);
  }
  if (!topology.isRouted(port.network)) return topology.placementChoicesOf(port.network);
  const id = fleet.get(SUBNET, idOf(SUBNET, held.subnet))?.doc.segment;
  const segment = id === undefined ? undefined : topology.segment(port.network, id);
  const stays = segment === undefined ? [] : [choiceOf(segment)];
  if (kept !== undefined) return stays;
  const pool = stays[0]?.pool;
  return [...stays, ...topology.addressChoicesOf(port.network).filter((choice) => choice.pool !== pool)];
}

/** Whether a port's addresses may be dropped for another host: only those that were picked for a host. */
export function isReleasable(port: Port): boolean {
  return port.addresses.every(({ chosenBy }) => chosenBy === 'bind');
}
