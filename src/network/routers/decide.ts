// Decides on routers: create, edit, delete. A router's external address belongs to a port, which is created and deleted with it in one commit.
// Nothing that a floating address depends on may be removed.
import { idOf, put, remove, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { nameTaken } from '../networks/decide.ts';
import { canonicalIp } from '../addresses/ip.ts';
import { DEFAULT_PROJECT, PORT } from '../model.ts';
import { allocateExternalAddress, type AllocatedExternalAddress } from './external-address.ts';
import { conflict, invalid, isRefusal, unknownResource } from '../refusal.ts';
import {
  FLOATING_ADDRESSES_BY_ROUTER,
  ROUTER,
  type Router,
  type StoredFloatingAddress,
  type StoredRouter,
} from './model.ts';
import { subnetsProblem } from './subnets.ts';
import { allocateTunnelKey, releaseTunnelKey } from '../tunnels/keys.ts';

interface Requester {
  /** For the external port, should it need one. */
  readonly portId: string;
  readonly admin: boolean;
  readonly by: string;
  readonly nowMs: number;
}

export interface CreateRouter extends Requester {
  readonly name: string;
  readonly project?: string;
  readonly subnets?: readonly string[];
  readonly externalNetwork?: string;
  /** The external address; picked by default. */
  readonly natAddress?: string;
}

const FIELDS = { network: '/externalNetwork', ip: '/natAddress' };

export function createRouter(fleet: FleetReader, command: CreateRouter): Decision<{ readonly id: string }> {
  const { name, project = DEFAULT_PROJECT, subnets = [], externalNetwork, natAddress, admin } = command;
  const id = idOf(ROUTER, name);
  if (fleet.get(ROUTER, id) !== undefined) return refuse(nameTaken('router', name));
  if (natAddress !== undefined && externalNetwork === undefined) return refuse(natAddressWithoutNetwork());
  const fieldOf = (subnet: string): string => `/subnets/${subnets.indexOf(subnet)}`;
  const behind = { router: name, project, admin, subnets, externalNetwork, fieldOf };
  const outside =
    externalNetwork === undefined
      ? undefined
      : allocateNatAddress(fleet, { ...command, project, router: name, network: externalNetwork, ip: natAddress });
  if (outside !== undefined && isRefusal(outside)) return refuse(outside);
  const problem = subnetsProblem(fleet, behind);
  if (problem !== undefined) return refuse(problem);
  const router: Router = {
    name,
    project,
    subnets: [...subnets],
    ...externalFields(externalNetwork, outside),
    changedBy: command.by,
    changedAtMs: command.nowMs,
  };
  const key = allocateTunnelKey(fleet, { for: 'router', id });
  return accept([put(ROUTER, id, router), key, ...(outside === undefined ? [] : [outside.change])], { id });
}

interface NatAddressRequest extends Requester {
  readonly router: string;
  readonly project: string;
  readonly network: string;
  readonly ip?: string | undefined;
  readonly replaces?: boolean;
}

function allocateNatAddress(
  fleet: FleetReader,
  { router, ...ask }: NatAddressRequest,
): AllocatedExternalAddress | Refusal {
  return allocateExternalAddress(fleet, { ...ask, usedBy: { kind: 'router', id: router }, fields: FIELDS });
}

function externalFields(
  externalNetwork: string | undefined,
  made: AllocatedExternalAddress | undefined,
): Pick<Router, 'externalNetwork' | 'nat'> {
  return externalNetwork === undefined || made === undefined ? {} : { externalNetwork, nat: made.address };
}

function natAddressWithoutNetwork(): Refusal {
  const message = 'A router without an external network has no external address. Name the network as well.';
  return invalid('nat-address-without-network', message, { field: '/natAddress' });
}

export interface EditRouter extends Requester {
  readonly id: string;
  /** Only the fields to change. Subnets behind the router already may be named again; null clears the external network. */
  readonly edit: {
    readonly addSubnets?: readonly string[];
    readonly removeSubnets?: readonly string[];
    readonly externalNetwork?: string | null;
    readonly natAddress?: string;
  };
}

export function editRouter(fleet: FleetReader, command: EditRouter): Decision<{ readonly id: string }> {
  const { id, edit, admin, by, nowMs } = command;
  const stored = fleet.get(ROUTER, idOf(ROUTER, id));
  if (stored === undefined) return refuse(unknownResource('router', id));
  const subnets = applySubnetEdit(stored, edit);
  if (isRefusal(subnets)) return refuse(subnets);
  const external = applyExternalEdit(fleet, stored, command);
  if (isRefusal(external)) return refuse(external);
  const { project, subnets: before, externalNetwork: _, nat: __, ...rest } = stored.doc;
  const { addSubnets = [] } = edit;
  const fieldOf = (subnet: string): string | undefined =>
    before.includes(subnet) ? undefined : `/addSubnets/${addSubnets.indexOf(subnet)}`;
  const { externalNetwork } = external.to;
  const problem =
    floatingAddressesProblem(fleet, stored, { subnets, externalNetwork }) ??
    subnetsProblem(fleet, { router: id, project, admin, subnets, externalNetwork, fieldOf });
  if (problem !== undefined) return refuse(problem);
  const router: Router = { ...rest, project, subnets, ...external.to, changedBy: by, changedAtMs: nowMs };
  return accept([put(ROUTER, stored.id, router), ...external.changes], { id });
}

function applySubnetEdit(
  { id, doc }: StoredRouter,
  { addSubnets = [], removeSubnets = [] }: EditRouter['edit'],
): string[] | Refusal {
  for (const [at, subnet] of removeSubnets.entries()) {
    const field = `/removeSubnets/${at}`;
    if (addSubnets.includes(subnet)) {
      const message = `Subnet "${subnet}" is both in addSubnets and in removeSubnets. Name it in one of them.`;
      return invalid('subnet-added-and-removed', message, { field, facts: { subnet } });
    }
    if (doc.subnets.includes(subnet)) continue;
    const message = `Subnet "${subnet}" is not behind router "${id}". "muster routers show ${id}" lists those that are.`;
    return invalid('subnet-not-behind-router', message, { field, facts: { subnet, router: id } });
  }
  const kept = doc.subnets.filter((subnet) => !removeSubnets.includes(subnet));
  return [...new Set([...kept, ...addSubnets])];
}

interface ExternalEdit {
  readonly to: Pick<Router, 'externalNetwork' | 'nat'>;
  readonly changes: readonly Change[];
}

/** The new external network and address, with the port to create and the one to delete. */
function applyExternalEdit(fleet: FleetReader, { id, doc }: StoredRouter, command: EditRouter): ExternalEdit | Refusal {
  const { edit } = command;
  const network = edit.externalNetwork === undefined ? doc.externalNetwork : (edit.externalNetwork ?? undefined);
  const old = doc.nat === undefined ? [] : [remove(PORT, idOf(PORT, doc.nat.port))];
  if (network === undefined) {
    return edit.natAddress === undefined ? { to: {}, changes: old } : natAddressWithoutNetwork();
  }
  const ip = edit.natAddress;
  const stays = network === doc.externalNetwork && (ip === undefined || canonicalIp(ip) === doc.nat?.ip);
  if (stays && doc.nat !== undefined) return { to: { externalNetwork: network, nat: doc.nat }, changes: [] };
  const replaces = doc.nat !== undefined;
  const made = allocateNatAddress(fleet, { ...command, project: doc.project, router: id, network, ip, replaces });
  return isRefusal(made) ? made : { to: externalFields(network, made), changes: [made.change, ...old] };
}

/** This many are named; a count covers the rest. */
const NAMED_MAX = 10;

/** Floating addresses keep what they depend on: their targets' subnets, and the external network. */
function floatingAddressesProblem(
  fleet: FleetReader,
  { id, doc }: StoredRouter,
  after?: { readonly subnets: readonly string[]; readonly externalNetwork: string | undefined },
): Refusal | undefined {
  const removed = doc.subnets.filter((subnet) => after?.subnets.includes(subnet) !== true);
  const isTurned = after === undefined || after.externalNetwork !== doc.externalNetwork;
  if (removed.length === 0 && !isTurned) return undefined;
  const stuck = [...fleet.find(FLOATING_ADDRESSES_BY_ROUTER, id)].filter(
    (floating) => isTurned || removed.includes(insideSubnetOf(fleet, floating) ?? ''),
  );
  if (stuck.length === 0) return undefined;
  const named = stuck.slice(0, NAMED_MAX).map((one) => one.doc.outside.ip);
  const more = stuck.length > named.length ? ` and ${stuck.length - named.length} more` : '';
  const message = `Floating addresses depend on what router "${id}" would lose: ${named.join(', ')}${more}. Disassociate them first.`;
  const facts = { router: id, floatingAddresses: stuck.slice(0, NAMED_MAX).map((one) => one.id), count: stuck.length };
  return conflict('router-has-floating-addresses', message, { facts });
}

function insideSubnetOf(fleet: FleetReader, { doc: { inside } }: StoredFloatingAddress): string | undefined {
  if (inside === undefined) return undefined;
  const port = fleet.get(PORT, idOf(PORT, inside.port))?.doc;
  return port?.addresses.find(({ ip }) => ip === inside.ip)?.subnet;
}

export function deleteRouter(fleet: FleetReader, { id }: { readonly id: string }): Decision<StoredRouter> {
  const stored = fleet.get(ROUTER, idOf(ROUTER, id));
  if (stored === undefined) return refuse(unknownResource('router', id));
  const problem = floatingAddressesProblem(fleet, stored);
  if (problem !== undefined) return refuse(problem);
  const { nat } = stored.doc;
  const port = nat === undefined ? [] : [remove(PORT, idOf(PORT, nat.port))];
  return accept(
    [remove(ROUTER, stored.id), ...releaseTunnelKey(fleet, { for: 'router', id: stored.id }), ...port],
    stored,
  );
}
