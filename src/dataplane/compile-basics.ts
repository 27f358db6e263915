// What every switch has: what is not known is dropped, peers are listened to, ports here and elsewhere are delivered to, and what
// is for all of a domain reaches all of it.
import { mapInSteps, sortInSteps, type Steps } from '../fleet/index.ts';
import { macOf, portName } from './keys.ts';
import type { Draft, Ground, Piece } from './piece.ts';
import type { ShownDomain, ShownFarPort, ShownPeer, ShownSwitchPort } from './shown.ts';
import { EXTERNAL_PORT, TABLE, TUNNEL_PORT } from './tables.ts';
import { actions, arpAnswer, goTo, hex, isV6, match, output, set, TO_AGENT, toGroup, toPeer } from './words.ts';

/** What is for everybody. */
const ALL = '01:00:00:00:00:00/01:00:00:00:00:00';

export function hostPiece(host: string): Piece {
  const nothing = Object.values(TABLE).map((table): Draft => {
    return { table, priority: 0, match: '', actions: actions(), why: 'unknown-is-dropped' };
  });
  const [own, toAgent] = [macOf('host', host), actions(TO_AGENT)];
  const answers = [
    { is: 'arp', in_port: EXTERNAL_PORT, dl_dst: own, arp_op: 2 } as const,
    { is: 'icmp6', in_port: EXTERNAL_PORT, dl_dst: own, icmpv6_type: 136 } as const,
  ].map((answer): Draft => {
    return { table: TABLE.classify, priority: 80, match: match(answer), actions: toAgent, why: 'next-hop-answers' };
  });
  return { owner: { kind: 'host', id: host }, flows: [...nothing, ...answers] };
}

/** Only peers are listened to. */
export function peerPiece({ host, tunnelAddress }: ShownPeer): Piece {
  const src = isV6(tunnelAddress) ? 'tun_ipv6_src' : 'tun_src';
  const from = match({ in_port: TUNNEL_PORT, [src]: tunnelAddress });
  const flow: Draft = {
    table: TABLE.classify,
    priority: 50,
    match: from,
    actions: actions(goTo(TABLE.arrivals)),
    why: 'from-peer',
  };
  return { owner: { kind: 'peer', id: host }, flows: [flow] };
}

/** What leaves a port carries its domain with it; what is for its hardware address there is delivered to it. */
export function portPiece(port: ShownSwitchPort, key: number): Piece {
  const { id, mac } = port;
  const [name, metadata] = [portName(id), hex(key)];
  const v4 = port.addresses.filter((address) => !isV6(address));
  return {
    owner: { kind: 'port', id },
    flows: [
      {
        table: TABLE.classify,
        priority: 100,
        match: match({ in_port: name, dl_src: mac }),
        actions: actions(set('metadata', metadata), goTo(TABLE.ingress)),
        why: 'from-port',
      },
      // Whoever looks whether its own address is taken must not be told that it is.
      ...v4.map((ip): Draft => ({
        table: TABLE.ingress,
        priority: 85,
        match: match({ is: 'arp', in_port: name, arp_tpa: ip, arp_op: 1 }),
        actions: actions(),
        why: 'own-address',
      })),
      ...v4.map((ip) => arpFlow(metadata, ip, mac)),
      {
        table: TABLE.deliver,
        priority: 100,
        match: match({ metadata, dl_dst: mac }),
        actions: actions(output(name)),
        why: 'to-port',
      },
    ],
  };
}

function arpFlow(metadata: string, ip: string, mac: string): Draft {
  return {
    table: TABLE.ingress,
    priority: 80,
    match: match({ is: 'arp', metadata, arp_tpa: ip, arp_op: 1 }),
    actions: actions(...arpAnswer(ip, mac)),
    why: 'arp-answer',
  };
}

/** A port elsewhere: asked for here, delivered there. */
export function farPortPiece({ id, mac, addresses, host }: ShownFarPort, key: number, { peers }: Ground): Piece {
  const owner = { kind: 'port', id } as const;
  const address = peers.get(host);
  if (address === undefined) return { owner, flows: [], gaps: [{ owner, because: 'no-tunnel', what: host }] };
  const metadata = hex(key);
  return {
    owner,
    flows: [
      ...addresses.flatMap((ip) => (isV6(ip) ? [] : [arpFlow(metadata, ip, mac)])),
      {
        table: TABLE.deliver,
        priority: 90,
        match: match({ metadata, dl_dst: mac }),
        actions: actions(...toPeer(address, key, TUNNEL_PORT)),
        why: 'to-far-port',
      },
    ],
  };
}

/** What comes from peers stays here: whoever sent it to all has sent it to the others as well. */
export function* domainPiece(
  { id, key, ports }: ShownDomain,
  here: readonly ShownSwitchPort[],
  ground: Ground,
): Steps<Piece> {
  const metadata = hex(key);
  const outputs = here.map((port) => output(portName(port.id)));
  const named = [...new Set(yield* mapInSteps(ports, ({ host }) => host))];
  const hosts = yield* sortInSteps(named, (one, other) => (one < other ? -1 : 1));
  const sent = yield* mapInSteps(hosts, (host) => {
    const address = ground.peers.get(host);
    return address === undefined ? [] : [actions(...toPeer(address, key, TUNNEL_PORT))];
  });
  const buckets = sent.flat();
  const group = ground.numbers.group(`domain/${id}`);
  return {
    owner: { kind: 'domain', id },
    flows: [
      {
        table: TABLE.arrivals,
        priority: 50,
        match: match({ tun_id: metadata }),
        actions: actions(set('metadata', metadata), goTo(TABLE.deliver)),
        why: 'about-domain',
      },
      {
        table: TABLE.ingress,
        priority: 10,
        match: match({ metadata }),
        actions: actions(goTo(TABLE.deliver)),
        why: 'own-network',
      },
      {
        table: TABLE.deliver,
        priority: 60,
        match: match({ in_port: TUNNEL_PORT, metadata, dl_dst: ALL }),
        actions: actions(...outputs),
        why: 'to-all-here',
      },
      {
        table: TABLE.deliver,
        priority: 50,
        match: match({ metadata, dl_dst: ALL }),
        actions: actions(...outputs, ...(buckets.length === 0 ? [] : [toGroup(group)])),
        why: 'to-all',
      },
    ],
    groups: buckets.length === 0 ? [] : [{ id: group, type: 'all', buckets }],
  };
}
