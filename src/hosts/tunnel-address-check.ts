// Decides whether a host may get a tunnel address. Two hosts with one address receive each other's packets: an address must never be given to
// a second host. A quarantined host still has its own, and so does a removed one while it reports.
import { ADDRESS_UNAVAILABLE } from '../access/index.ts';
import type { FleetReader, Refusal } from '../fleet/index.ts';
import { findHost, type StoredHost } from './find-host.ts';
import type { Host } from './model.ts';
import { reportersOf } from './removed-reports.ts';
import { canonicalAddress, TUNNEL_ADDRESSES } from './tunnel-address-index.ts';

/** The hosts that have an address now, without `self`. */
function holdersOf(fleet: FleetReader, address: string, self: string): StoredHost[] {
  const holders = fleet.projection(TUNNEL_ADDRESSES).hostsAt(canonicalAddress(address));
  return holders.flatMap((id) => {
    const host = id === self ? undefined : findHost(fleet, id);
    return host !== undefined && isHolding(fleet, host, self) ? [host] : [];
  });
}

/** A removed host keeps its address for as long as another host than the requesting one reports as it. */
function isHolding(fleet: FleetReader, host: StoredHost, self: string): boolean {
  if (host.doc.state !== 'removed') return true;
  const { itself, as } = reportersOf(fleet, host.id);
  return itself || as.some((name) => name !== self);
}

export interface AddressRequest {
  /** The host that gets it. */
  readonly host: string;
  readonly address: string | null | undefined;
  /** Where the address is in the request, as a JSON pointer. */
  readonly field: string;
  /** The site that the caller is bound to: hosts of other sites are not named to it. */
  readonly callerSite?: string | undefined;
}

/** For an edit: an unchanged address is not checked, though other hosts may share it since earlier versions. */
export function denyChangedAddress(fleet: FleetReader, request: AddressRequest): Refusal | undefined {
  const { host, address } = request;
  const current = findHost(fleet, host)?.doc.tunnelAddress;
  const isSame = typeof address === 'string' && current !== undefined && isSameAddress(address, current);
  return isSame ? undefined : denySharedAddress(fleet, request);
}

function isSameAddress(one: string, other: string): boolean {
  return canonicalAddress(one) === canonicalAddress(other);
}

/** Why a host may not have an address; undefined when it may. */
export function denySharedAddress(fleet: FleetReader, request: AddressRequest): Refusal | undefined {
  const { host, address, field, callerSite } = request;
  if (address === null || address === undefined) return undefined;
  const holders = holdersOf(fleet, address, host);
  if (holders.length === 0) return undefined;
  const other = holders.find(({ doc }) => callerSite === undefined || doc.site === callerSite);
  if (other === undefined) {
    const message = `The tunnel address ${address} is not available. Give host "${host}" another one.`;
    return { kind: 'conflict', code: ADDRESS_UNAVAILABLE, message, field };
  }
  const message = `Host "${other.id}" ${holdingText(other.doc)} the tunnel address ${address}. ${advice(other, host)}`;
  return { kind: 'conflict', code: 'tunnel-address-taken', message, field, facts: { host, other: other.id, address } };
}

function holdingText({ state, quarantined }: Host): string {
  if (state === 'removed') return 'was removed, still reports and had';
  return quarantined === undefined ? 'has' : 'is in quarantine and has';
}

function advice({ id, doc }: StoredHost, host: string): string {
  return doc.state === 'removed'
    ? `Stop its agent first, or give host "${host}" another address.`
    : `Give host "${host}" another one, or change that of "${id}" first with "muster hosts edit ${id} --tunnel-address".`;
}

/** The same check within a list of joining hosts. */
export function denyRepeatedAddress(
  hosts: readonly { readonly name: string; readonly tunnelAddress?: string | undefined }[],
): Refusal | undefined {
  const first = new Map<string, string>();
  for (const [at, { name, tunnelAddress }] of hosts.entries()) {
    if (tunnelAddress === undefined) continue;
    const key = canonicalAddress(tunnelAddress);
    const other = first.get(key);
    if (other !== undefined) {
      const message = `Hosts "${other}" and "${name}" have the same tunnel address ${tunnelAddress}. Nothing was changed. Give each an address of its own.`;
      const field = `/hosts/${at}/tunnelAddress`;
      return { kind: 'invalid', code: 'duplicate-tunnel-address', message, field, facts: { hosts: [other, name] } };
    }
    first.set(key, name);
  }
  return undefined;
}
