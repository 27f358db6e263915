// Why a flow is on a switch, in sentences: one for each reason code of the compiler. Everything that shows, compares or traces flows takes
// its sentences from here, and only from here.
import type { Gap, FlowReason } from '../compile/flow-fragment.ts';

export const FLOW_REASON_SENTENCES: Readonly<Record<FlowReason, string>> = {
  'unknown-is-dropped': 'Drops packets that no other flow matches.',
  'from-peer': 'Accepts tunnel packets from this peer.',
  'next-hop-answers': 'Sends ARP and neighbour replies of an external next hop to the agent.',
  'from-port': 'Assigns what this port sends to its network, only from its own hardware address.',
  'to-port': 'Delivers packets for this port on this host.',
  'own-address': 'Leaves duplicate address detection for this port unanswered.',
  'arp-answer': 'Answers ARP and neighbour requests for this port.',
  'to-far-port': 'Sends packets for this port to its host.',
  'about-domain': 'Delivers what peers send in this network.',
  'to-all': 'Sends broadcast to the ports of the network here and to every host with ports in it.',
  'to-all-here': 'Delivers broadcast from a peer to the ports of the network here, and no further.',
  'own-network': 'Delivers packets that stay in their network.',
  gateway: 'Routes packets that are sent to the gateway.',
  'gateway-answers': 'Answers ARP and neighbour requests for the gateway.',
  'gateway-echo': 'Answers echo requests to the gateway.',
  'gateway-advertises': 'Sends IPv6 router solicitations to the agent, which answers them.',
  route: 'Routes to this address behind the router.',
  'route-nobody': 'Drops packets to unused addresses of the subnet.',
  'way-out': 'Sends packets for addresses outside the subnets of the router to its way out.',
  'about-router': 'Sends out what peers forward for the way out of this router.',
  'dhcp-asked': 'Sends DHCP requests to the host that answers them.',
  'dhcp-asked-by-peer': 'Sends DHCP requests that a peer forwarded to the agent, which answers them.',
  'nat-away': 'Sends outgoing packets to the host that translates them.',
  'nat-here': 'Translates outgoing packets.',
  'nat-known-here': 'During a handover, looks up outgoing packets and translates those of known connections.',
  'nat-is-known': 'Lets a known connection leave as before the handover.',
  'nat-begins-elsewhere': 'Sends an unknown connection to the other end of the handover.',
  'nat-begins-here': 'Begins a connection that neither end of the handover knows, with a port from a range of its own.',
  'nat-from-other-end': 'Takes what the other end of the handover does not know, and never sends it back.',
  'nat-reply': 'Translates replies from outside back.',
  'nat-reply-passed-on': 'Looks up replies that the other end (of a handover, or the standby) does not know.',
  'nat-leaves': 'Sends out translated packets.',
  'nat-restored': 'Delivers replies that were translated back.',
  'nat-ask-other-end': 'Forwards an unknown reply once: to the other end of the handover, to the standby, or from it.',
  'nat-answers-arp': 'Answers external ARP and neighbour requests for the address of the router.',
  'route-away': 'Sends untranslated outgoing packets to the designated host of the route.',
  'route-leaves': 'Sends out untranslated packets.',
  'route-comes-in': 'Routes packets from outside into this subnet.',
  'route-answers': 'Answers external neighbour requests for the next hop of this subnet.',
  'floating-leaves': 'Translates what this instance sends to its floating address.',
  'floating-comes-in': 'Translates packets for the floating address to its instance.',
  'floating-answers-arp': 'Answers external ARP requests for the floating address.',
};

const GAP_SENTENCES: Readonly<Record<Gap['reason'], (what: string) => string>> = {
  'no-tunnel': (host) => `It needs a tunnel to ${host}, and there is none.`,
  'same-match': (flow) => `Another owner already has the flow ${flow}.`,
  'no-key': (what) => `${what} has no tunnel key yet.`,
  'no-next-hop': (what) => `The external network of ${what} has no gateway.`,
  'next-hop-silent': (ip) => `The next hop ${ip} has not answered yet.`,
};

export function gapSentence({ owner: { kind, id }, reason, what }: Gap): string {
  return `${kind} ${id}: ${GAP_SENTENCES[reason](what)}`;
}
