// Numbers derived from names: cookies, group ids, register keys. The same name gives the same number on every host and after every restart,
// so nothing has to be stored or agreed on. The derivation must never change: switches carry these numbers.
import type { Cookie } from './switch.ts';

/** The resource that a flow exists for, as its owner. */
export interface Owner {
  readonly kind: 'host' | 'peer' | 'port' | 'domain' | 'router' | 'service';
  readonly id: string;
}

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;
const MASK_64 = 0xffffffffffffffffn;

/** The same names are looked up whenever a host's view is compiled. */
const HASHES_MAX = 20_000;
const hashes = new Map<string, bigint>();

function hash64(text: string): bigint {
  let hash = hashes.get(text);
  if (hash !== undefined) return hash;
  hash = computeHash(text);
  if (hashes.size >= HASHES_MAX) hashes.clear();
  hashes.set(text, hash);
  return hash;
}

/** FNV-1a with 64 bits and a final mix: names that differ only in the last letter must not give adjacent numbers. */
function computeHash(text: string): bigint {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = ((hash ^ BigInt(text.charCodeAt(at))) * FNV_PRIME) & MASK_64;
  }
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK_64;
  return hash ^ (hash >> 33n);
}

/** All our cookies begin with these two bytes, and no others do: "MU". */
const COOKIE_PREFIX = '4d55';
const COOKIE_BITS = 48;

export function isOurCookie(cookie: Cookie): boolean {
  return cookie.startsWith(COOKIE_PREFIX);
}

/** Groups have no cookie: ours are recognised by their number range. */
const GROUP_FIRST = 0x40000000;
const GROUPS = 2 ** 28;

export function isOurGroup(id: number): boolean {
  return id >= GROUP_FIRST && id < GROUP_FIRST + GROUPS;
}

/** The integration bridge port of an instance's port; no longer than an interface name may be. */
export function portName(port: string): string {
  return `"mp${hex(hash64(`port/${port}`) & 0xffffffffffn, 10)}"`;
}

/** The integration bridge port that carries BFD with a peer, and nothing else. */
export function bfdPortName(peer: string): string {
  return `"mh${hex(hash64(`heartbeat/${peer}`) & 0xffffffffffn, 10)}"`;
}

/** The interface name, as the machine shows it. */
export function interfaceOf(port: string): string {
  return portName(port).slice(1, -1);
}

/** The hardware address of something without one of its own; the same on every host. */
export function macOf(kind: 'service' | 'floating' | 'gateway' | 'host' | 'next-hop', id: string): string {
  const digits = hex(hash64(`mac/${kind}/${id}`) & 0xffffffffffn, 10);
  return `02:${(digits.match(/../g) ?? []).join(':')}`;
}

/** The identity of a simulated switch: stable, and different for each host. */
export function simulatedIdentity(host: string): {
  readonly datapathId: string;
  readonly systemId: string;
  readonly bridge: string;
} {
  const [high, low] = [hex(hash64(`bridge/${host}`), 16), hex(hash64(`row/${host}`), 16)];
  const bridge = [high.slice(0, 8), high.slice(8, 12), high.slice(12), low.slice(0, 4), low.slice(4)].join('-');
  return { datapathId: hex(hash64(`datapath/${host}`), 16), systemId: `system-${host}`, bridge };
}

function hex(value: bigint, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** Takes the next free number of a range: with one number for two owners, flows of one would look like flows of the other. */
class IdRange {
  readonly #size: bigint;
  readonly #owners = new Map<bigint, string>();

  constructor(size: number) {
    this.#size = BigInt(size);
  }

  allocate(owner: string): bigint {
    for (let at = hash64(owner) % this.#size; ; at = (at + 1n) % this.#size) {
      const taken = this.#owners.get(at);
      if (taken === undefined) this.#owners.set(at, owner);
      if (taken === undefined || taken === owner) return at;
    }
  }
}

/** Conntrack zones have 16 bits; the first ones are left to other programs on the machine. */
const ZONE_FIRST = 16;
const ZONES = 2 ** 16 - ZONE_FIRST;

/** The numbers of one host's switch. Requested in the order of owners, they are the same each time. */
export class IdAllocator {
  readonly #cookies = new IdRange(2 ** COOKIE_BITS);
  readonly #groups = new IdRange(GROUPS);
  readonly #zones = new IdRange(ZONES);

  cookie({ kind, id }: Owner): Cookie {
    return `${COOKIE_PREFIX}${hex(this.#cookies.allocate(`${kind}/${id}`), COOKIE_BITS / 4)}`;
  }

  /** Of a service, or of a domain. */
  group(owner: string): number {
    return GROUP_FIRST + Number(this.#groups.allocate(owner));
  }

  zone(service: string): number {
    return ZONE_FIRST + Number(this.#zones.allocate(service));
  }
}
