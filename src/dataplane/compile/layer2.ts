// The flows that every switch has: unknown traffic is dropped, traffic from peers is accepted, ports here and elsewhere are reached, and
// broadcast reaches the whole domain. It must never accept traffic from a host that is no peer.
import { isIpv6 } from '../packets/address.ts';
import { mapInSteps, sortInSteps, type Steps } from '../../fleet/index.ts';
import { macOf, portName } from '../switch/derived-ids.ts';
import type { FlowDraft, CompileContext, FlowFragment } from './flow-fragment.ts';
import type { DomainView, RemotePortView, PeerView, LocalPortView } from '../view/dataplane-view.ts';
import { EXTERNAL_PORT, TABLE, TUNNEL_PORT } from '../switch/tables.ts';
import {
  formatActions,
  arpReplyActions,
  resubmit,
  hex,
  formatMatch,
  output,
  setField,
  TO_AGENT,
  groupAction,
  tunnelActions,
} from '../switch/flow-syntax.ts';

/** Broadcast and multicast. */
const ANY_MULTICAST = '01:00:00:00:00:00/01:00:00:00:00:00';

export function compileHost(host: string): FlowFragment {
  const nothing = Object.values(TABLE).map((table): FlowDraft => {
    return { table, priority: 0, match: '', actions: formatActions(), reason: 'default-drop' };
  });
  const [own, toAgent] = [macOf('host', host), formatActions(TO_AGENT)];
  const answers = [
    { is: 'arp', in_port: EXTERNAL_PORT, dl_dst: own, arp_op: 2 } as const,
    { is: 'icmp6', in_port: EXTERNAL_PORT, dl_dst: own, icmpv6_type: 136 } as const,
  ].map((answer): FlowDraft => {
    return {
      table: TABLE.classify,
      priority: 80,
      match: formatMatch(answer),
      actions: toAgent,
      reason: 'next-hop-reply',
    };
  });
  return { owner: { kind: 'host', id: host }, flows: [...nothing, ...answers] };
}

/** Accept tunnel traffic from peers only. */
export function compilePeer({ host, tunnelAddress }: PeerView): FlowFragment {
  const src = isIpv6(tunnelAddress) ? 'tun_ipv6_src' : 'tun_src';
  const from = formatMatch({ in_port: TUNNEL_PORT, [src]: tunnelAddress });
  const flow: FlowDraft = {
    table: TABLE.classify,
    priority: 50,
    match: from,
    actions: formatActions(resubmit(TABLE.tunnel)),
    reason: 'from-peer',
  };
  return { owner: { kind: 'peer', id: host }, flows: [flow] };
}

/** What a port sends is tagged with its domain; what is addressed to it there is delivered to it. */
export function compilePort(port: LocalPortView, key: number): FlowFragment {
  const { id, mac } = port;
  const [name, metadata] = [portName(id), hex(key)];
  const v4 = port.addresses.filter((address) => !isIpv6(address));
  return {
    owner: { kind: 'port', id },
    flows: [
      {
        table: TABLE.classify,
        priority: 100,
        match: formatMatch({ in_port: name, dl_src: mac }),
        actions: formatActions(setField('metadata', metadata), resubmit(TABLE.ingress)),
        reason: 'from-port',
      },
      // A host that probes whether its own address is free (duplicate address detection) must not get an answer.
      ...v4.map((ip): FlowDraft => ({
        table: TABLE.ingress,
        priority: 85,
        match: formatMatch({ is: 'arp', in_port: name, arp_tpa: ip, arp_op: 1 }),
        actions: formatActions(),
        reason: 'own-address-probe',
      })),
      ...v4.map((ip) => arpFlow(metadata, ip, mac)),
      {
        table: TABLE.deliver,
        priority: 100,
        match: formatMatch({ metadata, dl_dst: mac }),
        actions: formatActions(output(name)),
        reason: 'to-port',
      },
    ],
  };
}

function arpFlow(metadata: string, ip: string, mac: string): FlowDraft {
  return {
    table: TABLE.ingress,
    priority: 80,
    match: formatMatch({ is: 'arp', metadata, arp_tpa: ip, arp_op: 1 }),
    actions: formatActions(...arpReplyActions(ip, mac)),
    reason: 'arp-responder',
  };
}

/** A port on another host: ARP and neighbour discovery are answered here, packets are sent there. */
export function compileRemotePort(
  { id, mac, addresses, host }: RemotePortView,
  key: number,
  { peers }: CompileContext,
): FlowFragment {
  const owner = { kind: 'port', id } as const;
  const address = peers.get(host);
  if (address === undefined) return { owner, flows: [], gaps: [{ owner, reason: 'no-tunnel', what: host }] };
  const metadata = hex(key);
  return {
    owner,
    flows: [
      ...addresses.flatMap((ip) => (isIpv6(ip) ? [] : [arpFlow(metadata, ip, mac)])),
      {
        table: TABLE.deliver,
        priority: 90,
        match: formatMatch({ metadata, dl_dst: mac }),
        actions: formatActions(...tunnelActions(address, key, TUNNEL_PORT)),
        reason: 'to-remote-port',
      },
    ],
  };
}

/** Broadcast from a peer stays on this host: the sender has sent it to all other hosts itself. */
export function* compileDomain(
  { id, key, ports }: DomainView,
  here: readonly LocalPortView[],
  context: CompileContext,
): Steps<FlowFragment> {
  const metadata = hex(key);
  const outputs = here.map((port) => output(portName(port.id)));
  const named = [...new Set(yield* mapInSteps(ports, ({ host }) => host))];
  const hosts = yield* sortInSteps(named, (one, other) => (one < other ? -1 : 1));
  const sent = yield* mapInSteps(hosts, (host) => {
    const address = context.peers.get(host);
    return address === undefined ? [] : [formatActions(...tunnelActions(address, key, TUNNEL_PORT))];
  });
  const buckets = sent.flat();
  const group = context.allocator.group(`domain/${id}`);
  return {
    owner: { kind: 'domain', id },
    flows: [
      {
        table: TABLE.tunnel,
        priority: 50,
        match: formatMatch({ tun_id: metadata }),
        actions: formatActions(setField('metadata', metadata), resubmit(TABLE.deliver)),
        reason: 'tunnel-to-domain',
      },
      {
        table: TABLE.ingress,
        priority: 10,
        match: formatMatch({ metadata }),
        actions: formatActions(resubmit(TABLE.deliver)),
        reason: 'same-network',
      },
      {
        table: TABLE.deliver,
        priority: 60,
        match: formatMatch({ in_port: TUNNEL_PORT, metadata, dl_dst: ANY_MULTICAST }),
        actions: formatActions(...outputs),
        reason: 'flood-local',
      },
      {
        table: TABLE.deliver,
        priority: 50,
        match: formatMatch({ metadata, dl_dst: ANY_MULTICAST }),
        actions: formatActions(...outputs, ...(buckets.length === 0 ? [] : [groupAction(group)])),
        reason: 'flood',
      },
    ],
    groups: buckets.length === 0 ? [] : [{ id: group, type: 'all', buckets }],
  };
}
