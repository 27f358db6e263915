// Decides on networks: create, edit, delete. A network with dependents must never be deleted.
import type { Static } from 'typebox';
import { idOf, put, remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  DEFAULT_PROJECT,
  NETWORK,
  networkAndProject,
  type NETWORK_ATTRIBUTES,
  PORTS_BY_NETWORK,
  PORTS_BY_NETWORK_AND_PROJECT,
  type BackEndName,
  type Network,
} from '../model.ts';
import { conflict, forbid, kindLabel, unknownResource } from '../refusal.ts';
import { FLOATING_ADDRESSES_BY_NETWORK, ROUTERS_BY_EXTERNAL_NETWORK } from '../routers/model.ts';
import { findNetwork, topologyOf, type StoredNetwork } from './topology.ts';
import { allocateTunnelKey, releaseTunnelKey } from '../tunnels/keys.ts';

type NetworkAttributes = { readonly [K in keyof typeof NETWORK_ATTRIBUTES]?: Static<(typeof NETWORK_ATTRIBUTES)[K]> };

interface Requester {
  readonly by: string;
  readonly nowMs: number;
  readonly admin: boolean;
}

export interface CreateNetwork extends NetworkAttributes, Requester {
  readonly name: string;
  readonly project?: string;
  readonly backEnd?: BackEndName;
}

export function createNetwork(fleet: FleetReader, command: CreateNetwork): Decision<Network> {
  const { by, nowMs, admin, ...said } = command;
  const id = idOf(NETWORK, said.name);
  if (findNetwork(fleet, id) !== undefined) return refuse(nameTaken('network', id));
  const network: Network = {
    project: DEFAULT_PROJECT,
    backEnd: 'embedded',
    shared: false,
    external: false,
    portSecurity: true,
    ...said,
    changedBy: by,
    changedAtMs: nowMs,
  };
  const problem = externalAccessProblem(network, admin);
  if (problem !== undefined) return refuse(problem);
  return accept([put(NETWORK, id, network), allocateTunnelKey(fleet, { for: 'network', id })], network);
}

export interface EditNetwork extends Requester {
  readonly id: string;
  /** Only the fields to change; null clears an optional one. */
  readonly edit: Omit<NetworkAttributes, 'qosPolicy' | 'minBandwidthKbps'> & {
    readonly qosPolicy?: string | null;
    readonly minBandwidthKbps?: number | null;
  };
}

/** A network's settings for ports apply to ports that are created from then on. */
export function editNetwork(fleet: FleetReader, { id, edit, by, nowMs, admin }: EditNetwork): Decision<Network> {
  const stored = findNetwork(fleet, id);
  if (stored === undefined) return refuse(unknownResource('network', id));
  const { qosPolicy, minBandwidthKbps, ...rest } = { ...stored.doc, ...edit };
  const network: Network = {
    ...rest,
    ...(typeof qosPolicy === 'string' && { qosPolicy }),
    ...(typeof minBandwidthKbps === 'number' && { minBandwidthKbps }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  // An edit of another field of such a network does not make it external.
  const exposureChanged = network.external !== stored.doc.external || network.shared !== stored.doc.shared;
  const problem =
    (exposureChanged ? externalAccessProblem(network, admin) : undefined) ??
    sharedProblem(fleet, stored, network) ??
    externalUseProblem(fleet, stored, network);
  return problem === undefined ? accept([put(NETWORK, stored.id, network)], network) : refuse(problem);
}

/** Unshared external networks are created by administrators only. */
function externalAccessProblem({ name, external, shared }: Network, admin: boolean): Refusal | undefined {
  if (admin || !external || shared) return undefined;
  const message = `Network "${name}" would be external and for administrators only. Share it, or ask an administrator to make it.`;
  return forbid('external-needs-admin', message, { field: '/external', facts: { network: name } });
}

/** Ports of other projects stay on a shared network, so it stays shared while there are any. */
function sharedProblem(fleet: FleetReader, { id, doc }: StoredNetwork, after: Network): Refusal | undefined {
  if (!doc.shared || after.shared) return undefined;
  const own = fleet.countOf(PORTS_BY_NETWORK_AND_PROJECT, networkAndProject(id, doc.project));
  const ports = fleet.countOf(PORTS_BY_NETWORK, id) - own;
  if (ports === 0) return undefined;
  const have = ports === 1 ? 'a port of another project' : `${ports} ports of other projects`;
  const message = `Network "${id}" has ${have}, so it stays shared. Delete the ports of other projects than "${doc.project}" first.`;
  return conflict('network-shared', message, { field: '/shared', facts: { network: id, ports } });
}

/** Routers and floating addresses with an address from a network need it to stay external. */
function externalUseProblem(fleet: FleetReader, { id, doc }: StoredNetwork, after: Network): Refusal | undefined {
  if (!doc.external || after.external) return undefined;
  const routers = fleet.countOf(ROUTERS_BY_EXTERNAL_NETWORK, id);
  const addresses = fleet.countOf(FLOATING_ADDRESSES_BY_NETWORK, id);
  if (routers + addresses === 0) return undefined;
  const message = `Network "${id}" provides the external addresses of routers (${routers}) and floating addresses (${addresses}), so it stays external. Remove these first.`;
  return conflict('network-leads-outside', message, { field: '/external', facts: { network: id, routers, addresses } });
}

const SINGULAR = {
  routers: 'a router',
  'floating-addresses': 'a floating address',
  ports: 'a port',
  subnets: 'a subnet',
  segments: 'a segment',
};

export function deleteNetwork(fleet: FleetReader, { id }: { readonly id: string }): Decision<StoredNetwork> {
  const stored = findNetwork(fleet, id);
  if (stored === undefined) return refuse(unknownResource('network', id));
  const topology = topologyOf(fleet);
  const uses = [
    ['routers', fleet.countOf(ROUTERS_BY_EXTERNAL_NETWORK, id)],
    ['floating-addresses', fleet.countOf(FLOATING_ADDRESSES_BY_NETWORK, id)],
    ['ports', fleet.countOf(PORTS_BY_NETWORK, id)],
    ['subnets', topology.subnetsOf(id).length],
    ['segments', topology.segmentsOf(id).length],
  ] as const;
  for (const [what, count] of uses) {
    if (count === 0) continue;
    const many = count === 1 ? SINGULAR[what] : `${count} ${kindLabel(what)}`;
    const message =
      what === 'routers'
        ? `Network "${id}" is the external network of ${many}. Clear it there first, with "muster routers edit <router> --external-network ''".`
        : `Network "${id}" still has ${many}. Delete ${count === 1 ? 'that' : 'those'} first.`;
    return refuse(conflict('network-in-use', message, { facts: { network: id, what, count } }));
  }
  return accept([remove(NETWORK, stored.id), ...releaseTunnelKey(fleet, { for: 'network', id: stored.id })], stored);
}

export function nameTaken(what: string, name: string): Refusal {
  const message = `There is a ${kindLabel(what)} "${name}" already. Choose another name.`;
  return conflict(`${what}-exists`, message, { field: '/name', facts: { [what]: name } });
}
