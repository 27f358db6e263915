// DHCPv4 messages (RFC 2131) for Ethernet: the fields of BOOTP, and the options by code.
import { ipOctets, ipText, macOctets, macText } from './address.ts';
import { addOptions, DHCP_OPTION, encodeOption, type DhcpOptions } from './dhcp-options.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, u32, toDataView } from './octets.ts';

export const DHCP_PORT = { server: 67, client: 68 } as const;

export interface Dhcp {
  readonly op: 'request' | 'reply';
  /** The transaction id of the client. */
  readonly xid: number;
  readonly hops: number;
  readonly secs: number;
  /** The client cannot receive unicast to an address that it does not have yet. */
  readonly broadcast: boolean;
  /** The address that the client has and answers ARP for. */
  readonly ciaddr: string;
  /** The address that the client is assigned. */
  readonly yiaddr: string;
  readonly siaddr: string;
  /** The relay that forwarded it. */
  readonly giaddr: string;
  readonly mac: string;
  readonly options: DhcpOptions;
}

const OP = { request: 1, reply: 2 } as const;
const SNAME = { at: 44, length: 64 } as const;
const FILE = { at: 108, length: 128 } as const;
const COOKIE_AT = 236;
const COOKIE = 0x63825363;
const OPTIONS_AT = 240;
const BROADCAST = 0x8000;
/** Ethernet, six octets. */
const HARDWARE = 0x0106;
/** The length of BOOTP: some clients and relays drop shorter messages. */
const SHORTEST = 300;

export function decodeDhcp(octets: Uint8Array): Dhcp | Malformed {
  if (octets.length < OPTIONS_AT) return malformedError('truncated');
  const view = toDataView(octets);
  const op = view.getUint8(0);
  if (view.getUint32(COOKIE_AT) !== COOKIE || (op !== OP.request && op !== OP.reply))
    return malformedError('other-protocol');
  if (view.getUint16(1) !== HARDWARE) return malformedError('other-protocol');
  const options = decodeFields(octets);
  if (!(options instanceof Map)) return options;
  return {
    op: op === OP.request ? 'request' : 'reply',
    hops: view.getUint8(3),
    xid: view.getUint32(4),
    secs: view.getUint16(8),
    broadcast: (view.getUint16(10) & BROADCAST) !== 0,
    ciaddr: ipText(octets.subarray(12, 16)),
    yiaddr: ipText(octets.subarray(16, 20)),
    siaddr: ipText(octets.subarray(20, 24)),
    giaddr: ipText(octets.subarray(24, 28)),
    mac: macText(octets.subarray(28, 34)),
    options,
  };
}

/** Options may continue in the fields for file and server names, if an option says so. */
function decodeFields(octets: Uint8Array): Map<number, Uint8Array> | Malformed {
  const options = new Map<number, Uint8Array>();
  const problem = addOptions(octets.subarray(OPTIONS_AT), options);
  if (problem !== undefined) return problem;
  const [overload = 0] = options.get(DHCP_OPTION.overload) ?? [];
  const file = (overload & 1) === 0 ? undefined : addOptions(fieldOf(octets, FILE), options);
  if (file !== undefined) return file;
  const sname = (overload & 2) === 0 ? undefined : addOptions(fieldOf(octets, SNAME), options);
  return sname ?? options;
}

function fieldOf(octets: Uint8Array, { at, length }: { readonly at: number; readonly length: number }): Uint8Array {
  return octets.subarray(at, at + length);
}

export function encodeDhcp(message: Dhcp): Uint8Array {
  const head = concat(
    Uint8Array.of(OP[message.op]),
    u16(HARDWARE),
    Uint8Array.of(message.hops),
    u32(message.xid),
    u16(message.secs),
    u16(message.broadcast ? BROADCAST : 0),
    ipOctets(message.ciaddr),
    ipOctets(message.yiaddr),
    ipOctets(message.siaddr),
    ipOctets(message.giaddr),
    macOctets(message.mac),
  );
  const options = [...message.options].map(([code, octets]) => encodeOption(code, octets));
  const said = concat(head, new Uint8Array(COOKIE_AT - head.length), u32(COOKIE), ...options, Uint8Array.of(255));
  return said.length < SHORTEST ? concat(said, new Uint8Array(SHORTEST - said.length)) : said;
}

/** This many octets of a datagram are not options: IP, UDP, BOOTP, the cookie, and the end. */
export const DHCP_OVERHEAD = 20 + 8 + OPTIONS_AT + 1;
