// Binds the ports of an instance to its bare-metal node: each to a wired segment of its network that the node reaches, with an address there. All of
// them are bound, or none. Nothing of Muster's runs on a node: no tunnel leads to it, and no other back end than the journal binds there.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { IpVersion } from '../addresses/ip.ts';
import { stockOf } from '../addresses/stock.ts';
import { PORT, SEGMENT, type Network, type Port, type PortId } from '../model.ts';
import type { ResolvedNic } from '../networks/resolve.ts';
import { findNetwork, segmentOfPool, topologyOf, type StoredPort } from '../networks/topology.ts';
import { invalid } from '../refusal.ts';
import { nicRequirementsOf } from './attach.ts';
import { addAddressKeys, NONE_TAKEN, resolveBoundAddresses } from './bind.ts';
import type { PoolChoice, PoolKey } from './nic-requirements.ts';

export interface NodeTarget {
  readonly node: string;
  /** Those that it is wired to. */
  readonly physicalNetworks: readonly string[];
  readonly by: string;
  readonly nowMs: number;
}

export type NodeBindResult =
  | { readonly kind: 'bound'; readonly ports: readonly { readonly id: PortId; readonly doc: Port }[] }
  /** `not-wired`: the node reaches no segment of the network. `addresses-exhausted`: it does, and none of them has an address left. */
  | {
      readonly kind: 'fault';
      readonly code: 'not-wired' | 'addresses-exhausted';
      readonly nic: number;
      readonly network: string;
    };

/** How a node is connected: by the switch port that its cable is in. */
const BINDING_TYPE = 'baremetal';

/** In NIC order. */
export function bindPortsToNode(fleet: FleetReader, ports: readonly StoredPort[], at: NodeTarget): NodeBindResult {
  const bound: { id: PortId; doc: Port }[] = [];
  let taken = NONE_TAKEN;
  for (const { doc } of ports) taken = addAddressKeys(taken, doc.addresses);
  const used = new Map<string, number>();
  for (const [nic, port] of ports.entries()) {
    const choices = wiredChoicesOf(fleet, port.doc).filter(({ physicalNetwork = '' }) =>
      at.physicalNetworks.includes(physicalNetwork),
    );
    const { network } = port.doc;
    if (choices.length === 0) return { kind: 'fault', code: 'not-wired', nic, network };
    const doc = bindToFirst(fleet, { port: port.doc, choices, taken, used, at });
    if (doc === undefined) return { kind: 'fault', code: 'addresses-exhausted', nic, network };
    taken = addAddressKeys(taken, doc.addresses);
    bound.push({ id: port.id, doc });
  }
  return { kind: 'bound', ports: bound };
}

interface BindToFirst {
  readonly port: Port;
  readonly choices: readonly PoolChoice[];
  readonly taken: ReadonlySet<string>;
  /** How many addresses this call took, by pool and version. */
  readonly used: Map<string, number>;
  readonly at: NodeTarget;
}

function bindToFirst(fleet: FleetReader, { port, choices, taken, used, at }: BindToFirst): Port | undefined {
  for (const { pool, takes } of choices) {
    if (!takes.every((version) => hasFree(fleet, pool, version, used))) continue;
    const addresses = resolveBoundAddresses(fleet, { port, pool, taken });
    if (!Array.isArray(addresses)) continue;
    for (const version of takes) used.set(findUsedKey(pool, version), (used.get(findUsedKey(pool, version)) ?? 0) + 1);
    const serial = port.serial + 1;
    const segment = segmentOfPool(pool) ?? '';
    const binding = { node: at.node, serial, segment, type: BINDING_TYPE };
    return { ...port, state: 'made', addresses, binding, serial, changedBy: at.by, changedAtMs: at.nowMs };
  }
  return undefined;
}

/** Addresses that are promised to instances on hosts are not free. */
function hasFree(fleet: FleetReader, pool: PoolKey, version: IpVersion, used: ReadonlyMap<string, number>): boolean {
  return stockOf(fleet).free(pool, version) > BigInt(used.get(findUsedKey(pool, version)) ?? 0);
}

function findUsedKey(pool: PoolKey, version: IpVersion): string {
  return `${pool}|${version}`;
}

/** Where a node can be connected: segments on a physical network. */
function wiredChoicesOf(fleet: FleetReader, port: Port): readonly PoolChoice[] {
  return nicRequirementsOf(fleet, port, { wasActive: false }).choices.filter(
    ({ physicalNetwork }) => physicalNetwork !== undefined,
  );
}

export interface WiredPlaces {
  readonly network: string;
  /** Its node has to be wired to one of them: there the port gets its addresses. */
  readonly physicalNetworks: readonly string[];
  /** It would be connected elsewhere, too, and no address is left there. */
  readonly isExhausted: boolean;
}

/** For each port where its node may be. */
export function wiredPlacesOf(fleet: FleetReader, ports: readonly Port[]): WiredPlaces[] {
  const none: ReadonlyMap<string, number> = new Map();
  return ports.map((port) => {
    const wired = wiredChoicesOf(fleet, port);
    const open = wired.filter(({ pool, takes }) => takes.every((version) => hasFree(fleet, pool, version, none)));
    const physicalNetworks = [...new Set(open.flatMap(({ physicalNetwork = [] }) => physicalNetwork))];
    return { network: port.network, physicalNetworks, isExhausted: open.length < wired.length };
  });
}

/** Why a node cannot be connected to the networks of a request. */
export function wiringProblem(fleet: FleetReader, nics: readonly ResolvedNic[]): Refusal | undefined {
  for (const [at, nic] of nics.entries()) {
    const id = nic.kind === 'port' ? nic.port.doc.network : nic.network;
    const network = findNetwork(fleet, id)?.doc;
    const field = `/networks/${at}`;
    if (network !== undefined && network.backEnd !== 'embedded') return backEndWithoutNodes(id, network, field);
    const isWired =
      nic.kind === 'port'
        ? wiredChoicesOf(fleet, nic.port.doc).length > 0
        : topologyOf(fleet)
            .placementChoicesOf(id)
            .some(({ physicalNetwork }) => physicalNetwork !== undefined);
    if (!isWired) return networkNotWired(id, field);
  }
  return undefined;
}

function backEndWithoutNodes(id: string, { backEnd }: Network, field: string): Refusal {
  const message = `The ports of network "${id}" are bound by back end "${backEnd}", which connects hosts and no bare-metal nodes. Use a network of back end "embedded".`;
  return invalid('back-end-without-nodes', message, { field, facts: { network: id, backEnd } });
}

function networkNotWired(id: string, field: string): Refusal {
  const message = `Network "${id}" reaches no bare-metal node: it has no subnet on a flat or VLAN segment of a physical network, and no tunnel leads to a node. Use a network with such a segment.`;
  return invalid('network-not-wired', message, { field, facts: { network: id } });
}

/** A port as a node's switch port is set up for it. */
export interface WiredPort {
  readonly port: string;
  readonly serial: number;
  readonly mac: string;
  readonly segment: string;
  readonly physicalNetwork: string;
  readonly type: string;
  readonly segmentationId?: number;
}

/** The bound ports as the driver of a machine connects them. */
export function composeWiredPorts(fleet: FleetReader, ids: readonly string[]): WiredPort[] {
  return ids.flatMap((id): WiredPort[] => {
    const port = fleet.get(PORT, idOf(PORT, id))?.doc;
    const segment = port?.binding?.segment;
    const doc = segment === undefined ? undefined : fleet.get(SEGMENT, idOf(SEGMENT, segment))?.doc;
    if (port?.binding === undefined || segment === undefined || doc?.physicalNetwork === undefined) return [];
    const { type, physicalNetwork, segmentationId } = doc;
    const place = { segment, physicalNetwork, type, ...(segmentationId !== undefined && { segmentationId }) };
    return [{ port: id, serial: port.binding.serial, mac: port.mac, ...place }];
  });
}
