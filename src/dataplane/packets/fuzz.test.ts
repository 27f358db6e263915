// Decoders on octets from nowhere: they answer with a value, say the same wherever the octets lie in memory, and end.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeArp, decodeArpFrame, encodeArpFrame } from './arp.ts';
import { pseudoHeaderChecksum } from './checksum.ts';
import { decodeDhcp, encodeDhcp } from './dhcp.ts';
import { addOptions, DHCP_OPTION, typeOption } from './dhcp-options.ts';
import { decodeEcho } from './echo.ts';
import { decodeEthernet } from './ethernet.ts';
import { decodeIpFrame } from './ip-frame.ts';
import { decodeIpv4 } from './ipv4.ts';
import { decodeIpv6 } from './ipv6.ts';
import { decodeNd } from './nd.ts';
import { decodeNdFrame, encodeNdFrame } from './nd-frame.ts';
import { decodeOptions } from './nd-options.ts';
import { amid, fuzzOctets } from './octets-fixture.ts';
import { buildConntrackPacket } from './conntrack-packet.ts';
import { decodeTcp } from './tcp.ts';
import { decodeUdp } from './udp.ts';

const MAC = { srcMac: '02:00:00:00:00:01', dstMac: '02:00:00:00:00:02' };
const FOUR = { src: '10.0.0.1', dst: '10.0.0.2' };
const SIX = { src: 'fe80::1', dst: 'fe80::2' };

function seed(connection: Parameters<typeof buildConntrackPacket>[0]): Uint8Array {
  const made = buildConntrackPacket(connection);
  return made.kind === 'seed' ? made.frame : new Uint8Array();
}

const frames = [
  seed({ protocol: 'udp', ...FOUR, sport: 1, dport: 2 }),
  seed({ protocol: 'tcp', ...SIX, sport: 1, dport: 2 }),
  seed({ protocol: 'icmp', ...FOUR, id: 1, type: 8, code: 0 }),
  encodeArpFrame({
    link: MAC,
    arp: { operation: 'reply', senderMac: MAC.srcMac, senderIp: FOUR.src, targetMac: MAC.dstMac, targetIp: FOUR.dst },
  }),
  encodeNdFrame({
    link: { ...MAC, vlan: 7 },
    between: SIX,
    message: {
      kind: 'router-advertisement',
      hopLimit: 64,
      managed: true,
      other: false,
      lifetimeS: 1800,
      sourceMac: MAC.srcMac,
      mtu: 1400,
      prefixes: [{ cidr: '2001:db8::/64', onLink: true, autonomous: false, validS: 1, preferredS: 1 }],
    },
  }),
];
const packets = frames.map((frame) => frame.subarray(14));
const segments = frames.map((frame) => frame.subarray(34));
const dhcp = encodeDhcp({
  op: 'request',
  xid: 1,
  hops: 0,
  secs: 0,
  broadcast: true,
  ciaddr: '0.0.0.0',
  yiaddr: '0.0.0.0',
  siaddr: '0.0.0.0',
  giaddr: '0.0.0.0',
  mac: MAC.srcMac,
  options: new Map([
    [DHCP_OPTION.type, typeOption('discover')],
    [DHCP_OPTION.overload, Uint8Array.of(3)],
    [DHCP_OPTION.parameters, Uint8Array.of(1, 3, 6)],
  ]),
});

type Decoder = (octets: Uint8Array) => object;

describe.each<[string, Decoder, readonly Uint8Array[]]>([
  ['Ethernet', decodeEthernet, frames],
  ['ARP', decodeArp, packets],
  ['ARP in a frame', decodeArpFrame, frames],
  ['IPv4', decodeIpv4, packets],
  ['IPv6', decodeIpv6, packets],
  ['IP in a frame', decodeIpFrame, frames],
  ['UDP', (octets) => decodeUdp(octets, FOUR), segments],
  ['TCP', (octets) => decodeTcp(octets, SIX), segments],
  ['echo', (octets) => decodeEcho(octets, FOUR), segments],
  ['DHCP', decodeDhcp, [dhcp]],
  ['options of DHCP', addedOptions, [dhcp.subarray(240)]],
  ['neighbour discovery', nd, frames.map((frame) => frame.subarray(58))],
  ['neighbour discovery in a frame', decodeNdFrame, frames],
  ['options of neighbour discovery', decodeOptions, frames.map((frame) => frame.subarray(74))],
])('%s', (_name, decode, good) => {
  test('never throws, and never looks beyond what it is given', () => {
    fc.assert(
      fc.property(fuzzOctets(good), (octets) => {
        const alone = decode(Uint8Array.from(octets));
        expect(decode(amid(octets, 0))).toEqual(alone);
        expect(decode(amid(octets, 255))).toEqual(alone);
        expect(decode(amid(octets, 1))).toEqual(alone);
      }),
      { numRuns: 300 },
    );
  });
});

function addedOptions(octets: Uint8Array): object {
  const options = new Map<number, Uint8Array>();
  return addOptions(octets, options) ?? options;
}

/** With the checksum that belongs to it: else little would be looked at. */
function nd(octets: Uint8Array): object {
  const payload = Uint8Array.from(octets);
  if (payload.length >= 4) {
    payload[0] = 133 + ((payload[0] ?? 0) % 4);
    payload.set([0, 0, 0], 1);
    const sum = pseudoHeaderChecksum(SIX, 58, payload);
    payload.set([sum >> 8, sum & 255], 2);
  }
  return decodeNd({ ...SIX, protocol: 58, ttl: 255, payload: amid(payload, octets.length & 255) });
}
