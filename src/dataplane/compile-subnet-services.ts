// The services of a subnet: its route to and from outside, and DHCP in it. Both are done at the designated host; while they are
// handed over, the other end takes what still reaches it.
import { awayGroup, bucket, isAnswering, sendsAway } from './compile-nat.ts';
import { neighbourFlows } from './compile-router.ts';
import { linkLocalOf, macOf } from './keys.ts';
import { hopTo, ownerOf, wayOutBy, type Draft, type Ground, type Piece } from './piece.ts';
import type { ShownService, ShownSubnet, ShownSwitchPort } from './shown.ts';
import { EXTERNAL_PORT, TABLE } from './tables.ts';
import { actions, from, goTo, hex, isV6, match, output, set, to, TO_AGENT, toGroup } from './words.ts';

/**
 * Outside is told of one next hop only: an address on the link that moves with the service. What leaves by IPv4 is translated, and
 * is not this service's.
 */
export function subnetRoutePiece(service: ShownService, ground: Ground): Piece {
  const owner = ownerOf(service);
  const key = ground.routers.get(service.router ?? '');
  const [subnet] = service.subnets;
  if (key === undefined || subnet === undefined) {
    return { owner, flows: [], gaps: [{ owner, because: 'no-key', what: service.router ?? service.id }] };
  }
  const reg0 = hex(key);
  // What the standby sends in place of the designated host comes back to it; by IPv4 it sends nothing.
  const lets = service.role === 'standby' ? isV6(subnet.cidr) : service.role !== 'other';
  const comesIn: Draft[] = lets
    ? [
        {
          table: TABLE.classify,
          priority: 55,
          match: match({ ...to(subnet.cidr), in_port: EXTERNAL_PORT }),
          actions: actions(set('reg0', reg0), goTo(TABLE.route)),
          why: 'route-comes-in',
        },
      ]
    : [];
  if (!isV6(subnet.cidr)) return { owner, flows: comesIn };
  const leaves = leavingPiece(service, { subnet, key, ground });
  return { ...leaves, flows: [...comesIn, ...leaves.flows, ...(isAnswering(service) ? nextHopFlows(service) : [])] };
}

/** The hosts outside reach the subnet by this address on their link; the same wherever the service is done. */
export function nextHopOf(service: string): { readonly ip: string; readonly mac: string } {
  const mac = macOf('service', service);
  return { ip: linkLocalOf(mac), mac };
}

function nextHopFlows({ id }: ShownService): Draft[] {
  const { ip, mac } = nextHopOf(id);
  return neighbourFlows({ target: ip, mac, inPort: EXTERNAL_PORT, table: TABLE.classify }, 'route-answers');
}

interface Leaving {
  readonly subnet: ShownSubnet;
  readonly key: number;
  readonly ground: Ground;
}

function leavingPiece(service: ShownService, { subnet, key, ground }: Leaving): Piece {
  const owner = ownerOf(service);
  const source = { ...from(subnet.cidr), reg0: hex(key) };
  const away = sendsAway(service) ? hopTo(service, service.designated?.host, ground) : undefined;
  const group = ground.numbers.group(service.id);
  const out = service.role === 'other' ? undefined : wayOutBy(service, service.via, ground);
  // What peers send here leaves here; what starts here does so once this host is repointed.
  const fromPeers = sendsAway(service) ? { reg4: '0x1' } : {};
  const flows: Draft[] = [];
  if (away?.address !== undefined) {
    flows.push({
      table: TABLE.outbound,
      priority: 25,
      match: match(source),
      actions: actions(toGroup(group)),
      why: 'route-away',
    });
  }
  if (out?.address !== undefined) {
    const steps = [set('eth_src', nextHopOf(service.id).mac), set('eth_dst', out.address), output(EXTERNAL_PORT)];
    flows.push({
      table: TABLE.outbound,
      priority: 30,
      match: match({ ...source, ...fromPeers }),
      actions: actions(...steps),
      why: 'route-leaves',
    });
  }
  return {
    owner,
    flows,
    groups: away?.address === undefined ? [] : [awayGroup(service, { id: group, key, address: away.address }, ground)],
    gaps: [...(away?.gaps ?? []), ...(out?.gaps ?? [])],
  };
}

/** Requests are answered where they are asked only at the designated host; else they travel. */
export function dhcpPiece(service: ShownService, ground: Ground, here: readonly ShownSwitchPort[]): Piece {
  const owner = ownerOf(service);
  const [subnet] = service.subnets;
  const key = subnet === undefined ? undefined : ground.domains.get(subnet.domain);
  if (subnet === undefined || key === undefined) {
    return { owner, flows: [], gaps: [{ owner, because: 'no-key', what: subnet?.domain ?? service.id }] };
  }
  const away = servesDhcp(service) ? undefined : hopTo(service, service.designated?.host, ground);
  const group = ground.numbers.group(service.id);
  const asked =
    away === undefined ? actions(TO_AGENT) : away.address === undefined ? undefined : actions(toGroup(group));
  const flows = here.flatMap(({ mac }): Draft[] => {
    const request = match({ is: 'udp', metadata: hex(key), dl_src: mac, tp_src: 68, tp_dst: 67 });
    if (asked === undefined) return [];
    return [{ table: TABLE.ingress, priority: 60, match: request, actions: asked, why: 'dhcp-asked' }];
  });
  const buckets = away?.address === undefined ? [] : [bucket(away.address, key)];
  return {
    owner,
    flows,
    groups: buckets.length === 0 ? [] : [{ id: group, type: 'indirect', buckets }],
    gaps: away?.gaps ?? [],
  };
}

function servesDhcp({ role, handOver }: ShownService): boolean {
  return role === 'designated' || (role === 'retiring' && handOver?.phase === 'switched');
}

/** What peers ask for in a domain for which a service here answers, or may have to for a moment. */
export function dhcpArrivals(
  domain: { readonly id: string; readonly key: number },
  services: readonly ShownService[],
): Draft[] {
  const answers = services.some(
    ({ type, role, subnets }) => type === 'dhcp' && role !== 'other' && subnets.some((one) => one.domain === domain.id),
  );
  if (!answers) return [];
  const key = hex(domain.key);
  return [
    {
      table: TABLE.arrivals,
      priority: 60,
      match: match({ is: 'udp', tun_id: key, tp_src: 68, tp_dst: 67 }),
      actions: actions(set('metadata', key), TO_AGENT),
      why: 'dhcp-asked-by-peer',
    },
  ];
}

/** What peers send here to leave by a router for which a service here is the way out, or may have to be for a moment. */
export function routerArrivals(
  router: { readonly id: string; readonly key: number },
  services: readonly ShownService[],
): Draft[] {
  const takes = services.some((one) => one.router === router.id && one.role !== 'other' && one.type !== 'dhcp');
  if (!takes) return [];
  return [
    {
      table: TABLE.arrivals,
      priority: 60,
      match: match({ tun_id: hex(router.key) }),
      actions: actions(set('reg0', hex(router.key)), set('reg4', '0x1'), goTo(TABLE.outbound)),
      why: 'about-router',
    },
  ];
}
