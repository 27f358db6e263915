// Numbers that are made of names: cookies, group ids, keys in registers. The same name gives the same number on every host and
// after every restart, so that nothing has to be remembered or agreed upon.
import { canonicalIp } from '../../network/index.ts';
import type { Cookie } from './switch.ts';

/** What a flow is there for: the resource that its reason leads back to. */
export interface Owner {
  readonly kind: 'host' | 'peer' | 'port' | 'domain' | 'router' | 'service';
  readonly id: string;
}

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;
const MASK_64 = 0xffffffffffffffffn;

/** The same names are asked for whenever a host's view is compiled. */
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

/** FNV-1a of 64 bits, stirred once more: names that differ in their last letter only must not give neighbours. */
function computeHash(text: string): bigint {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) {
    hash = ((hash ^ BigInt(text.charCodeAt(at))) * FNV_PRIME) & MASK_64;
  }
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK_64;
  return hash ^ (hash >> 33n);
}

/** All our cookies begin so, and nobody else's do: "MU". */
const COOKIE_PREFIX = '4d55';
const COOKIE_BITS = 48;

export function isOurCookie(cookie: Cookie): boolean {
  return cookie.startsWith(COOKIE_PREFIX);
}

/** Groups have no cookie: ours are told by their numbers. */
const GROUP_FIRST = 0x40000000;
const GROUPS = 2 ** 28;

export function isOurGroup(id: number): boolean {
  return id >= GROUP_FIRST && id < GROUP_FIRST + GROUPS;
}

/** The port of the integration bridge that an instance's port is; no longer than an interface's name may be. */
export function portName(port: string): string {
  return `"mp${hex(hash64(`port/${port}`) & 0xffffffffffn, 10)}"`;
}

/** The port of the integration bridge by which heartbeats with a peer are exchanged, and nothing else. */
export function bfdPortName(peer: string): string {
  return `"mh${hex(hash64(`heartbeat/${peer}`) & 0xffffffffffn, 10)}"`;
}

/** The name of its interface, as the machine has it. */
export function interfaceOf(port: string): string {
  return portName(port).slice(1, -1);
}

/** The hardware address of something that has none of its own; the same on every host. */
export function macOf(kind: 'service' | 'floating' | 'gateway' | 'host' | 'next-hop', id: string): string {
  const digits = hex(hash64(`mac/${kind}/${id}`) & 0xffffffffffn, 10);
  return `02:${(digits.match(/../g) ?? []).join(':')}`;
}

/** The address that an interface with this hardware address has on its link, as RFC 4291 makes it. */
export function linkLocalOf(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac.split(':').map((pair) => Number.parseInt(pair, 16));
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  const text = `fe80:0:0:0:${groups.map((group) => group.toString(16)).join(':')}`;
  return canonicalIp(text) ?? text;
}

/** What tells a simulated switch apart: stable, and another one for each host. */
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

/** Takes the next free number of a range; two owners of one number would make the second one's flows look like the first's. */
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

/** Connection tracking zones have 16 bits; the first ones are left to others on the same machine. */
const ZONE_FIRST = 16;
const ZONES = 2 ** 16 - ZONE_FIRST;

/** The numbers of one host's switch. Asked for in the order of owners, it gives the same ones each time. */
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
