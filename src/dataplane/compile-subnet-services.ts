// The services of a subnet: the route to it from outside, and DHCP in it. Both serve at the designated host; while they are
// handed over, the other end takes what still reaches it.
import { keyOf } from './keys.ts';
import { hopTo, ownerOf, type Draft, type Ground, type Piece } from './piece.ts';
import type { ShownService } from './shown.ts';
import { DHCP_PORT, EXTERNAL_PORT, TABLE, TUNNEL_ID, TUNNEL_PORT } from './tables.ts';
import { actions, goTo, match, output, set, toGroup, toPeer } from './words.ts';

/** Outside is told of one next hop only, the designated host; the ends of a hand-over let in what comes to them all the same. */
export function subnetRoutePiece(service: ShownService): Piece {
  const lets = service.role !== 'other';
  const flows = service.subnets.flatMap(({ cidr, network }): Draft[] => {
    if (!lets) return [];
    const v6 = cidr.includes(':');
    return [
      {
        table: TABLE.classify,
        priority: 55,
        match: match({ is: v6 ? 'ipv6' : 'ip', in_port: EXTERNAL_PORT, [v6 ? 'ipv6_dst' : 'nw_dst']: cidr }),
        actions: actions(set('metadata', keyOf('network', network)), goTo(TABLE.deliver)),
      },
    ];
  });
  return { owner: ownerOf(service), flows };
}

/** Requests are answered where they are asked only at the designated host; else they travel. */
export function dhcpPiece(service: ShownService, ground: Ground): Piece {
  const key = keyOf('service', service.id);
  const serves =
    service.role === 'designated' || (service.role === 'retiring' && service.handOver?.phase === 'switched');
  const away = serves ? undefined : hopTo(service, service.designated?.host, ground);
  const group = ground.numbers.group(service.id);
  const here = actions(output(DHCP_PORT));
  const asked = serves ? here : away?.address === undefined ? undefined : actions(toGroup(group));
  const requests = service.subnets.flatMap(({ network }): Draft[] => {
    const request = match({ is: 'udp', metadata: keyOf('network', network), tp_src: 68, tp_dst: 67 });
    return asked === undefined ? [] : [{ table: TABLE.ingress, priority: 60, match: request, actions: asked }];
  });
  const fromPeers = match({ in_port: TUNNEL_PORT, tun_id: TUNNEL_ID.dhcp, tun_metadata0: key });
  const arrivals: Draft[] =
    service.role === 'other' ? [] : [{ table: TABLE.classify, priority: 60, match: fromPeers, actions: here }];
  const bucket = away?.address === undefined ? [] : [toPeer(away.address, { id: TUNNEL_ID.dhcp, key }, TUNNEL_PORT)];
  return {
    owner: ownerOf(service),
    flows: [...requests, ...arrivals],
    groups: bucket.map((steps) => ({ id: group, type: 'indirect', buckets: [actions(...steps)] })),
    gaps: away?.gaps ?? [],
  };
}
