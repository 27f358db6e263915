// Source NAT of a router: translated at the designated host, sent there by all others. While it is handed over, both ends translate
// what they know, and each asks the other for replies that it does not know. Floating addresses are translated one to one, on the
// host of their instance.
import {
  asking,
  askingGroup,
  beginningFlows,
  givingOf,
  knownFlows,
  type Giving,
  type Nat,
  type OtherEnd,
} from './compile-nat-ends.ts';
import { heartbeatPort, macOf } from './keys.ts';
import { hopTo, ownerOf, wayOutBy, type Draft, type Ground, type Hop, type Piece } from './piece.ts';
import type { ShownFloating, ShownService } from './shown.ts';
import type { Group } from './switch.ts';
import { EXTERNAL_PORT, TABLE, TUNNEL_PORT } from './tables.ts';
import {
  actions,
  arpAnswer,
  FORGET_IN_PORT,
  from,
  goTo,
  hex,
  isV6,
  match,
  ofVersion,
  output,
  set,
  to,
  toGroup,
  toPeer,
  watching,
  type Match,
} from './words.ts';

/** Packets that a peer sent here to be translated. */
const FROM_PEER = 'reg4';
/** Replies that a peer could not translate back: they are not passed on a second time. */
const PASSED_ON = 'reg5';

export function natPiece(service: ShownService, ground: Ground): Piece {
  const owner = ownerOf(service);
  const key = ground.routers.get(service.router ?? service.nat?.router ?? '');
  if (key === undefined) return { owner, flows: [], gaps: [{ owner, because: 'no-key', what: service.router ?? '' }] };
  const floating = (service.floating ?? []).map((one) => floatingFlows(service, one, { key, ground }));
  const flows = floating.flatMap((one) => one.flows);
  const gaps = floating.flatMap((one) => one.gaps ?? []);
  if (service.nat === undefined) return { owner, flows, gaps };
  const translation = translationPiece(
    { service, key, ip: service.nat.ip, zone: ground.numbers.zone(service.id) },
    ground,
  );
  return {
    owner,
    flows: [...translation.flows, ...flows],
    groups: translation.groups ?? [],
    gaps: [...(translation.gaps ?? []), ...gaps],
  };
}

function translationPiece(nat: Nat, ground: Ground): Piece {
  const { service } = nat;
  const away = sendsAway(service) ? hopTo(service, service.designated?.host, ground) : undefined;
  const partner = hopTo(service, partnerOf(service), ground);
  const out = translates(service) ? wayOutBy(service, service.via, ground) : undefined;
  const group = ground.numbers.group(service.id);
  const here = out === undefined ? NOTHING_HERE : hereFlows(nat, otherEnd(nat, partner), ground);
  return {
    owner: ownerOf(service),
    flows: [
      ...(away?.address === undefined ? [] : [awayFlow(nat, group)]),
      ...here.flows,
      ...(out === undefined ? [] : translatingFlows(nat, { partner, out })),
      ...(isAnswering(service) ? [arpFlow(nat)] : []),
    ],
    groups: [
      ...here.groups,
      ...(away?.address === undefined
        ? []
        : [awayGroup(service, { id: group, key: nat.key, address: away.address }, ground)]),
    ],
    gaps: [...(away?.gaps ?? []), ...(out === undefined ? [] : [...partner.gaps, ...out.gaps])],
  };
}

/** What starts here is translated elsewhere. The old host goes on by itself until the others are repointed. */
export function sendsAway({ role, handOver }: ShownService): boolean {
  return (
    role === 'other' ||
    role === 'standby' ||
    role === 'preparing' ||
    (role === 'retiring' && handOver?.phase !== 'switched')
  );
}

/** Who may know what this host does not: the other end of a hand-over, or of a loss that not all have noticed. */
function partnerOf({ role, handOver, designated, standby }: ShownService): string | undefined {
  if (handOver !== undefined) return handOver.other;
  return role === 'designated' ? standby : role === 'standby' ? designated?.host : undefined;
}

/** What arrives here, from peers or from outside, can be translated. */
function translates({ role }: ShownService): boolean {
  return role !== 'other';
}

/** The old host answers until the new one does for certain: there may be two answers for a moment, never none. */
export function isAnswering({ role, handOver }: ShownService): boolean {
  return role === 'designated' || (role === 'retiring' && handOver?.phase === 'switched');
}

function awayFlow({ key, ip }: Nat, group: number): Draft {
  return {
    table: TABLE.outbound,
    priority: 10,
    match: match({ ...ofVersion(ip), reg0: hex(key) }),
    actions: actions(toGroup(group)),
    why: 'nat-away',
  };
}

/** A packet that came from a peer may have to go on to another one. */
export function bucket(address: string, key: number): string {
  return actions(FORGET_IN_PORT, ...toPeer(address, key, TUNNEL_PORT));
}

interface Away {
  readonly id: number;
  /** Of the router. */
  readonly key: number;
  /** Of the designated host. */
  readonly address: string;
}

/**
 * To the designated host; where its heartbeat is heard and is no more, to the standby, or out by itself where that is here. When neither
 * is heard it is this host that is cut off, or heartbeats are: then as if there were none.
 */
export function awayGroup(service: ShownService, { id, key, address }: Away, ground: Ground): Group {
  const { role, designated, standby = '' } = service;
  const usual = bucket(address, key);
  const host = designated?.host ?? '';
  const next = standbyBucket(service, key, ground);
  if (next === undefined || !ground.listensFor(host)) return { id, type: 'indirect', buckets: [usual] };
  const first = watching(heartbeatPort(host), usual);
  if (role === 'standby') return { id, type: 'fast-failover', buckets: [first, watching(TUNNEL_PORT, next)] };
  const buckets = [first, watching(heartbeatPort(standby), next), watching(TUNNEL_PORT, usual)];
  return { id, type: 'fast-failover', buckets };
}

function standbyBucket({ role, standby }: ShownService, key: number, ground: Ground): string | undefined {
  if (role === 'standby') return actions(set(FROM_PEER, '0x1'), goTo(TABLE.outbound));
  if (role !== 'other' || standby === undefined || !ground.listensFor(standby)) return undefined;
  const address = ground.peers.get(standby);
  return address === undefined ? undefined : bucket(address, key);
}

interface Ends {
  readonly partner: Hop;
  /** Its address is the hardware address of the next hop. */
  readonly out: Hop;
}

function translatingFlows(nat: Nat, ends: Ends): Draft[] {
  const { key, ip, zone, service } = nat;
  const reg0 = hex(key);
  const back = actions(set('reg0', reg0), `ct(table=${TABLE.restored},zone=${zone},nat)`);
  return [
    {
      table: TABLE.classify,
      priority: 60,
      match: match({ ...to(ip), in_port: EXTERNAL_PORT }),
      actions: back,
      why: 'nat-reply',
    },
    ...(ends.out.address === undefined
      ? []
      : [
          {
            // Invalid packets would leave with the tenant's address.
            table: TABLE.translated,
            priority: 10,
            match: match({ ...ofVersion(ip), reg0, ct_state: '-inv+trk' }),
            actions: actions(
              set('eth_src', macOf('service', service.id)),
              set('eth_dst', ends.out.address),
              output(EXTERNAL_PORT),
            ),
            why: 'nat-leaves' as const,
          },
        ]),
    ...['+est+trk', '+rel+trk'].map((state): Draft => ({
      table: TABLE.restored,
      priority: 20,
      match: match({ ...ofVersion(ip), reg0, ct_state: state }),
      actions: actions(FORGET_IN_PORT, goTo(TABLE.route)),
      why: 'nat-restored',
    })),
    ...passingOn(nat, { partner: ends.partner, back }),
  ];
}

/** It does what it is sent, and what starts here goes away. */
function takesFromPeers({ role }: ShownService): boolean {
  return role === 'preparing' || role === 'standby';
}

interface Here {
  readonly flows: readonly Draft[];
  readonly groups: readonly Group[];
}

const NOTHING_HERE: Here = { flows: [], groups: [] };

function otherEnd({ service, key }: Nat, { address }: Hop): OtherEnd | undefined {
  const host = service.handOver?.other;
  return host === undefined || address === undefined ? undefined : { host, address, steps: bucket(address, key) };
}

/** Before the switch the new host takes only what peers send to it. Who cannot ask the other end does what it can by itself. */
function hereFlows(nat: Nat, end: OtherEnd | undefined, ground: Ground): Here {
  const fromPeers: Match = takesFromPeers(nat.service) ? { [FROM_PEER]: '0x1' } : {};
  const giving: Giving = givingOf(nat.service);
  if (giving === 'none') return NOTHING_HERE;
  if (giving === 'begins' || end === undefined) return { flows: [hereFlow(nat, fromPeers)], groups: [] };
  if (giving === 'passes') return { flows: knownFlows(nat, fromPeers, end.steps), groups: [] };
  const group = askingGroup(nat, end, ground);
  const flows = [...knownFlows(nat, fromPeers, asking(group, end)), ...beginningFlows(nat, end)];
  return { flows, groups: group === undefined ? [] : [group] };
}

function hereFlow({ key, ip, zone }: Nat, fromPeers: Match): Draft {
  return {
    table: TABLE.outbound,
    priority: 20,
    match: match({ ...ofVersion(ip), reg0: hex(key), ...fromPeers }),
    actions: actions(`ct(commit,table=${TABLE.translated},zone=${zone},nat(src=${ip}))`),
    why: 'nat-here',
  };
}

/** Replies that this end cannot translate back go to the other one, and no further. */
function passingOn({ key, ip }: Nat, { partner, back }: { readonly partner: Hop; readonly back: string }): Draft[] {
  if (partner.address === undefined) return [];
  return [
    {
      table: TABLE.arrivals,
      priority: 70,
      match: match({ ...to(ip), tun_id: hex(key) }),
      actions: actions(set(PASSED_ON, '0x1'), back),
      why: 'nat-reply-passed-on',
    },
    {
      table: TABLE.restored,
      priority: 10,
      match: match({ ...ofVersion(ip), reg0: hex(key), [PASSED_ON]: '0' }),
      actions: bucket(partner.address, key),
      why: 'nat-ask-other-end',
    },
  ];
}

function arpFlow({ ip, service }: Nat): Draft {
  return outsideArp(ip, macOf('service', service.id), 'nat-answers-arp');
}

function outsideArp(ip: string, mac: string, why: Draft['why']): Draft {
  return {
    table: TABLE.classify,
    priority: 70,
    match: match({ is: 'arp', in_port: EXTERNAL_PORT, arp_tpa: ip, arp_op: 1 }),
    actions: actions(...arpAnswer(ip, mac)),
    why,
  };
}

function floatingFlows(
  service: ShownService,
  { outside, inside, via }: ShownFloating,
  { key, ground }: { readonly key: number; readonly ground: Ground },
): Piece {
  const [reg0, mac] = [hex(key), macOf('floating', outside)];
  const [source, target] = isV6(inside) ? ['ipv6_src', 'ipv6_dst'] : ['ip_src', 'ip_dst'];
  const out = wayOutBy(service, via ?? service.via, ground);
  const leaves: Draft[] =
    out.address === undefined
      ? []
      : [
          {
            table: TABLE.route,
            priority: 40,
            match: match({ ...from(inside), reg0 }),
            actions: actions(
              'dec_ttl',
              set(source ?? '', outside),
              set('eth_src', mac),
              set('eth_dst', out.address),
              output(EXTERNAL_PORT),
            ),
            why: 'floating-leaves',
          },
        ];
  return {
    owner: ownerOf(service),
    flows: [
      ...leaves,
      {
        table: TABLE.classify,
        priority: 65,
        match: match({ ...to(outside), in_port: EXTERNAL_PORT }),
        actions: actions(set(target ?? '', inside), set('reg0', reg0), goTo(TABLE.route)),
        why: 'floating-comes-in',
      },
      outsideArp(outside, mac, 'floating-answers-arp'),
    ],
    gaps: out.gaps,
  };
}
