// Source NAT of a router: translated at the designated host, all others send to it. During a handover both ends translate the connections
// that they know, and each sends replies that it does not know to the other. Floating addresses are translated one to one on the host of
// their instance. Two hosts must never allocate ports for the same external address at the same time.
import { isIpv6 } from '../packets/address.ts';
import {
  otherEndActions,
  otherEndGroup,
  newConnectionFlows,
  newConnectionPolicyOf,
  conntrackLookupFlows,
  type NewConnectionPolicy,
  type NatContext,
  type OtherEnd,
} from './nat-handover.ts';
import { bfdPortName, macOf } from '../switch/derived-ids.ts';
import {
  findTunnelHop,
  serviceOwner,
  findExternalHop,
  type FlowDraft,
  type CompileContext,
  type Hop,
  type FlowFragment,
} from './flow-fragment.ts';
import type { FloatingAddressView, ServiceView } from '../view/dataplane-view.ts';
import type { FlowGroup } from '../switch/switch.ts';
import { EXTERNAL_PORT, TABLE, TUNNEL_PORT } from '../switch/tables.ts';
import {
  formatActions,
  arpReplyActions,
  CLEAR_IN_PORT,
  matchSource,
  resubmit,
  hex,
  formatMatch,
  matchIpVersion,
  output,
  setField,
  matchDestination,
  groupAction,
  tunnelActions,
  watchBucket,
  type Match,
} from '../switch/flow-syntax.ts';

/** Packets that a peer sent here for translation. */
const FROM_PEER = 'reg4';
/** Replies that a peer could not translate back: they must not be forwarded a second time. */
const FORWARDED_REPLY = 'reg5';

export function compileNat(service: ServiceView, context: CompileContext): FlowFragment {
  const owner = serviceOwner(service);
  const key = context.routers.get(service.router ?? service.nat?.router ?? '');
  if (key === undefined)
    return { owner, flows: [], gaps: [{ owner, reason: 'no-tunnel-key', what: service.router ?? '' }] };
  const floating = (service.floating ?? []).map((one) =>
    compileFloatingAddress(service, one, { key, ground: context }),
  );
  const flows = floating.flatMap((one) => one.flows);
  const gaps = floating.flatMap((one) => one.gaps ?? []);
  if (service.nat === undefined) return { owner, flows, gaps };
  const translation = compileTranslation(
    { service, key, ip: service.nat.ip, zone: context.allocator.zone(service.id) },
    context,
  );
  return {
    owner,
    flows: [...translation.flows, ...flows],
    groups: translation.groups ?? [],
    gaps: [...(translation.gaps ?? []), ...gaps],
  };
}

function compileTranslation(nat: NatContext, context: CompileContext): FlowFragment {
  const { service } = nat;
  const away = isRedirecting(service) ? findTunnelHop(service, service.designated?.host, context) : undefined;
  const counterpart = findTunnelHop(service, counterpartOf(service), context);
  const out = canTranslate(service) ? findExternalHop(service, service.via, context) : undefined;
  const group = context.allocator.group(service.id);
  const here =
    out === undefined ? NO_LOCAL_TRANSLATION : localTranslationFlows(nat, otherEndOf(nat, counterpart), context);
  return {
    owner: serviceOwner(service),
    flows: [
      ...(away?.address === undefined ? [] : [redirectFlow(nat, group)]),
      ...here.flows,
      ...(out === undefined ? [] : translationFlows(nat, { counterpart, out })),
      ...(isAddressResponder(service) ? [arpFlow(nat)] : []),
    ],
    groups: [
      ...here.groups,
      ...(away?.address === undefined
        ? []
        : [redirectGroup(service, { id: group, key: nat.key, address: away.address }, context)]),
    ],
    gaps: [...(away?.gaps ?? []), ...(out === undefined ? [] : [...counterpart.gaps, ...out.gaps])],
  };
}

/** What starts here is translated elsewhere. The old host translates by itself until the others are repointed. */
export function isRedirecting({ role, handover }: ServiceView): boolean {
  return (
    role === 'other' ||
    role === 'standby' ||
    role === 'preparing' ||
    (role === 'retiring' && handover?.phase !== 'switched')
  );
}

/** Who may know what this host does not: the other end of a handover, or of a loss that not all have noticed. */
function counterpartOf({ role, handover, designated, standby }: ServiceView): string | undefined {
  if (handover !== undefined) return handover.other;
  return role === 'designated' ? standby : role === 'standby' ? designated?.host : undefined;
}

/** Traffic that arrives here, from peers or from outside, can be translated. */
function canTranslate({ role }: ServiceView): boolean {
  return role !== 'other';
}

/** The old host answers until the new one does for certain: there may be two answers for a moment, never none. */
export function isAddressResponder({ role, handover }: ServiceView): boolean {
  return role === 'designated' || (role === 'retiring' && handover?.phase === 'switched');
}

function redirectFlow({ key, ip }: NatContext, group: number): FlowDraft {
  return {
    table: TABLE.outbound,
    priority: 10,
    match: formatMatch({ ...matchIpVersion(ip), reg0: hex(key) }),
    actions: formatActions(groupAction(group)),
    reason: 'nat-redirect',
  };
}

/** A packet from a peer may have to be forwarded to another peer. */
export function tunnelBucket(address: string, key: number): string {
  return formatActions(CLEAR_IN_PORT, ...tunnelActions(address, key, TUNNEL_PORT));
}

interface RedirectTarget {
  readonly id: number;
  /** The key of the router. */
  readonly key: number;
  /** The tunnel address of the designated host. */
  readonly address: string;
}

/**
 * To the designated host. When its BFD session goes down: to the standby, or out from here where this host is the standby. When BFD with
 * both is down, this host is the isolated one or BFD itself fails: then traffic goes to the designated host as if BFD were not configured.
 */
export function redirectGroup(
  service: ServiceView,
  { id, key, address }: RedirectTarget,
  context: CompileContext,
): FlowGroup {
  const { role, designated, standby = '' } = service;
  const usual = tunnelBucket(address, key);
  const host = designated?.host ?? '';
  const next = standbyBucket(service, key, context);
  if (next === undefined || !context.isBfdMonitored(host)) return { id, type: 'indirect', buckets: [usual] };
  const first = watchBucket(bfdPortName(host), usual);
  if (role === 'standby') return { id, type: 'fast-failover', buckets: [first, watchBucket(TUNNEL_PORT, next)] };
  const buckets = [first, watchBucket(bfdPortName(standby), next), watchBucket(TUNNEL_PORT, usual)];
  return { id, type: 'fast-failover', buckets };
}

function standbyBucket({ role, standby }: ServiceView, key: number, context: CompileContext): string | undefined {
  if (role === 'standby') return formatActions(setField(FROM_PEER, '0x1'), resubmit(TABLE.outbound));
  if (role !== 'other' || standby === undefined || !context.isBfdMonitored(standby)) return undefined;
  const address = context.peers.get(standby);
  return address === undefined ? undefined : tunnelBucket(address, key);
}

interface TranslationHops {
  readonly counterpart: Hop;
  /** The address of the gateway is the hardware address of the next hop. */
  readonly out: Hop;
}

function translationFlows(nat: NatContext, ends: TranslationHops): FlowDraft[] {
  const { key, ip, zone, service } = nat;
  const reg0 = hex(key);
  const back = formatActions(setField('reg0', reg0), `ct(table=${TABLE.unsnat},zone=${zone},nat)`);
  return [
    {
      table: TABLE.classify,
      priority: 60,
      match: formatMatch({ ...matchDestination(ip), in_port: EXTERNAL_PORT }),
      actions: back,
      reason: 'nat-reply',
    },
    ...(ends.out.address === undefined
      ? []
      : [
          {
            // Invalid packets would leave with the tenant's private address.
            table: TABLE.snat,
            priority: 10,
            match: formatMatch({ ...matchIpVersion(ip), reg0, ct_state: '-inv+trk' }),
            actions: formatActions(
              setField('eth_src', macOf('service', service.id)),
              setField('eth_dst', ends.out.address),
              output(EXTERNAL_PORT),
            ),
            reason: 'nat-egress' as const,
          },
        ]),
    ...['+est+trk', '+rel+trk'].map((state): FlowDraft => ({
      table: TABLE.unsnat,
      priority: 20,
      match: formatMatch({ ...matchIpVersion(ip), reg0, ct_state: state }),
      actions: formatActions(CLEAR_IN_PORT, resubmit(TABLE.route)),
      reason: 'nat-reply-restored',
    })),
    ...forwardUnknownReplies(nat, { partner: ends.counterpart, back }),
  ];
}

/** It translates what peers send here; what starts here is sent to the designated host. */
function isTranslatingForPeersOnly({ role }: ServiceView): boolean {
  return role === 'preparing' || role === 'standby';
}

interface LocalTranslation {
  readonly flows: readonly FlowDraft[];
  readonly groups: readonly FlowGroup[];
}

const NO_LOCAL_TRANSLATION: LocalTranslation = { flows: [], groups: [] };

function otherEndOf({ service, key }: NatContext, { address }: Hop): OtherEnd | undefined {
  const host = service.handover?.other;
  return host === undefined || address === undefined ? undefined : { host, address, steps: tunnelBucket(address, key) };
}

/**
 * Before the switch-over the new host only takes what peers send to it. Without a tunnel to the other end it translates what it can by
 * itself.
 */
function localTranslationFlows(nat: NatContext, end: OtherEnd | undefined, context: CompileContext): LocalTranslation {
  const fromPeers: Match = isTranslatingForPeersOnly(nat.service) ? { [FROM_PEER]: '0x1' } : {};
  const policy: NewConnectionPolicy = newConnectionPolicyOf(nat.service);
  if (policy === 'none') return NO_LOCAL_TRANSLATION;
  if (policy === 'allocate' || end === undefined) return { flows: [translateFlow(nat, fromPeers)], groups: [] };
  if (policy === 'forward-to-new') return { flows: conntrackLookupFlows(nat, fromPeers, end.steps), groups: [] };
  const group = otherEndGroup(nat, end, context);
  const flows = [...conntrackLookupFlows(nat, fromPeers, otherEndActions(group, end)), ...newConnectionFlows(nat, end)];
  return { flows, groups: group === undefined ? [] : [group] };
}

function translateFlow({ key, ip, zone }: NatContext, fromPeers: Match): FlowDraft {
  return {
    table: TABLE.outbound,
    priority: 20,
    match: formatMatch({ ...matchIpVersion(ip), reg0: hex(key), ...fromPeers }),
    actions: formatActions(`ct(commit,table=${TABLE.snat},zone=${zone},nat(src=${ip}))`),
    reason: 'nat-translate',
  };
}

/** Replies that this end cannot translate back go to the other end, and no further. */
function forwardUnknownReplies(
  { key, ip }: NatContext,
  { partner, back }: { readonly partner: Hop; readonly back: string },
): FlowDraft[] {
  if (partner.address === undefined) return [];
  return [
    {
      table: TABLE.tunnel,
      priority: 70,
      match: formatMatch({ ...matchDestination(ip), tun_id: hex(key) }),
      actions: formatActions(setField(FORWARDED_REPLY, '0x1'), back),
      reason: 'nat-reply-forwarded',
    },
    {
      table: TABLE.unsnat,
      priority: 10,
      match: formatMatch({ ...matchIpVersion(ip), reg0: hex(key), [FORWARDED_REPLY]: '0' }),
      actions: tunnelBucket(partner.address, key),
      reason: 'nat-unknown-reply-forwarded',
    },
  ];
}

function arpFlow({ ip, service }: NatContext): FlowDraft {
  return externalArpFlow(ip, macOf('service', service.id), 'nat-arp-responder');
}

function externalArpFlow(ip: string, mac: string, reason: FlowDraft['reason']): FlowDraft {
  return {
    table: TABLE.classify,
    priority: 70,
    match: formatMatch({ is: 'arp', in_port: EXTERNAL_PORT, arp_tpa: ip, arp_op: 1 }),
    actions: formatActions(...arpReplyActions(ip, mac)),
    reason,
  };
}

function compileFloatingAddress(
  service: ServiceView,
  { outside, inside, via }: FloatingAddressView,
  { key, ground: context }: { readonly key: number; readonly ground: CompileContext },
): FlowFragment {
  const [reg0, mac] = [hex(key), macOf('floating', outside)];
  const [source, target] = isIpv6(inside) ? ['ipv6_src', 'ipv6_dst'] : ['ip_src', 'ip_dst'];
  const out = findExternalHop(service, via ?? service.via, context);
  const leaves: FlowDraft[] =
    out.address === undefined
      ? []
      : [
          {
            table: TABLE.route,
            priority: 40,
            match: formatMatch({ ...matchSource(inside), reg0 }),
            actions: formatActions(
              'dec_ttl',
              setField(source ?? '', outside),
              setField('eth_src', mac),
              setField('eth_dst', out.address),
              output(EXTERNAL_PORT),
            ),
            reason: 'floating-egress',
          },
        ];
  return {
    owner: serviceOwner(service),
    flows: [
      ...leaves,
      {
        table: TABLE.classify,
        priority: 65,
        match: formatMatch({ ...matchDestination(outside), in_port: EXTERNAL_PORT }),
        actions: formatActions(setField(target ?? '', inside), setField('reg0', reg0), resubmit(TABLE.route)),
        reason: 'floating-ingress',
      },
      externalArpFlow(outside, mac, 'floating-arp-responder'),
    ],
    gaps: out.gaps,
  };
}
