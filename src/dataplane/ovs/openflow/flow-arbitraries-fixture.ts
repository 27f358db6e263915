// Any flow and any group in the words that are written here, for properties. A switch takes all of them: what an action needs to be
// in the match is in it.
import * as fc from 'fast-check';
import type { Flow, FlowGroup } from '../../switch/switch.ts';

const number = (max: number): fc.Arbitrary<string> => fc.integer({ min: 0, max }).map(String);
/** Not zero: a field that requests it is written `0`, which is among the tables of examples. */
const hex = (max: bigint): fc.Arbitrary<string> =>
  fc.bigInt({ min: 1n, max }).map((value) => `0x${value.toString(16)}`);
const register = hex(0xffff_ffffn);
const wide = hex(0xffff_ffff_ffff_ffffn);
const byte = fc.integer({ min: 0, max: 255 });
const mac = fc
  .tuple(byte, byte, byte)
  .map((bytes) => `02:00:00:${bytes.map((one) => one.toString(16).padStart(2, '0')).join(':')}`);
const v4 = fc.tuple(byte, byte).map(([a, b]) => `10.1.${a}.${b}`);
const v4Net = fc.oneof(
  v4,
  byte.map((a) => `10.${a}.0.0/16`),
  byte.map((a) => `10.0.${a}.0/24`),
);
const word = fc.integer({ min: 1, max: 0xffff }).map((one) => one.toString(16));
const v6 = fc.tuple(word, word).map(([a, b]) => `fd00:${a}::${b}`);
const v6Net = fc.oneof(
  v6,
  word.map((a) => `fd00:${a}::/32`),
  word.map((a) => `fd00:0:${a}::/48`),
);
const port = fc.constantFrom('"vm1"', '"muster-tun"', '"muster-ext"');
const table = fc.integer({ min: 1, max: 200 });
const zone = fc.integer({ min: 1, max: 65_535 });
const portNumber = fc.integer({ min: 1, max: 65_535 });

const FLAGS = ['new', 'est', 'rel', 'rpl', 'inv', 'trk'];
const sign = fc.constantFrom('', '+', '-');
/** A switch does not take a commit of what is invalid, so nothing requests that here. */
const ctState = fc
  .tuple(sign, sign, sign, sign, fc.constantFrom('', '-'), sign)
  .filter((signs) => signs.some((one) => one !== ''))
  .map((signs) => signs.flatMap((one, nth) => (one === '' ? [] : [`${one}${FLAGS[nth]}`])).join(''));

type Protocol = '' | 'ip' | 'ipv6' | 'arp' | 'udp' | 'udp6' | 'tcp' | 'icmp' | 'icmp6';
const isV4 = (protocol: Protocol): boolean => ['ip', 'udp', 'tcp', 'icmp'].includes(protocol);
const isV6 = (protocol: Protocol): boolean => ['ipv6', 'udp6', 'icmp6'].includes(protocol);
const hasPorts = (protocol: Protocol): boolean => ['udp', 'tcp', 'udp6'].includes(protocol);

type ArbitraryField = readonly [string, fc.Arbitrary<string>];
const only = (when: boolean, ...fields: readonly ArbitraryField[]): readonly ArbitraryField[] => (when ? fields : []);

/** In the order in which a match is written. */
function fieldsOf(protocol: Protocol): readonly ArbitraryField[] {
  return [
    ['in_port', fc.oneof(port, fc.constant('LOCAL'))],
    ['tun_id', wide],
    ['tun_src', v4],
    ['metadata', wide],
    ['reg0', register],
    ['reg4', register],
    ['reg5', register],
    ...only(isV4(protocol) || isV6(protocol), ['ct_state', ctState]),
    ['dl_src', mac],
    ['dl_dst', fc.oneof(mac, fc.constant('01:00:00:00:00:00/01:00:00:00:00:00'))],
    ...only(isV4(protocol), ['nw_src', v4Net], ['nw_dst', v4Net]),
    ...only(isV6(protocol), ['ipv6_src', v6Net], ['ipv6_dst', v6Net]),
    ...only(protocol === 'arp', ['arp_spa', v4Net], ['arp_tpa', v4], ['arp_op', fc.constantFrom('1', '2')]),
    ...only(hasPorts(protocol), ['tp_src', number(65_535)], ['tp_dst', number(65_535)]),
    ...only(protocol === 'icmp', ['icmp_type', number(255)]),
    ...only(protocol === 'icmp6', ['icmpv6_type', fc.constantFrom('128', '134', '135')]),
  ];
}

function matchOf(protocol: Protocol): fc.Arbitrary<string> {
  const fields = fieldsOf(protocol).map(([name, value]) =>
    fc.option(value, { freq: 3 }).map((text) => (text === null ? [] : [`${name}=${text}`])),
  );
  return fc.tuple(...fields).map((said) => [...(protocol === '' ? [] : [protocol]), ...said.flat()].join(','));
}

const set = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  value.map((text) => `set_field:${text}->${name}`);
const anyOf = fc.constantFrom;

const ALWAYS: readonly fc.Arbitrary<string>[] = [
  port.map((name) => `output:${name}`),
  anyOf('IN_PORT', 'CONTROLLER:65535', 'ct_clear', 'load:0->NXM_OF_IN_PORT[]'),
  anyOf('move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]', 'move:OXM_OF_METADATA[0..31]->NXM_NX_REG0[]'),
  table.map((one) => `resubmit(,${one})`),
  set('eth_src', mac),
  set('eth_dst', mac),
  set('tun_id', wide),
  set('tun_dst', v4),
  set('tun_ipv6_dst', v6),
  set('metadata', wide),
  set('reg0', register),
  set('reg15', register),
];

const ct = (address: fc.Arbitrary<string>, withPort: (ip: string, number: number) => string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.tuple(table, zone, address).map(([to, of, ip]) => `ct(commit,table=${to},zone=${of},nat(src=${ip}))`),
    fc.tuple(zone, address, portNumber).map(([of, ip, nth]) => `ct(commit,zone=${of},nat(src=${withPort(ip, nth)}))`),
    fc.tuple(table, zone).map(([to, of]) => `ct(table=${to},zone=${of},nat)`),
    zone.map((of) => `ct(commit,zone=${of})`),
  );

function actionsOf(protocol: Protocol): readonly fc.Arbitrary<string>[] {
  if (isV4(protocol)) {
    const move = anyOf('dec_ttl', 'set_field:64->nw_ttl', 'move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]');
    const own = ct(v4, (ip, nth) => `${ip}:${nth}`);
    const icmp = protocol === 'icmp' ? [set('icmp_type', number(255))] : [];
    return [...ALWAYS, set('ip_src', v4), set('ip_dst', v4), move, own, ...icmp];
  }
  if (isV6(protocol)) {
    const move = anyOf('dec_ttl', 'set_field:64->nw_ttl', 'move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]');
    const own = ct(v6, (ip, nth) => `[${ip}]:${nth}`);
    const icmp = protocol === 'icmp6' ? [set('icmpv6_type', number(255))] : [];
    return [...ALWAYS, set('ipv6_src', v6), set('ipv6_dst', v6), move, own, ...icmp];
  }
  if (protocol !== 'arp') return ALWAYS;
  const arp = anyOf('move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]', 'move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]');
  return [...ALWAYS, arp, set('arp_op', anyOf('1', '2')), set('arp_sha', mac), set('arp_spa', v4)];
}

const steps = (protocol: Protocol): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(...actionsOf(protocol)), { maxLength: 6 })
    .map((all) => (all.length === 0 ? 'drop' : all.join(',')));

const PROTOCOLS: readonly Protocol[] = ['', 'ip', 'ipv6', 'arp', 'udp', 'udp6', 'tcp', 'icmp', 'icmp6'];

export const anyFlow: fc.Arbitrary<Flow> = fc.constantFrom(...PROTOCOLS).chain((protocol) =>
  fc.record({
    table: fc.integer({ min: 0, max: 200 }),
    priority: fc.integer({ min: 0, max: 65_535 }),
    match: matchOf(protocol),
    actions: steps(protocol),
    cookie: wide.map((text) => text.slice(2).padStart(16, '0')),
  }),
);

const id = fc.integer({ min: 0x4000_0000, max: 0x7fff_ffff });
const watched = fc.tuple(port, steps('')).map(([name, actions]) => `watch_port:${name},actions=${actions}`);

export const anyGroup: fc.Arbitrary<FlowGroup> = fc.oneof(
  fc.record({ id, type: fc.constant('all' as const), buckets: fc.array(steps(''), { maxLength: 3 }) }),
  fc.record({ id, type: fc.constant('indirect' as const), buckets: fc.tuple(steps('')) }),
  fc.record({ id, type: fc.constant('fast-failover' as const), buckets: fc.array(watched, { maxLength: 3 }) }),
);
