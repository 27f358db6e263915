// A subnet, what its clients send, and what is in the replies: for the tests of the DHCP server.
import { ipOctets } from '../packets/address.ts';
import { decodeDhcp, encodeDhcp, type Dhcp } from '../packets/dhcp.ts';
import { DHCP_OPTION, typeIn, typeOption, type DhcpType } from '../packets/dhcp-options.ts';
import { decodeIpFrame, encodeIpFrame, type IpFrame } from '../packets/ip-frame.ts';
import { isMalformed } from '../packets/malformed.ts';
import { decodeUdp, encodeUdp, type Udp } from '../packets/udp.ts';
import type { DhcpAnswer } from './dhcp-server.ts';
import type { DhcpSubnet } from './dhcp-subnet.ts';

export const CLIENT = '02:00:00:00:00:0b';
export const SERVER = '02:00:00:00:00:02';
export const RELAY = '02:00:00:00:00:0e';
export const IP = '10.0.0.11';

export const KNOWN: DhcpSubnet = {
  cidr: '10.0.0.0/24',
  gateway: '10.0.0.1',
  dns: ['192.0.2.53', '192.0.2.54'],
  domain: 'blue.example',
  mtu: 1400,
  leaseS: 3600,
  serverId: '10.0.0.2',
  serverMac: SERVER,
  reservations: new Map([
    [CLIENT, { ip: IP, hostname: 'vm1' }],
    ['02:00:00:00:00:0c', { ip: '10.0.0.12' }],
  ]),
};

type Option = readonly [code: number, octets: Uint8Array];

interface DhcpRequestOptions {
  readonly fields?: Partial<Dhcp>;
  readonly options?: readonly Option[];
  readonly src?: string;
  readonly dst?: string;
  readonly srcMac?: string;
  readonly vlan?: number;
  readonly dport?: number;
}

export function encodeRequest(
  type: DhcpType,
  { fields = {}, options = [], ...way }: DhcpRequestOptions = {},
): Uint8Array {
  const message: Dhcp = {
    op: 'request',
    xid: 0x12345678,
    hops: 0,
    secs: 3,
    broadcast: false,
    ciaddr: '0.0.0.0',
    yiaddr: '0.0.0.0',
    siaddr: '0.0.0.0',
    giaddr: '0.0.0.0',
    mac: CLIENT,
    options: new Map([[DHCP_OPTION.type, typeOption(type)], ...options]),
    ...fields,
  };
  return encodeFrame(encodeDhcp(message), way);
}

export function encodeFrame(payload: Uint8Array, way: Omit<DhcpRequestOptions, 'fields' | 'options'> = {}): Uint8Array {
  const { src = '0.0.0.0', dst = '255.255.255.255', srcMac = CLIENT, vlan, dport = 67 } = way;
  const between = { src, dst };
  return encodeIpFrame({
    link: { srcMac, dstMac: 'ff:ff:ff:ff:ff:ff', ...(vlan === undefined ? {} : { vlan }) },
    packet: { ...between, protocol: 17, ttl: 64, payload: encodeUdp({ sport: 68, dport, payload }, between) },
  });
}

export const requestedOption = (ip: string): Option => [DHCP_OPTION.requested, ipOctets(ip)];
export const server = (ip: string): Option => [DHCP_OPTION.serverId, ipOctets(ip)];
export const parametersOption = (...codes: number[]): Option => [DHCP_OPTION.parameters, Uint8Array.from(codes)];

interface DhcpReply extends IpFrame {
  readonly udp: Udp;
  readonly message: Dhcp;
}

export function decodeReply(answer: DhcpAnswer): DhcpReply {
  if (answer.kind !== 'reply') throw new Error(answer.code);
  const frame = decodeIpFrame(answer.frame);
  if (isMalformed(frame)) throw new Error(frame.malformed);
  const udp = decodeUdp(frame.packet.payload, frame.packet);
  if (isMalformed(udp)) throw new Error(udp.malformed);
  const message = decodeDhcp(udp.payload);
  if (isMalformed(message)) throw new Error(message.malformed);
  if (typeIn(message.options) !== answer.type) throw new Error(`not the ${answer.type} that it is said to be`);
  return { ...frame, udp, message };
}
