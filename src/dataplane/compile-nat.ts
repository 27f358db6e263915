// Source NAT of a router: translated at the designated host, sent there by all others. While it is handed over, both ends can
// translate what reaches them, and each asks the other for replies that it does not know. Only one of them answers ARP.
import { keyOf, macOf } from './keys.ts';
import { hopTo, ownerOf, type Draft, type Ground, type Hop, type Piece } from './piece.ts';
import type { ShownService, ShownSubnet } from './shown.ts';
import { EXTERNAL_PORT, TABLE, TUNNEL_ID, TUNNEL_PORT } from './tables.ts';
import { actions, arpAnswer, goTo, match, output, set, toGroup, toPeer, type Match } from './words.ts';

/** Packets that a peer sent here to be translated. */
const FROM_PEER = 'reg4';
/** Replies that a peer could not translate back: they are not passed on a second time. */
const PASSED_ON = 'reg5';

interface Nat {
  readonly service: ShownService;
  readonly key: string;
  readonly ip: string;
  readonly zone: number;
}

export function natPiece(service: ShownService, ground: Ground): Piece {
  const owner = ownerOf(service);
  const floating = (service.floating ?? []).flatMap((one) => floatingFlows(one, macOf(`floating/${one.outside}`)));
  if (service.nat === undefined) return { owner, flows: floating };
  const nat = { service, key: keyOf('service', service.id), ip: service.nat.ip, zone: ground.numbers.zone(service.id) };
  const subnets = service.subnets.filter(({ cidr }) => isV6(cidr) === isV6(nat.ip));
  const away = sendsAway(service) ? hopTo(service, service.designated?.host, ground) : undefined;
  const partner = hopTo(service, service.handOver?.other, ground);
  const group = ground.numbers.group(service.id);
  return {
    owner,
    flows: [
      ...subnets.flatMap((subnet) => leavingFlows(nat, subnet)),
      ...(away?.address === undefined ? [] : [awayFlow(nat, group)]),
      ...(translates(service) ? translatingFlows(nat, partner) : []),
      ...(isAnswering(service) ? [arpFlow(nat)] : []),
      ...floating,
    ],
    groups: away?.address === undefined ? [] : [{ id: group, type: 'indirect', buckets: [bucket(nat, away.address)] }],
    gaps: [...(away?.gaps ?? []), ...(translates(service) ? partner.gaps : [])],
  };
}

/** What starts here is translated elsewhere. The old host goes on by itself until the others are repointed. */
function sendsAway({ role, handOver }: ShownService): boolean {
  return role === 'other' || role === 'preparing' || (role === 'retiring' && handOver?.phase !== 'switched');
}

/** What arrives here, from peers or from outside, can be translated. */
function translates({ role }: ShownService): boolean {
  return role !== 'other';
}

function isAnswering({ role }: ShownService): boolean {
  return role === 'designated';
}

/** Between subnets of the router a packet stays inside; everything else of them goes out. */
function leavingFlows({ service, key }: Nat, { cidr, network }: ShownSubnet): Draft[] {
  const metadata = keyOf('network', network);
  const inside = service.subnets.filter((other) => isV6(other.cidr) === isV6(cidr));
  return [
    ...inside.map((other) => ({
      table: TABLE.ingress,
      priority: 30,
      match: match({ ...between(cidr, other.cidr), metadata }),
      actions: actions(set('metadata', keyOf('network', other.network)), goTo(TABLE.deliver)),
    })),
    {
      table: TABLE.ingress,
      priority: 20,
      match: match({ ...between(cidr, undefined), metadata }),
      actions: actions(set('xreg0', key), goTo(TABLE.outbound)),
    },
  ];
}

function awayFlow({ key }: Nat, group: number): Draft {
  return { table: TABLE.outbound, priority: 10, match: match({ xreg0: key }), actions: actions(toGroup(group)) };
}

function bucket({ key }: Nat, address: string): string {
  return actions(...toPeer(address, { id: TUNNEL_ID.outbound, key }, TUNNEL_PORT));
}

function translatingFlows(nat: Nat, partner: Hop): Draft[] {
  const { key, ip, zone, service } = nat;
  const out = actions(`ct(commit,table=${TABLE.translated},zone=${zone},nat(src=${bracketed(ip)}))`);
  const back = actions(set('xreg0', key), `ct(table=${TABLE.restored},zone=${zone},nat)`);
  // The old host passes on what peers still send to it; everybody else translates it.
  const translated: Match = service.role === 'preparing' ? { [FROM_PEER]: 1 } : {};
  return [
    ...(service.role === 'retiring' && service.handOver?.phase !== 'switched'
      ? []
      : [
          { table: TABLE.outbound, priority: 20, match: match({ ...is(ip), xreg0: key, ...translated }), actions: out },
        ]),
    {
      table: TABLE.classify,
      priority: 60,
      match: match({ in_port: TUNNEL_PORT, tun_id: TUNNEL_ID.outbound, tun_metadata0: key }),
      actions: actions(set('xreg0', key), set(FROM_PEER, 1), goTo(TABLE.outbound)),
    },
    {
      table: TABLE.classify,
      priority: 60,
      match: match({ ...to(ip), in_port: EXTERNAL_PORT }),
      actions: back,
    },
    {
      // Invalid packets would leave with the tenant's address.
      table: TABLE.translated,
      priority: 10,
      match: match({ ...is(ip), xreg0: key, ct_state: '+trk-inv' }),
      actions: actions(output(EXTERNAL_PORT)),
    },
    {
      table: TABLE.restored,
      priority: 20,
      match: match({ ...is(ip), xreg0: key, ct_state: '+est+trk' }),
      actions: actions(goTo(TABLE.deliver)),
    },
    ...passingOn(nat, { partner, back }),
  ];
}

/** Replies that this end cannot translate back go to the other one, and no further. */
function passingOn({ key, ip }: Nat, { partner, back }: { readonly partner: Hop; readonly back: string }): Draft[] {
  if (partner.address === undefined) return [];
  return [
    {
      table: TABLE.classify,
      priority: 60,
      match: match({ in_port: TUNNEL_PORT, tun_id: TUNNEL_ID.restore, tun_metadata0: key }),
      actions: actions(set(PASSED_ON, 1), back),
    },
    {
      table: TABLE.restored,
      priority: 10,
      match: match({ ...is(ip), xreg0: key, [PASSED_ON]: 0 }),
      actions: actions(...toPeer(partner.address, { id: TUNNEL_ID.restore, key }, TUNNEL_PORT)),
    },
  ];
}

function arpFlow({ ip, service }: Nat): Draft {
  return {
    table: TABLE.classify,
    priority: 70,
    match: match({ is: 'arp', in_port: EXTERNAL_PORT, arp_tpa: ip, arp_op: 1 }),
    actions: actions(...arpAnswer(ip, macOf(service.id))),
  };
}

type Floating = NonNullable<ShownService['floating']>[number];

function floatingFlows({ outside, inside, network }: Floating, mac: string): Draft[] {
  const metadata = keyOf('network', network);
  return [
    {
      table: TABLE.ingress,
      priority: 25,
      match: match({ ...from(inside), metadata }),
      actions: actions(set(isV6(inside) ? 'ipv6_src' : 'ip_src', outside), output(EXTERNAL_PORT)),
    },
    {
      table: TABLE.classify,
      priority: 65,
      match: match({ ...to(outside), in_port: EXTERNAL_PORT }),
      actions: actions(
        set(isV6(inside) ? 'ipv6_dst' : 'ip_dst', inside),
        set('metadata', metadata),
        goTo(TABLE.deliver),
      ),
    },
    {
      table: TABLE.classify,
      priority: 70,
      match: match({ is: 'arp', in_port: EXTERNAL_PORT, arp_tpa: outside, arp_op: 1 }),
      actions: actions(...arpAnswer(outside, mac)),
    },
  ];
}

function isV6(address: string): boolean {
  return address.includes(':');
}

function is(address: string): Match {
  return { is: isV6(address) ? 'ipv6' : 'ip' };
}

function from(address: string): Match {
  return { ...is(address), [isV6(address) ? 'ipv6_src' : 'nw_src']: address };
}

function to(address: string): Match {
  return { ...is(address), [isV6(address) ? 'ipv6_dst' : 'nw_dst']: address };
}

function between(source: string, target: string | undefined): Match {
  return { ...from(source), ...(target !== undefined && to(target)) };
}

function bracketed(ip: string): string {
  return isV6(ip) ? `[${ip}]` : ip;
}
