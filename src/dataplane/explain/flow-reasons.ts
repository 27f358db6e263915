// Why a flow is on a switch, in sentences: one for each reason code of the compiler. Everything that shows, compares or traces flows takes
// its sentences from here, and only from here.
import type { Gap, FlowReason } from '../compile/flow-fragment.ts';

export const FLOW_REASON_SENTENCES: Readonly<Record<FlowReason, string>> = {
  'default-drop': 'Drops packets that no other flow matches.',
  'from-peer': 'Accepts tunnel packets from this peer.',
  'next-hop-reply': 'Sends ARP and neighbour replies of an external next hop to the agent.',
  'from-port': 'Assigns what this port sends to its network, only from its own hardware address.',
  'to-port': 'Delivers packets for this port on this host.',
  'own-address-probe': 'Leaves duplicate address detection for this port unanswered.',
  'arp-responder': 'Answers ARP and neighbour requests for this port.',
  'to-remote-port': 'Sends packets for this port to its host.',
  'tunnel-to-domain': 'Delivers what peers send in this network.',
  flood: 'Sends broadcast to the ports of the network here and to every host with ports in it.',
  'flood-local': 'Delivers broadcast from a peer to the ports of the network here, and no further.',
  'same-network': 'Delivers packets that stay in their network.',
  'to-gateway': 'Routes packets that are sent to the gateway.',
  'gateway-responder': 'Answers ARP and neighbour requests for the gateway.',
  'gateway-echo': 'Answers echo requests to the gateway.',
  'gateway-router-advertisement': 'Sends IPv6 router solicitations to the agent, which answers them.',
  route: 'Routes to this address behind the router.',
  'route-unassigned-address': 'Drops packets to unused addresses of the subnet.',
  'default-route': 'Sends packets for addresses outside the subnets of the router to its way out.',
  'tunnel-to-router': 'Sends out what peers forward for the way out of this router.',
  'dhcp-request': 'Sends DHCP requests to the host that answers them.',
  'dhcp-request-from-peer': 'Sends DHCP requests that a peer forwarded to the agent, which answers them.',
  'nat-redirect': 'Sends outgoing packets to the host that translates them.',
  'nat-translate': 'Translates outgoing packets.',
  'nat-lookup': 'During a handover, looks up outgoing packets and translates those of known connections.',
  'nat-established': 'Lets a known connection leave as before the handover.',
  'nat-new-at-other-end': 'Sends an unknown connection to the other end of the handover.',
  'nat-new-here': 'Begins a connection that neither end of the handover knows, with a port from a range of its own.',
  'nat-from-other-end': 'Takes what the other end of the handover does not know, and never sends it back.',
  'nat-reply': 'Translates replies from outside back.',
  'nat-reply-forwarded': 'Looks up replies that the other end (of a handover, or the standby) does not know.',
  'nat-egress': 'Sends out translated packets.',
  'nat-reply-restored': 'Delivers replies that were translated back.',
  'nat-unknown-reply-forwarded':
    'Forwards an unknown reply once: to the other end of the handover, to the standby, or from it.',
  'nat-arp-responder': 'Answers external ARP and neighbour requests for the address of the router.',
  'subnet-route-redirect': 'Sends untranslated outgoing packets to the designated host of the route.',
  'subnet-route-egress': 'Sends out untranslated packets.',
  'subnet-route-ingress': 'Routes packets from outside into this subnet.',
  'subnet-route-responder': 'Answers external neighbour requests for the next hop of this subnet.',
  'floating-egress': 'Translates what this instance sends to its floating address.',
  'floating-ingress': 'Translates packets for the floating address to its instance.',
  'floating-arp-responder': 'Answers external ARP requests for the floating address.',
};

const GAP_SENTENCES: Readonly<Record<Gap['reason'], (what: string) => string>> = {
  'no-tunnel': (host) => `It needs a tunnel to ${host}, and there is none.`,
  'match-conflict': (flow) => `Another owner already has the flow ${flow}.`,
  'no-tunnel-key': (what) => `${what} has no tunnel key yet.`,
  'no-next-hop': (what) => `The external network of ${what} has no gateway.`,
  'next-hop-unresolved': (ip) => `The next hop ${ip} has not answered yet.`,
};

export function gapSentence({ owner: { kind, id }, reason, what }: Gap): string {
  return `${kind} ${id}: ${GAP_SENTENCES[reason](what)}`;
}
