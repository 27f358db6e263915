// What one resource wants on the switch: the flows and groups of a service, a peer, a port, a domain or a router, with the resource
// as the owner of all of them. The compiler puts pieces together; none of them knows of another.
import type { IdAllocator, Owner } from '../switch/derived-ids.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { Flow, Group } from '../switch/switch.ts';

/** Why a flow is there, in a word; the sentence to it is in `reasons.ts`. */
export interface FlowDraft extends Omit<Flow, 'cookie'> {
  readonly reason: FlowReason;
}

export type FlowReason =
  | 'unknown-is-dropped'
  | 'from-peer'
  | 'next-hop-answers'
  | 'from-port'
  | 'to-port'
  | 'own-address'
  | 'arp-answer'
  | 'to-far-port'
  | 'about-domain'
  | 'to-all'
  | 'to-all-here'
  | 'own-network'
  | 'gateway'
  | 'gateway-answers'
  | 'gateway-echo'
  | 'gateway-advertises'
  | 'route'
  | 'route-nobody'
  | 'way-out'
  | 'about-router'
  | 'dhcp-asked'
  | 'dhcp-asked-by-peer'
  | 'nat-away'
  | 'nat-here'
  | 'nat-known-here'
  | 'nat-is-known'
  | 'nat-begins-elsewhere'
  | 'nat-begins-here'
  | 'nat-from-other-end'
  | 'nat-reply'
  | 'nat-reply-passed-on'
  | 'nat-leaves'
  | 'nat-restored'
  | 'nat-ask-other-end'
  | 'nat-answers-arp'
  | 'route-away'
  | 'route-leaves'
  | 'route-comes-in'
  | 'route-answers'
  | 'floating-leaves'
  | 'floating-comes-in'
  | 'floating-answers-arp';

/** Something that is wanted and cannot be: it is left out, and told. */
export interface Gap {
  readonly owner: Owner;
  /**
   * `no-tunnel`: it would send to a host that is no peer. `same-match`: another owner has a flow with this very match. `no-key`: what
   * it lies in has no tunnel key. `no-next-hop`: the network outside has no gateway. `next-hop-silent`: it has not answered yet.
   */
  readonly reason: 'no-tunnel' | 'same-match' | 'no-key' | 'no-next-hop' | 'next-hop-silent';
  /** The host, the flow, the network or the address. */
  readonly what: string;
}

export interface FlowFragment {
  readonly owner: Owner;
  readonly flows: readonly FlowDraft[];
  readonly groups?: readonly Group[];
  readonly gaps?: readonly Gap[];
}

/** What the compiler of one service is given. */
export interface CompileContext {
  readonly host: string;
  readonly allocator: IdAllocator;
  /** The peers' tunnel addresses, by host. */
  readonly peers: ReadonlyMap<string, string>;
  /** The keys of domains and routers, by id. */
  readonly domains: ReadonlyMap<string, number>;
  readonly routers: ReadonlyMap<string, number>;
  /** The hardware address of a next hop outside; undefined until it has answered. */
  readonly nextHop: (ip: string) => string | undefined;
  /** Whether the heartbeat of a peer says anything: it is listened for, and was heard before. */
  readonly isBfdMonitored: (peer: string) => boolean;
}

export interface Hop {
  /** Undefined when it has none: then there is a gap, or nobody to send to. */
  readonly address: string | undefined;
  readonly gaps: readonly Gap[];
}

const NOWHERE: Hop = { address: undefined, gaps: [] };

/** The way to a host that a service sends to. */
export function findTunnelHop(service: ServiceView, host: string | undefined, { peers }: CompileContext): Hop {
  if (host === undefined) return NOWHERE;
  const address = peers.get(host);
  if (address !== undefined) return { address, gaps: [] };
  return { address, gaps: [{ owner: serviceOwner(service), reason: 'no-tunnel', what: host }] };
}

/** The way out of this host itself. */
export function findExternalHop(service: ServiceView, via: string | undefined, { nextHop }: CompileContext): Hop {
  const owner = serviceOwner(service);
  if (via === undefined) {
    return { address: undefined, gaps: [{ owner, reason: 'no-next-hop', what: service.router ?? service.id }] };
  }
  const address = nextHop(via);
  return { address, gaps: address === undefined ? [{ owner, reason: 'next-hop-silent', what: via }] : [] };
}

export function serviceOwner({ id }: ServiceView): Owner {
  return { kind: 'service', id };
}
