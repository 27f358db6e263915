// Decides with which port a floating address may be associated: an address of the same version, of a port of the same project, in a subnet behind a
// router to the external network of the floating address. Also removes the association when that port is deleted.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { capabilitiesOf } from '../back-ends/back-end.ts';
import { portReleasing } from '../ports/decide.ts';
import { canonicalIp, parseIp, type IpVersion } from '../addresses/ip.ts';
import { PORT, type Address } from '../model.ts';
import { portUserProblem } from '../ports/port-user.ts';
import { conflict, forbid, invalid, isRefusal, unknownResource } from '../refusal.ts';
import {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_PORT,
  ROUTERS_BY_SUBNET,
  type FloatingAddress,
  type StoredFloatingAddress,
} from './model.ts';
import { findNetwork, type StoredPort } from '../networks/topology.ts';

type Inside = NonNullable<FloatingAddress['inside']>;

interface FloatingTargetRequest {
  readonly id: string;
  readonly floating: FloatingAddress;
  readonly port: string;
  readonly ip?: string | undefined;
  /** What other projects have does not exist for the caller. */
  readonly isProjectScoped: boolean;
}

export interface FloatingTarget {
  readonly inside: Inside;
  readonly target: StoredPort;
}

export function findFloatingTarget(fleet: FleetReader, request: FloatingTargetRequest): FloatingTarget | Refusal {
  const target = fleet.get(PORT, idOf(PORT, request.port));
  if (target === undefined) return unknownResource('port', request.port, '/port');
  const problem = portProblem(fleet, target, request);
  if (problem !== undefined) return problem;
  const addresses = candidateAddresses(target, request);
  if (isRefusal(addresses)) return addresses;
  const found = addresses.flatMap(({ ip, subnet }) => {
    const router = routerTo(fleet, subnet, request.floating.network);
    return router === undefined ? [] : [{ port: target.id, ip, router }];
  });
  const [inside, ...others] = found;
  if (inside === undefined) return notBehindRouter(target, request.floating.network);
  if (others.length > 0) return addressAmbiguous(target, found);
  return alreadyAssociatedProblem(fleet, inside, request) ?? { inside, target };
}

function portProblem(
  fleet: FleetReader,
  target: StoredPort,
  { floating, isProjectScoped }: FloatingTargetRequest,
): Refusal | undefined {
  const { id, doc } = target;
  const field = '/port';
  if (doc.project !== floating.project) {
    if (isProjectScoped) return unknownResource('port', id, field);
    const message = `Port "${id}" belongs to project "${doc.project}", the floating address to "${floating.project}". Use a port of the same project.`;
    return forbid('port-of-other-project', message, { field, facts: { port: id } });
  }
  const used = portUserProblem(target, field);
  if (used !== undefined) return used;
  if (doc.state === 'releasing') return portReleasing(id);
  if (capabilitiesOf(fleet, doc.network).inline) return undefined;
  // Such a back end may give the address to another port, and report that afterwards.
  const backEnd = findNetwork(fleet, doc.network)?.doc.backEnd;
  const message = `Port "${id}" is on network "${doc.network}", whose back end is "${backEnd}". Floating addresses can only be associated with ports whose addresses Muster gives out itself: use a port on a network of the back end "embedded".`;
  return invalid('inside-back-end-not-supported', message, { field, facts: { port: id, backEnd } });
}

function versionOf(ip: string): IpVersion | undefined {
  return parseIp(ip)?.version;
}

function candidateAddresses(
  { id, doc }: StoredPort,
  { floating, ip }: FloatingTargetRequest,
): readonly Address[] | Refusal {
  if (doc.addresses.length === 0) {
    const message =
      doc.ipAllocation === 'none'
        ? `Port "${id}" was created without an address and never has one. Use another port.`
        : `Port "${id}" has no address yet. Associate the floating address when it has one.`;
    return conflict('port-without-address', message, { field: '/port', facts: { port: id } });
  }
  const candidates = ip === undefined ? doc.addresses : doc.addresses.filter((one) => one.ip === canonicalIp(ip));
  if (candidates.length === 0) {
    const message = `Port "${id}" does not have the address ${ip}. It has ${joinIps(doc.addresses)}. Name one of these.`;
    return invalid('address-not-of-port', message, { field: '/portIp', facts: { port: id, ip } });
  }
  const version = versionOf(floating.outside.ip);
  const fitting = candidates.filter((one) => versionOf(one.ip) === version);
  if (fitting.length > 0) return fitting;
  const message = `Floating address ${floating.outside.ip} is IPv${version}, and port "${id}" has ${joinIps(candidates)} to offer. Both must be of one version: use another port or another floating address.`;
  return invalid('address-version-mismatch', message, { field: '/port', facts: { port: id, version } });
}

function joinIps(addresses: readonly { readonly ip: string }[]): string {
  return addresses.map(({ ip }) => ip).join(', ');
}

/** The router in front of a subnet, when it is connected to a network. */
function routerTo(fleet: FleetReader, subnet: string, network: string): string | undefined {
  for (const { id, doc } of fleet.find(ROUTERS_BY_SUBNET, subnet)) if (doc.externalNetwork === network) return id;
  return undefined;
}

function notBehindRouter({ id, doc }: StoredPort, network: string): Refusal {
  const subnets = [...new Set(doc.addresses.map(({ subnet }) => subnet))];
  const message = `Port "${id}" cannot be reached from network "${network}": no router connects it with ${subnets.join(', ')}. Put the subnet behind one with "muster routers edit <router> --add-subnet ${subnets[0]}".`;
  return conflict('not-behind-router', message, { field: '/port', facts: { port: id, network, subnets } });
}

function addressAmbiguous({ id }: StoredPort, found: readonly Inside[]): Refusal {
  const message = `Port "${id}" has several addresses: ${joinIps(found)}. Name one of them.`;
  return invalid('address-ambiguous', message, {
    field: '/portIp',
    facts: { port: id, addresses: found.map(({ ip }) => ip) },
  });
}

/** With two for one address, the source address of replies would be ambiguous. */
function alreadyAssociatedProblem(
  fleet: FleetReader,
  { port, ip }: Inside,
  { id }: FloatingTargetRequest,
): Refusal | undefined {
  const other = findAssociatedFloatingAddresses(fleet, port).find((one) => one.id !== id && one.doc.inside?.ip === ip);
  if (other === undefined) return undefined;
  const message = `Floating address ${other.doc.outside.ip} is associated with ${ip} of port "${port}" already. Disassociate it first: muster floating-addresses disassociate ${other.id}`;
  return conflict('address-has-floating-address', message, {
    field: '/port',
    facts: { port, ip, floatingAddress: other.id },
  });
}

/** The floating addresses that are associated with a port. */
function findAssociatedFloatingAddresses(fleet: FleetReader, port: string): StoredFloatingAddress[] {
  return [...fleet.find(FLOATING_ADDRESSES_BY_PORT, port)].filter(({ doc }) => doc.inside?.port === port);
}

/** A port with a floating address cannot be deleted by a user. */
export function associatedPortProblem(fleet: FleetReader, port: string): Refusal | undefined {
  const [floating] = findAssociatedFloatingAddresses(fleet, port);
  if (floating === undefined) return undefined;
  const message = `Floating address ${floating.doc.outside.ip} is associated with port "${port}". Disassociate it first: muster floating-addresses disassociate ${floating.id}`;
  return conflict('port-has-floating-address', message, { facts: { port, floatingAddress: floating.id } });
}

/** A port is deleted with its instance: its floating addresses lose the association, and stay with their project. */
export function disassociatePort(
  fleet: FleetReader,
  port: string,
  at: { readonly by: string; readonly nowMs: number },
): Change[] {
  return findAssociatedFloatingAddresses(fleet, port).map(({ id, doc: { inside: _, ...rest } }) =>
    put(FLOATING_ADDRESS, id, { ...rest, changedBy: at.by, changedAtMs: at.nowMs }),
  );
}
