// Why a flow is on a switch, in sentences: one for each reason that the compiler has. What is shown, diffed and traced is explained
// from here alone.
import type { Gap, FlowReason } from '../compile/flow-fragment.ts';

export const FLOW_REASON_SENTENCES: Readonly<Record<FlowReason, string>> = {
  'unknown-is-dropped': 'What nothing else is for is dropped.',
  'from-peer': 'Packets by tunnel are taken from this peer.',
  'next-hop-answers': 'A next hop outside answers the agent where it is.',
  'from-port': 'What this port sends is in its network; from another hardware address it is not taken.',
  'to-port': 'What is for this port is delivered here.',
  'own-address': 'Whoever looks whether his own address is taken is not told that it is.',
  'arp-answer': 'Who asks for the address of this port is answered here.',
  'to-far-port': 'What is for this port goes to its host.',
  'about-domain': 'What peers send about this network is delivered here.',
  'to-all': 'What is for all of the network goes to its ports here and to every host with ports in it.',
  'to-all-here': 'What a peer sent to all of the network goes to its ports here, and no further.',
  'own-network': 'What stays in its network is delivered.',
  gateway: 'What is sent to the gateway is routed.',
  'gateway-answers': 'Who asks for the gateway is answered here.',
  'gateway-echo': 'The gateway answers echo requests.',
  'gateway-advertises': 'Who looks for a router of IPv6 is answered by the agent.',
  route: 'This address behind the router is reached.',
  'route-nobody': 'Nobody has this address of the subnet.',
  'way-out': 'What is behind no subnet of the router leaves by its way out.',
  'about-router': 'What peers send to leave by this router leaves here.',
  'dhcp-asked': 'A request for an address goes to whoever answers it.',
  'dhcp-asked-by-peer': 'A request for an address that a peer passed on is answered by the agent.',
  'nat-away': 'What leaves goes to the host that translates it.',
  'nat-here': 'What leaves is translated here.',
  'nat-known-here': 'During a hand-over, what leaves is translated here if its connection is known here.',
  'nat-is-known': 'A connection that is known here leaves as it did before.',
  'nat-begins-elsewhere': 'A connection that is not known here is left to the other end of the hand-over.',
  'nat-begins-here':
    'What neither end of the hand-over knows begins here, with a port that the other end does not give out.',
  'nat-from-other-end': 'What the other end of the hand-over does not know comes here, and goes back to it no more.',
  'nat-reply': 'A reply from outside is translated back here.',
  'nat-reply-passed-on':
    'A reply that the other end, of a hand-over or with the standby, does not know is looked up here.',
  'nat-leaves': 'What was translated leaves.',
  'nat-restored': 'A reply that was translated back is delivered.',
  'nat-ask-other-end':
    'A reply that is not known here is passed on once: to the other end of the hand-over, to the standby, or from it.',
  'nat-answers-arp': 'Who asks outside for the address of the router is answered here.',
  'route-away': 'What leaves untranslated goes to the host that lets it out.',
  'route-leaves': 'What leaves untranslated leaves here.',
  'route-comes-in': 'What comes from outside for this subnet is let in here.',
  'route-answers': 'Who asks outside for the way to this subnet is answered here.',
  'floating-leaves': 'This instance leaves with its floating address.',
  'floating-comes-in': 'What comes for the floating address goes to its instance.',
  'floating-answers-arp': 'Who asks outside for the floating address is answered here.',
};

const GAP_SENTENCES: Readonly<Record<Gap['reason'], (what: string) => string>> = {
  'no-tunnel': (host) => `It would send to ${host}, to which there is no tunnel.`,
  'same-match': (flow) => `Something else has the flow ${flow}.`,
  'no-key': (what) => `${what} has no tunnel key yet.`,
  'no-next-hop': (what) => `The network outside of ${what} has no gateway.`,
  'next-hop-silent': (ip) => `The next hop ${ip} has not answered yet.`,
};

export function gapSentence({ owner: { kind, id }, reason, what }: Gap): string {
  return `${kind} ${id}: ${GAP_SENTENCES[reason](what)}`;
}
