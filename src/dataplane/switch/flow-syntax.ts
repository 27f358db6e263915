// Matches and actions in Open vSwitch syntax, always in the same order and in the form in which the switch prints them: two flows that mean
// the same must have the same text.
import { isIpv6 } from '../packets/address.ts';

/** The order in which fields are written. A field that is not listed is a bug. */
const FIELDS = [
  'in_port',
  'tun_id',
  'tun_src',
  'tun_ipv6_src',
  'metadata',
  'reg0',
  'reg4',
  'reg5',
  'reg6',
  'ct_state',
  'dl_src',
  'dl_dst',
  'nw_src',
  'nw_dst',
  'ipv6_src',
  'ipv6_dst',
  'arp_spa',
  'arp_tpa',
  'arp_op',
  'tp_src',
  'tp_dst',
  'icmp_type',
  'icmpv6_type',
  'nd_target',
] as const;

type FlowField = (typeof FIELDS)[number];
type Protocol = 'ip' | 'ipv6' | 'arp' | 'udp' | 'icmp' | 'icmp6';
export type Match = { readonly [F in FlowField]?: string | number } & { readonly is?: Protocol };

/** The protocol first, then the fields in their order. */
export function formatMatch({ is, ...fields }: Match): string {
  let text: string = is ?? '';
  for (const field of FIELDS) {
    const value = fields[field];
    if (value !== undefined) text += `${text === '' ? '' : ','}${field}=${value}`;
  }
  return text;
}

export function formatActions(...steps: readonly string[]): string {
  return steps.length === 0 ? 'drop' : steps.join(',');
}

/** The format of registers, metadata and tunnel keys. */
export function hex(number: number): string {
  return number === 0 ? '0' : `0x${number.toString(16)}`;
}

export function setField(field: string, value: string | number): string {
  return `set_field:${value}->${field}`;
}

export function output(port: string): string {
  return `output:${port}`;
}

export function resubmit(table: number): string {
  return `resubmit(,${table})`;
}

export function groupAction(id: number): string {
  return `group:${id}`;
}

/** A bucket that is used only while a port is up. */
export function watchBucket(port: string, steps: string): string {
  return `watch_port:${port},actions=${steps}`;
}

/** To the agent of this host, as a whole packet. */
export const TO_AGENT = 'CONTROLLER:65535';

/** The switch does not send a packet back to the port it came from unless the input port is cleared. */
export const CLEAR_IN_PORT = 'load:0->NXM_OF_IN_PORT[]';

/** Sends to a peer. Without `forget`, a packet that came from a peer is not sent on. */
export function tunnelActions(address: string, key: number, port: string): string[] {
  return [setField('tun_id', hex(key)), setField(isIpv6(address) ? 'tun_ipv6_dst' : 'tun_dst', address), output(port)];
}

/** Answers an ARP request as if this host had the address. */
export function arpReplyActions(ip: string, mac: string): readonly string[] {
  return [
    'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
    setField('eth_src', mac),
    setField('arp_op', 2),
    'move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]',
    'move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]',
    setField('arp_sha', mac),
    setField('arp_spa', ip),
    'IN_PORT',
  ];
}

/** Answers an echo request to one of our addresses. */
export function echoReplyActions(ip: string, mac: string): readonly string[] {
  const v6 = isIpv6(ip);
  const [src, dst] = v6 ? ['NXM_NX_IPV6_SRC[]', 'NXM_NX_IPV6_DST[]'] : ['NXM_OF_IP_SRC[]', 'NXM_OF_IP_DST[]'];
  return [
    'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
    setField('eth_src', mac),
    `move:${src}->${dst}`,
    setField(v6 ? 'ipv6_src' : 'ip_src', ip),
    setField(v6 ? 'icmpv6_type' : 'icmp_type', v6 ? 129 : 0),
    setField('nw_ttl', 64),
    'IN_PORT',
  ];
}

export function matchIpVersion(address: string): Match {
  return { is: isIpv6(address) ? 'ipv6' : 'ip' };
}

export function matchSource(address: string): Match {
  return { ...matchIpVersion(address), [isIpv6(address) ? 'ipv6_src' : 'nw_src']: address };
}

export function matchDestination(address: string): Match {
  return { ...matchIpVersion(address), [isIpv6(address) ? 'ipv6_dst' : 'nw_dst']: address };
}

const GROUP = /(?:^|,)group:(\d+)/g;
const PEER = /(?:^|,)set_field:([0-9a-f.:]+)->tun_(?:ipv6_)?dst/g;
const PORT_WORDS = ['in_port=', 'output:', 'watch_port:'];

/** The groups that these actions refer to. */
export function groupsIn(text: string): number[] {
  if (!text.includes('group:')) return [];
  return [...text.matchAll(GROUP)].map(([, id]) => Number(id));
}

/** The peer addresses that these actions send to. */
export function peerAddressesIn(text: string): string[] {
  if (!text.includes('dst')) return [];
  return [...text.matchAll(PEER)].map(([, address]) => address ?? '');
}

const WATCHED = /^watch_port:("mh[^"]+")/;

/** The BFD port that a bucket watches. */
export function watchedBfdPortIn(bucket: string): string | undefined {
  return WATCHED.exec(bucket)?.[1];
}

/** The ports that a match or actions name. */
export function portNamesIn(text: string): string[] {
  const ports: string[] = [];
  let end: number;
  for (let begin = text.indexOf('"'); begin >= 0; begin = text.indexOf('"', end + 1)) {
    end = text.indexOf('"', begin + 1);
    if (end < 0) break;
    const at = begin;
    const word = PORT_WORDS.find((one) => text.startsWith(one, at - one.length));
    const isWhole = word !== undefined && (at === word.length || text[at - word.length - 1] === ',');
    if (isWhole && end > at + 1) ports.push(text.slice(at, end + 1));
  }
  return ports;
}
