// Source NAT of a router: translated at the designated host, sent there by all others. While it is handed over, both ends can
// translate what reaches them, and each asks the other for replies that it does not know. Floating addresses are translated one to
// one, on the host of their instance.
import { macOf } from './keys.ts';
import { hopTo, ownerOf, wayOutBy, type Draft, type Ground, type Hop, type Piece } from './piece.ts';
import type { ShownFloating, ShownService } from './shown.ts';
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
  type Match,
} from './words.ts';

/** Packets that a peer sent here to be translated. */
const FROM_PEER = 'reg4';
/** Replies that a peer could not translate back: they are not passed on a second time. */
const PASSED_ON = 'reg5';

interface Nat {
  readonly service: ShownService;
  /** Of the router. */
  readonly key: number;
  readonly ip: string;
  readonly zone: number;
}

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
  const partner = hopTo(service, service.handOver?.other, ground);
  const out = translates(service) ? wayOutBy(service, service.via, ground) : undefined;
  const group = ground.numbers.group(service.id);
  return {
    owner: ownerOf(service),
    flows: [
      ...(away?.address === undefined ? [] : [awayFlow(nat, group)]),
      ...(out === undefined ? [] : translatingFlows(nat, { partner, out })),
      ...(isAnswering(service) ? [arpFlow(nat)] : []),
    ],
    groups:
      away?.address === undefined ? [] : [{ id: group, type: 'indirect', buckets: [bucket(away.address, nat.key)] }],
    gaps: [...(away?.gaps ?? []), ...(out === undefined ? [] : [...partner.gaps, ...out.gaps])],
  };
}

/** What starts here is translated elsewhere. The old host goes on by itself until the others are repointed. */
export function sendsAway({ role, handOver }: ShownService): boolean {
  return role === 'other' || role === 'preparing' || (role === 'retiring' && handOver?.phase !== 'switched');
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
    ...hereFlows(nat),
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

/** The old host passes on what peers still send to it once it is repointed itself; before the switch the new one takes only that. */
function hereFlows({ service, key, ip, zone }: Nat): Draft[] {
  if (service.role === 'retiring' && service.handOver?.phase !== 'switched') return [];
  const fromPeers: Match = service.role === 'preparing' ? { [FROM_PEER]: '0x1' } : {};
  return [
    {
      table: TABLE.outbound,
      priority: 20,
      match: match({ ...ofVersion(ip), reg0: hex(key), ...fromPeers }),
      actions: actions(`ct(commit,table=${TABLE.translated},zone=${zone},nat(src=${ip}))`),
      why: 'nat-here',
    },
  ];
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
