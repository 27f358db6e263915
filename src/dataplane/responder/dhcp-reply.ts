// The frames of a DHCP server's replies: their contents, and their destination (RFC 2131, 4.1 and 4.3).
import { UNSPECIFIED_IPV4, BROADCAST_MAC, BROADCAST_IPV4, ipOctets, maskOf, parsePrefix } from '../packets/address.ts';
import { DHCP_OVERHEAD, DHCP_PORT, encodeDhcp, type Dhcp } from '../packets/dhcp.ts';
import {
  addressesOption,
  DHCP_OPTION,
  encodeOption,
  maximumSizeIn,
  parametersIn,
  routesOption,
  textOption,
  typeIn,
  typeOption,
  type DhcpRoute,
} from '../packets/dhcp-options.ts';
import { encodeIpFrame } from '../packets/ip-frame.ts';
import { PROTOCOL } from '../packets/ipv4.ts';
import { u16, u32 } from '../packets/octets.ts';
import { encodeUdp } from '../packets/udp.ts';
import type { LinkHeader } from '../packets/ethernet.ts';
import type { DhcpReservation, DhcpSubnet } from './dhcp-subnet.ts';

export type ReplyType = 'offer' | 'ack' | 'nak';

/** A received message. */
export interface DhcpRequest {
  readonly link: LinkHeader;
  readonly src: string;
  readonly dst: string;
  readonly message: Dhcp;
}

interface ReplyContext {
  readonly request: DhcpRequest;
  readonly subnet: DhcpSubnet;
  readonly port: DhcpReservation;
}

type Option = readonly [code: number, octets: Uint8Array];

const TTL = 64;
/** Every client accepts datagrams of this size, whatever it says. */
const SMALLEST_MAXIMUM = 576;

export function replyFrame(type: ReplyType, context: ReplyContext): Uint8Array {
  const { request, subnet } = context;
  const message = replyMessage(type, context);
  const to = addressee(type, context);
  const between = { src: subnet.serverId, dst: to.ip };
  const relayed = request.message.giaddr !== UNSPECIFIED_IPV4;
  const udp = {
    sport: DHCP_PORT.server,
    dport: relayed ? DHCP_PORT.server : DHCP_PORT.client,
    payload: encodeDhcp(message),
  };
  const { vlan } = request.link;
  return encodeIpFrame({
    link: {
      srcMac: subnet.serverMac,
      dstMac: to.mac,
      ...(vlan === undefined ? {} : { vlan }),
    },
    packet: { ...between, protocol: PROTOCOL.udp, ttl: TTL, payload: encodeUdp(udp, between) },
  });
}

/** The relay; else the address that the client has; else broadcast, if the client requests it or is refused; else the assigned address. */
function addressee(
  type: ReplyType,
  { request, port: { ip } }: ReplyContext,
): { readonly ip: string; readonly mac: string } {
  const { giaddr, ciaddr, broadcast, mac } = request.message;
  if (giaddr !== UNSPECIFIED_IPV4) return { ip: giaddr, mac: request.link.srcMac };
  if (type === 'nak') return ALL;
  if (ciaddr === ip) return { ip, mac };
  return broadcast ? ALL : { ip, mac };
}

const ALL = { ip: BROADCAST_IPV4, mac: BROADCAST_MAC };

function replyMessage(type: ReplyType, context: ReplyContext): Dhcp {
  const { message } = context.request;
  const leases = type !== 'nak' && typeIn(message.options) !== 'inform';
  return {
    op: 'reply',
    hops: 0,
    xid: message.xid,
    secs: 0,
    // A relay broadcasts a refusal: the client has no address that it could be sent to.
    broadcast: message.broadcast || (type === 'nak' && message.giaddr !== UNSPECIFIED_IPV4),
    ciaddr: type === 'ack' ? message.ciaddr : UNSPECIFIED_IPV4,
    yiaddr: leases ? context.port.ip : UNSPECIFIED_IPV4,
    siaddr: UNSPECIFIED_IPV4,
    giaddr: message.giaddr,
    mac: message.mac,
    options: new Map(
      fitOptions(context, [...firstOptions(type, context), ...(leases ? leaseOptions(context) : [])], type),
    ),
  };
}

function firstOptions(type: ReplyType, { request, subnet }: ReplyContext): Option[] {
  const clientId = request.message.options.get(DHCP_OPTION.clientId);
  return [
    [DHCP_OPTION.type, typeOption(type)],
    [DHCP_OPTION.serverId, ipOctets(subnet.serverId)],
    // RFC 6842: lets a client recognise a reply that is meant for it.
    ...(clientId === undefined ? [] : [[DHCP_OPTION.clientId, clientId] as const]),
  ];
}

/** Half of the lease until renewal, seven eighths until rebinding. */
function leaseOptions({ subnet: { leaseS } }: ReplyContext): Option[] {
  return [
    [DHCP_OPTION.leaseS, u32(leaseS)],
    [DHCP_OPTION.renewS, u32(Math.floor(leaseS / 2))],
    [DHCP_OPTION.rebindS, u32(Math.floor((leaseS * 7) / 8))],
  ];
}

/** The mandatory options, and of the others those that fit the client's maximum size. The option of a relay is returned last. */
function fitOptions(context: ReplyContext, first: readonly Option[], type: ReplyType): Option[] {
  const { options } = context.request.message;
  const relay = context.request.message.giaddr === UNSPECIFIED_IPV4 ? undefined : options.get(DHCP_OPTION.relay);
  const last: readonly Option[] = relay === undefined ? [] : [[DHCP_OPTION.relay, relay]];
  const maximum = Math.max(maximumSizeIn(options) ?? SMALLEST_MAXIMUM, SMALLEST_MAXIMUM);
  let room =
    Math.min(maximum, Math.max(context.subnet.mtu, SMALLEST_MAXIMUM)) - DHCP_OVERHEAD - sizeOf([...first, ...last]);
  const fitting = (type === 'nak' ? [] : settings(context)).filter((option) => {
    const fits = sizeOf([option]) <= room;
    if (fits) room -= sizeOf([option]);
    return fits;
  });
  return [...first, ...fitting, ...last];
}

function sizeOf(options: readonly Option[]): number {
  return options.reduce((sum, [code, octets]) => sum + encodeOption(code, octets).length, 0);
}

/** The most important first. The mask and the MTU are sent unrequested: with another MTU the instance is not reachable across tunnels. */
function settings({ request, subnet, port }: ReplyContext): Option[] {
  const { gateway, dns = [], domain, routes = [], mtu } = subnet;
  const wanted = parametersIn(request.message.options);
  const asksFor = (code: number): boolean => wanted === undefined || wanted.has(code);
  const all: readonly (readonly [code: number, octets: Uint8Array | undefined])[] = [
    [DHCP_OPTION.router, gateway === undefined ? undefined : ipOctets(gateway)],
    [DHCP_OPTION.dns, dns.length === 0 ? undefined : addressesOption(dns)],
    [DHCP_OPTION.routes, routes.length === 0 ? undefined : routesOption(withDefaultRoute(subnet))],
    [DHCP_OPTION.hostname, port.hostname === undefined ? undefined : textOption(port.hostname)],
    [DHCP_OPTION.domain, domain === undefined ? undefined : textOption(domain)],
  ];
  return [
    [DHCP_OPTION.mask, maskOf(parsePrefix(subnet.cidr))],
    [DHCP_OPTION.mtu, u16(mtu)],
    ...all.flatMap(([code, octets]): Option[] => (octets !== undefined && asksFor(code) ? [[code, octets]] : [])),
  ];
}

/** A client that accepts these routes ignores the gateway option (RFC 3442). */
function withDefaultRoute({ gateway, routes = [] }: DhcpSubnet): readonly DhcpRoute[] {
  return gateway === undefined ? routes : [...routes, { cidr: '0.0.0.0/0', via: gateway }];
}
