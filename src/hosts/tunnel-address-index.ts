// Hosts by tunnel address, as a projection: looks up the hosts of an address, and the addresses that several hosts share.
import type { AppliedChange, ProjectionState, Projection } from '../fleet/index.ts';
import type { Host } from './model.ts';

/** The canonical spelling of an address: IPv6 without leading zeros, IPv4 inside IPv6 as IPv4. */
export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  const text = `http://[${address}]/`;
  if (!URL.canParse(text)) return address.toLowerCase();
  const host = new URL(text).hostname.slice(1, -1);
  const [, high, low] = MAPPED.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  return [high, low].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255]).join('.');
}

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

const NO_HOSTS: readonly string[] = [];

/** Hosts by tunnel address, removed ones among them, and the shared addresses. */
class TunnelAddresses implements ProjectionState {
  /** Nearly every address has one host: a list for each would be most of the memory. */
  readonly #hosts = new Map<string, string | readonly string[]>();
  readonly #shared = new Set<string>();

  apply({ before, after }: AppliedChange): void {
    const [was, is] = [addressKey(before?.doc as Host | undefined), addressKey(after?.doc as Host | undefined)];
    if (was === is) return;
    const id = (after ?? before)?.id ?? '';
    if (was !== undefined) this.#set(was, this.hostsAt(was).filter((one) => one !== id)); // prettier-ignore
    if (is !== undefined) this.#set(is, [...this.hostsAt(is), id].sort());
  }

  #set(key: string, hosts: readonly string[]): void {
    const [only] = hosts;
    if (only === undefined) this.#hosts.delete(key);
    else this.#hosts.set(key, hosts.length === 1 ? only : hosts);
    if (hosts.length > 1) this.#shared.add(key);
    else this.#shared.delete(key);
  }

  hostsAt(key: string): readonly string[] {
    const found = this.#hosts.get(key);
    if (found === undefined) return NO_HOSTS;
    return typeof found === 'string' ? [found] : found;
  }

  /** Addresses that more than one host has, or had when it was removed. */
  listSharedAddresses(): readonly string[] {
    return [...this.#shared];
  }
}

export function addressKey(host: Host | undefined): string | undefined {
  return host?.tunnelAddress === undefined ? undefined : canonicalAddress(host.tunnelAddress);
}

export const TUNNEL_ADDRESSES: Projection<TunnelAddresses> = {
  name: 'tunnel-addresses',
  kinds: ['host'],
  create: () => new TunnelAddresses(),
};
