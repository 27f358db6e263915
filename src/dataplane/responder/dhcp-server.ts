// The decisions of a DHCP server (RFC 2131) for one subnet. It has no leases and keeps no state: a port has the address that the fleet
// assigned, and is offered that address or none.
import { UNSPECIFIED_IPV4, BROADCAST_IPV4, isInPrefix, lastOf, parsePrefix } from '../packets/address.ts';
import { decodeDhcp, DHCP_PORT, type Dhcp } from '../packets/dhcp.ts';
import { addressIn, DHCP_OPTION, typeIn } from '../packets/dhcp-options.ts';
import { decodeIpFrame } from '../packets/ip-frame.ts';
import { PROTOCOL } from '../packets/ipv4.ts';
import { isMalformed, malformedError, type Malformed, type MalformedCode } from '../packets/malformed.ts';
import { decodeUdp } from '../packets/udp.ts';
import { replyFrame, type DhcpRequest, type ReplyType } from './dhcp-reply.ts';
import type { DhcpReservation, DhcpSubnet } from './dhcp-subnet.ts';

export type DhcpDropReason =
  | MalformedCode
  | 'not-for-us' // for another server, or not for a server at all
  | 'other-server' // the client took another server's offer
  | 'other-subnet' // forwarded by a relay of another subnet
  | 'mac-mismatch' // the frame came from another MAC address than the message names
  | 'unknown-mac'
  | 'address-mismatch' // a client that requests no address uses one that is not its own
  | 'no-address-requested';

export type DhcpAnswer =
  | {
      readonly kind: 'reply';
      readonly type: ReplyType;
      readonly mac: string;
      readonly ip: string;
      readonly frame: Uint8Array;
    }
  /** The client reports something that changes nothing: it found the address in use, or releases it. */
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
  if (packet.protocol !== PROTOCOL.udp) return malformedError('other-protocol');
  const udp = decodeUdp(packet.payload, packet);
  if (isMalformed(udp)) return udp;
  if (udp.dport !== DHCP_PORT.server) return malformedError('other-protocol');
  const message = decodeDhcp(udp.payload);
  return isMalformed(message) ? message : { link, src: packet.src, dst: packet.dst, message };
}

/** Why this server ignores a message, whatever its type. */
function problemOf({ link, dst, message }: DhcpRequest, { cidr, serverId }: DhcpSubnet): DhcpDropReason | undefined {
  const subnet = parsePrefix(cidr);
  const toUs = dst === BROADCAST_IPV4 || dst === serverId || dst === lastOf(subnet);
  if (message.op !== 'request' || !toUs) return 'not-for-us';
  if (message.giaddr !== UNSPECIFIED_IPV4) return isInPrefix(subnet, message.giaddr) ? undefined : 'other-subnet';
  return link.srcMac === message.mac ? undefined : 'mac-mismatch';
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
      // A client that omits its address has the one that it sends from.
      return (message.ciaddr === UNSPECIFIED_IPV4 ? request.src : message.ciaddr) === port.ip
        ? 'ack'
        : 'address-mismatch';
    case 'decline':
      return server === undefined || server === subnet.serverId ? 'declined' : 'other-server';
    case 'release':
      return server === undefined || server === subnet.serverId ? 'released' : 'other-server';
    default:
      return 'not-for-us';
  }
}

/**
 * When selecting and after a reboot the client names the address in an option; when renewing and rebinding it has it. In each case there is
 * one right answer: the fleet knows every address of the subnet, so a refusal is certain.
 */
function decideRequestReply({ options, ciaddr }: Dhcp, { ip }: DhcpReservation): ReplyType | DhcpDropReason {
  const wanted = addressIn(options, DHCP_OPTION.requested) ?? ciaddr;
  if (wanted === UNSPECIFIED_IPV4) return 'no-address-requested';
  return wanted === ip && (ciaddr === UNSPECIFIED_IPV4 || ciaddr === ip) ? 'ack' : 'nak';
}
