// The packet fields that flows match, set and move: their names in texts and their encoding on the wire. The order of this table is the
// order in which a match is written. A field that is not listed is shown as `unknown(...)` and cannot be written.

export type FieldForm = 'hex' | 'decimal' | 'mac' | 'ipv4' | 'ipv6' | 'port' | 'ct-state';

export interface OxmField {
  /** In a match. Ports of all transports have the same name there. */
  readonly word: string;
  /** In `set_field`. */
  readonly name: string;
  /** In `move` and `load`. */
  readonly long: string;
  readonly kind: FieldForm;
  readonly bytes: number;
  /** Class and number in the upper 23 bits, as in a header without mask and length. */
  readonly code: number;
  /** The older field that the switch uses where the other is newer than the protocol. */
  readonly older: number | undefined;
  /** Its position in a match. */
  readonly place: number;
}

type Code = readonly [number, number];
type FieldRow = readonly [string, string, string, FieldForm, number, Code, Code?];

const OF = 0x8000;
const NX0 = 0x0000;
const NX1 = 0x0001;
const PACKET_REGISTER = 0x8001;
const ND_EXTENSION = 0x1000;

const registers = Array.from({ length: 16 }, (_, nth): FieldRow => [
  `reg${nth}`,
  `reg${nth}`,
  `NXM_NX_REG${nth}`,
  'hex',
  4,
  [NX1, nth],
]);
const wideRegisters = Array.from({ length: 8 }, (_, nth): FieldRow => [
  `xreg${nth}`,
  `xreg${nth}`,
  `OXM_OF_PKT_REG${nth}`,
  'hex',
  8,
  [PACKET_REGISTER, nth],
]);

const ROWS: readonly FieldRow[] = [
  ['in_port', 'in_port_oxm', 'OXM_OF_IN_PORT', 'port', 4, [OF, 0]],
  // The one that can be set: this clears the input port of a packet.
  ['', 'in_port', 'NXM_OF_IN_PORT', 'port', 2, [NX0, 0]],
  ['tun_id', 'tun_id', 'NXM_NX_TUN_ID', 'hex', 8, [OF, 38], [NX1, 16]],
  ['tun_src', 'tun_src', 'NXM_NX_TUN_IPV4_SRC', 'ipv4', 4, [NX1, 31]],
  ['tun_dst', 'tun_dst', 'NXM_NX_TUN_IPV4_DST', 'ipv4', 4, [NX1, 32]],
  ['tun_ipv6_src', 'tun_ipv6_src', 'NXM_NX_TUN_IPV6_SRC', 'ipv6', 16, [NX1, 109]],
  ['tun_ipv6_dst', 'tun_ipv6_dst', 'NXM_NX_TUN_IPV6_DST', 'ipv6', 16, [NX1, 110]],
  ['metadata', 'metadata', 'OXM_OF_METADATA', 'hex', 8, [OF, 2]],
  ...registers,
  ...wideRegisters,
  ['pkt_mark', 'pkt_mark', 'NXM_NX_PKT_MARK', 'hex', 4, [NX1, 33]],
  ['ct_state', 'ct_state', 'NXM_NX_CT_STATE', 'ct-state', 4, [NX1, 105]],
  ['ct_zone', 'ct_zone', 'NXM_NX_CT_ZONE', 'decimal', 2, [NX1, 106]],
  ['ct_mark', 'ct_mark', 'NXM_NX_CT_MARK', 'hex', 4, [NX1, 107]],
  ['dl_src', 'eth_src', 'NXM_OF_ETH_SRC', 'mac', 6, [OF, 4], [NX0, 2]],
  ['dl_dst', 'eth_dst', 'NXM_OF_ETH_DST', 'mac', 6, [OF, 3], [NX0, 1]],
  ['dl_type', 'eth_type', 'NXM_OF_ETH_TYPE', 'hex', 2, [OF, 5], [NX0, 3]],
  ['vlan_tci', 'vlan_tci', 'NXM_OF_VLAN_TCI', 'hex', 2, [NX0, 4]],
  ['vlan_vid', 'vlan_vid', 'OXM_OF_VLAN_VID', 'hex', 2, [OF, 6]],
  ['vlan_pcp', 'vlan_pcp', 'OXM_OF_VLAN_PCP', 'decimal', 1, [OF, 7]],
  ['nw_src', 'ip_src', 'NXM_OF_IP_SRC', 'ipv4', 4, [OF, 11], [NX0, 7]],
  ['nw_dst', 'ip_dst', 'NXM_OF_IP_DST', 'ipv4', 4, [OF, 12], [NX0, 8]],
  ['ipv6_src', 'ipv6_src', 'NXM_NX_IPV6_SRC', 'ipv6', 16, [OF, 26], [NX1, 19]],
  ['ipv6_dst', 'ipv6_dst', 'NXM_NX_IPV6_DST', 'ipv6', 16, [OF, 27], [NX1, 20]],
  ['ipv6_label', 'ipv6_label', 'NXM_NX_IPV6_LABEL', 'hex', 4, [OF, 28], [NX1, 27]],
  ['nw_proto', 'nw_proto', 'NXM_OF_IP_PROTO', 'decimal', 1, [OF, 10], [NX0, 6]],
  ['ip_dscp', 'ip_dscp', 'OXM_OF_IP_DSCP', 'decimal', 1, [OF, 8]],
  ['nw_ecn', 'nw_ecn', 'NXM_NX_IP_ECN', 'decimal', 1, [OF, 9], [NX1, 28]],
  ['nw_ttl', 'nw_ttl', 'NXM_NX_IP_TTL', 'decimal', 1, [NX1, 29]],
  ['ip_frag', 'ip_frag', 'NXM_NX_IP_FRAG', 'hex', 1, [NX1, 26]],
  ['arp_spa', 'arp_spa', 'NXM_OF_ARP_SPA', 'ipv4', 4, [OF, 22], [NX0, 16]],
  ['arp_tpa', 'arp_tpa', 'NXM_OF_ARP_TPA', 'ipv4', 4, [OF, 23], [NX0, 17]],
  ['arp_op', 'arp_op', 'NXM_OF_ARP_OP', 'decimal', 2, [OF, 21], [NX0, 15]],
  ['arp_sha', 'arp_sha', 'NXM_NX_ARP_SHA', 'mac', 6, [OF, 24], [NX1, 17]],
  ['arp_tha', 'arp_tha', 'NXM_NX_ARP_THA', 'mac', 6, [OF, 25], [NX1, 18]],
  ['tp_src', 'tcp_src', 'NXM_OF_TCP_SRC', 'decimal', 2, [OF, 13], [NX0, 9]],
  ['tp_src', 'udp_src', 'NXM_OF_UDP_SRC', 'decimal', 2, [OF, 15], [NX0, 11]],
  ['tp_src', 'sctp_src', 'OXM_OF_SCTP_SRC', 'decimal', 2, [OF, 17]],
  ['tp_dst', 'tcp_dst', 'NXM_OF_TCP_DST', 'decimal', 2, [OF, 14], [NX0, 10]],
  ['tp_dst', 'udp_dst', 'NXM_OF_UDP_DST', 'decimal', 2, [OF, 16], [NX0, 12]],
  ['tp_dst', 'sctp_dst', 'OXM_OF_SCTP_DST', 'decimal', 2, [OF, 18]],
  ['tcp_flags', 'tcp_flags', 'NXM_NX_TCP_FLAGS', 'hex', 2, [NX1, 34]],
  ['icmp_type', 'icmp_type', 'NXM_OF_ICMP_TYPE', 'decimal', 1, [OF, 19], [NX0, 13]],
  ['icmp_code', 'icmp_code', 'NXM_OF_ICMP_CODE', 'decimal', 1, [OF, 20], [NX0, 14]],
  ['icmpv6_type', 'icmpv6_type', 'NXM_NX_ICMPV6_TYPE', 'decimal', 1, [OF, 29], [NX1, 21]],
  ['icmpv6_code', 'icmpv6_code', 'NXM_NX_ICMPV6_CODE', 'decimal', 1, [OF, 30], [NX1, 22]],
  ['nd_target', 'nd_target', 'NXM_NX_ND_TARGET', 'ipv6', 16, [OF, 31], [NX1, 23]],
  ['nd_sll', 'nd_sll', 'NXM_NX_ND_SLL', 'mac', 6, [OF, 32], [NX1, 24]],
  ['nd_tll', 'nd_tll', 'NXM_NX_ND_TLL', 'mac', 6, [OF, 33], [NX1, 25]],
  ['nd_reserved', 'nd_reserved', 'ERICOXM_OF_ICMPV6_ND_RESERVED', 'decimal', 4, [ND_EXTENSION, 1]],
  ['nd_options_type', 'nd_options_type', 'ERICOXM_OF_ICMPV6_ND_OPTIONS_TYPE', 'decimal', 1, [ND_EXTENSION, 2]],
];

const codeOf = ([of, number]: Code): number => of * 128 + number;

const FIELDS: readonly OxmField[] = ROWS.map(([word, name, long, kind, bytes, code, older], place) => {
  const [now, then] = [codeOf(code), older === undefined ? undefined : codeOf(older)];
  return { word, name, long, kind, bytes, code: now, older: then, place };
});

const BY_WORD = new Map(
  FIELDS.filter(({ word }) => word !== '' && !word.startsWith('tp_')).map((one) => [one.word, one]),
);
const BY_NAME = new Map(FIELDS.map((field) => [field.name, field]));
const BY_LONG = new Map(FIELDS.map((field) => [field.long, field]));
const BY_CODE = new Map(
  FIELDS.flatMap((field) => [field.code, field.older].flatMap((code) => (code === undefined ? [] : [[code, field]]))),
) as ReadonlyMap<number, OxmField>;

/** The transport protocols whose ports a match may name, by protocol number. */
const TRANSPORTS = new Map([
  [6, 'tcp'],
  [17, 'udp'],
  [132, 'sctp'],
]);

/** By its name in a match of packets of this protocol. */
export function fieldByWord(word: string, protocol: number | undefined): OxmField | undefined {
  if (word !== 'tp_src' && word !== 'tp_dst') return BY_WORD.get(word);
  const transport = TRANSPORTS.get(protocol ?? 0);
  return transport === undefined ? undefined : BY_NAME.get(transport + word.slice(2));
}

export function fieldByName(name: string): OxmField | undefined {
  return BY_NAME.get(name);
}

export function fieldByLongName(name: string): OxmField | undefined {
  return BY_LONG.get(name);
}

export function fieldByCode(code: number): OxmField | undefined {
  return BY_CODE.get(code);
}
