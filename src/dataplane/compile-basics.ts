// What every switch has: what is not known is dropped, peers are listened to and sent to, local ports are delivered to.
import { keyOf, portName } from './keys.ts';
import type { Piece } from './piece.ts';
import type { ShownPeer, ShownSwitchPort } from './shown.ts';
import { TABLE, TUNNEL_PORT } from './tables.ts';
import { actions, FORGET_IN_PORT, goTo, match, output, set } from './words.ts';

export function hostPiece(host: string): Piece {
  const flows = Object.values(TABLE).map((table) => ({ table, priority: 0, match: '', actions: actions() }));
  return { owner: { kind: 'host', id: host }, flows };
}

/** Only peers are listened to. What is for one of them finds its way by its key. */
export function peerPiece({ host, tunnelAddress }: ShownPeer): Piece {
  const v6 = tunnelAddress.includes(':');
  const [src, dst] = v6 ? (['tun_ipv6_src', 'tun_ipv6_dst'] as const) : (['tun_src', 'tun_dst'] as const);
  const from = match({ in_port: TUNNEL_PORT, [src]: tunnelAddress });
  return {
    owner: { kind: 'peer', id: host },
    flows: [
      { table: TABLE.classify, priority: 50, match: from, actions: actions(goTo(TABLE.ingress)) },
      {
        table: TABLE.deliver,
        priority: 50,
        match: match({ xreg1: keyOf('peer', host) }),
        actions: actions(set(dst, tunnelAddress), FORGET_IN_PORT, output(TUNNEL_PORT)),
      },
    ],
  };
}

/** What leaves a port carries its network with it; what is for its hardware address there is delivered to it. */
export function portPiece({ id, mac, network }: ShownSwitchPort): Piece {
  const [port, metadata] = [portName(id), keyOf('network', network)];
  return {
    owner: { kind: 'port', id },
    flows: [
      {
        table: TABLE.classify,
        priority: 100,
        match: match({ in_port: port, dl_src: mac }),
        actions: actions(set('metadata', metadata), goTo(TABLE.ingress)),
      },
      {
        table: TABLE.ingress,
        priority: 10,
        match: match({ metadata, dl_dst: mac }),
        actions: actions(goTo(TABLE.deliver)),
      },
      { table: TABLE.deliver, priority: 100, match: match({ metadata, dl_dst: mac }), actions: actions(output(port)) },
    ],
  };
}
