// What a DHCP server says to a client (RFC 2131), for one subnet. It gives nothing out and remembers nothing: a port has the address that
// the fleet gave it, and hears of that one or of none.
import { UNSPECIFIED_IPV4, BROADCAST_IPV4, isInPrefix, lastOf, parsePrefix } from '../packets/address.ts';
import { decodeDhcp, DHCP_PORT, type Dhcp } from '../packets/dhcp.ts';
import { addressIn, DHCP_OPTION, typeIn } from '../packets/dhcp-options.ts';
import { decodeIpFrame } from '../packets/ip-frame.ts';
import { PROTOCOL } from '../packets/ipv4.ts';
import { isMalformed, malformed, type Malformed, type MalformedCode } from '../packets/malformed.ts';
import { decodeUdp } from '../packets/udp.ts';
import { replyFrame, type DhcpRequest, type ReplyType } from './dhcp-reply.ts';
import type { DhcpReservation, DhcpSubnet } from './dhcp-subnet.ts';

export type DhcpDropReason =
  | MalformedCode
  | 'not-for-us' // to another server, or not to a server at all
  | 'other-server' // the client took another server's offer
  | 'other-subnet' // passed on by a relay of another subnet
  | 'borrowed-mac' // the frame came from another MAC address than it speaks of
  | 'unknown-mac'
  | 'not-its-address' // a client that does not ask for an address uses one that is not its own
  | 'no-address-asked';

export type DhcpAnswer =
  | {
      readonly kind: 'reply';
      readonly type: ReplyType;
      readonly mac: string;
      readonly ip: string;
      readonly frame: Uint8Array;
    }
  /** The client said something that changes nothing: it found the address in use, or needs it no more. */
  | { readonly kind: 'noted'; readonly code: 'declined' | 'released'; readonly mac: string; readonly ip: string }
  | { readonly kind: 'silence'; readonly code: DhcpDropReason; readonly mac?: string };

export function answerDhcp(frame: Uint8Array, subnet: DhcpSubnet): DhcpAnswer {
  const request = decodeRequest(frame);
  if (isMalformed(request)) return { kind: 'silence', code: request.malformed };
  const { mac } = request.message;
  const problem = problemOf(request, subnet);
  if (problem !== undefined) return { kind: 'silence', code: problem, mac };
  const port = subnet.reservations.get(mac);
  if (port === undefined) return { kind: 'silence', code: 'unknown-mac', mac };
  const decision = decideReply(request, subnet, port);
  if (decision === 'declined' || decision === 'released') return { kind: 'noted', code: decision, mac, ip: port.ip };
  if (decision !== 'offer' && decision !== 'ack' && decision !== 'nak') return { kind: 'silence', code: decision, mac };
  return { kind: 'reply', type: decision, mac, ip: port.ip, frame: replyFrame(decision, { request, subnet, port }) };
}

function decodeRequest(octets: Uint8Array): DhcpRequest | Malformed {
  const frame = decodeIpFrame(octets);
  if (isMalformed(frame)) return frame;
  const { link, packet } = frame;
  if (packet.protocol !== PROTOCOL.udp) return malformed('other-protocol');
  const udp = decodeUdp(packet.payload, packet);
  if (isMalformed(udp)) return udp;
  if (udp.dport !== DHCP_PORT.server) return malformed('other-protocol');
  const message = decodeDhcp(udp.payload);
  return isMalformed(message) ? message : { link, src: packet.src, dst: packet.dst, message };
}

/** Why this server has nothing to do with a message, whatever it asks. */
function problemOf({ link, dst, message }: DhcpRequest, { cidr, serverId }: DhcpSubnet): DhcpDropReason | undefined {
  const subnet = parsePrefix(cidr);
  const toUs = dst === BROADCAST_IPV4 || dst === serverId || dst === lastOf(subnet);
  if (message.op !== 'request' || !toUs) return 'not-for-us';
  if (message.giaddr !== UNSPECIFIED_IPV4) return isInPrefix(subnet, message.giaddr) ? undefined : 'other-subnet';
  return link.srcMac === message.mac ? undefined : 'borrowed-mac';
}

function decideReply(
  request: DhcpRequest,
  subnet: DhcpSubnet,
  port: DhcpReservation,
): ReplyType | 'declined' | 'released' | DhcpDropReason {
  const { message } = request;
  const server = addressIn(message.options, DHCP_OPTION.serverId);
  switch (typeIn(message.options)) {
    case 'discover':
      return 'offer';
    case 'request':
      return server === undefined || server === subnet.serverId ? decideRequestReply(message, port) : 'other-server';
    case 'inform':
      // Those who leave their address out are at the one that they send from.
      return (message.ciaddr === UNSPECIFIED_IPV4 ? request.src : message.ciaddr) === port.ip
        ? 'ack'
        : 'not-its-address';
    case 'decline':
      return server === undefined || server === subnet.serverId ? 'declined' : 'other-server';
    case 'release':
      return server === undefined || server === subnet.serverId ? 'released' : 'other-server';
    default:
      return 'not-for-us';
  }
}

/**
 * Selecting and after a reboot a client names the address as an option, renewing and rebinding it has it. In each case there is one
 * right answer: the fleet knows every address of the subnet, so "no" can be said for sure.
 */
function decideRequestReply({ options, ciaddr }: Dhcp, { ip }: DhcpReservation): ReplyType | DhcpDropReason {
  const wanted = addressIn(options, DHCP_OPTION.requested) ?? ciaddr;
  if (wanted === UNSPECIFIED_IPV4) return 'no-address-asked';
  return wanted === ip && (ciaddr === UNSPECIFIED_IPV4 || ciaddr === ip) ? 'ack' : 'nak';
}
