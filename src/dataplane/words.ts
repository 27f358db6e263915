// Matches and actions in the words of Open vSwitch, always in the same order: two flows that mean the same have the same text.

/** The order in which fields are written. A field that is not here is a mistake. */
const FIELDS = [
  'in_port',
  'tun_id',
  'tun_src',
  'tun_ipv6_src',
  'tun_metadata0',
  'metadata',
  'xreg0',
  'xreg1',
  'reg4',
  'reg5',
  'ct_state',
  'dl_src',
  'dl_dst',
  'nw_src',
  'nw_dst',
  'ipv6_src',
  'ipv6_dst',
  'arp_tpa',
  'arp_op',
  'tp_src',
  'tp_dst',
] as const;

type Field = (typeof FIELDS)[number];
export type Match = { readonly [F in Field]?: string | number } & { readonly is?: 'ip' | 'ipv6' | 'arp' | 'udp' };

/** The protocol first, then the fields in their order. */
export function match({ is, ...fields }: Match): string {
  const said = FIELDS.flatMap((field) => (fields[field] === undefined ? [] : [`${field}=${fields[field]}`]));
  return [...(is === undefined ? [] : [is]), ...said].join(',');
}

export function actions(...steps: readonly string[]): string {
  return steps.length === 0 ? 'drop' : steps.join(',');
}

export function set(field: string, value: string | number): string {
  return `set_field:${value}->${field}`;
}

export function output(port: string): string {
  return `output:${port}`;
}

export function goTo(table: number): string {
  return `resubmit(,${table})`;
}

export function toGroup(id: number): string {
  return `group:${id}`;
}

/** A packet that came by the tunnel port does not leave by it unless it forgets where it came from. */
export const FORGET_IN_PORT = 'load:0->NXM_OF_IN_PORT[]';

/** Sends to a peer. */
export function toPeer(
  address: string,
  about: { readonly id: string; readonly key: string },
  port: string,
): readonly string[] {
  return [
    set(address.includes(':') ? 'tun_ipv6_dst' : 'tun_dst', address),
    set('tun_id', about.id),
    set('tun_metadata0', about.key),
    FORGET_IN_PORT,
    output(port),
  ];
}

/** Answers an ARP request for an address as if this host had it. */
export function arpAnswer(ip: string, mac: string): readonly string[] {
  return [
    'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
    set('eth_src', mac),
    'load:2->NXM_OF_ARP_OP[]',
    'move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]',
    'move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]',
    set('arp_sha', mac),
    set('arp_spa', ip),
    'IN_PORT',
  ];
}

const GROUP = /(?:^|,)group:(\d+)/g;
const PEER = /(?:^|,)set_field:([0-9a-f.:]+)->tun_(?:ipv6_)?dst/g;

/** The groups that these actions use. */
export function groupsIn(text: string): number[] {
  return [...text.matchAll(GROUP)].map(([, id]) => Number(id));
}

/** The addresses of peers that these actions send to. */
export function peersIn(text: string): string[] {
  return [...text.matchAll(PEER)].map(([, address]) => address ?? '');
}
