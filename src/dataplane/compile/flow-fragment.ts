// The part of the switch contents that one resource needs: flows and groups of a service, a peer, a port, a domain or a router, all owned
// by that resource. The compiler merges fragments; a fragment must not depend on another.
import type { IdAllocator, Owner } from '../switch/derived-ids.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { Flow, FlowGroup } from '../switch/switch.ts';

/** Why a flow exists, as a code; the sentence for it is in `flow-reasons.ts`. */
export interface FlowDraft extends Omit<Flow, 'cookie'> {
  readonly reason: FlowReason;
}

export type FlowReason =
  | 'default-drop'
  | 'from-peer'
  | 'next-hop-reply'
  | 'from-port'
  | 'to-port'
  | 'own-address-probe'
  | 'arp-responder'
  | 'to-remote-port'
  | 'tunnel-to-domain'
  | 'flood'
  | 'flood-local'
  | 'same-network'
  | 'to-gateway'
  | 'gateway-responder'
  | 'gateway-echo'
  | 'gateway-router-advertisement'
  | 'route'
  | 'route-unassigned-address'
  | 'default-route'
  | 'tunnel-to-router'
  | 'dhcp-request'
  | 'dhcp-request-from-peer'
  | 'nat-redirect'
  | 'nat-translate'
  | 'nat-lookup'
  | 'nat-established'
  | 'nat-new-at-other-end'
  | 'nat-new-here'
  | 'nat-from-other-end'
  | 'nat-reply'
  | 'nat-reply-forwarded'
  | 'nat-egress'
  | 'nat-reply-restored'
  | 'nat-unknown-reply-forwarded'
  | 'nat-arp-responder'
  | 'subnet-route-redirect'
  | 'subnet-route-egress'
  | 'subnet-route-ingress'
  | 'subnet-route-responder'
  | 'floating-egress'
  | 'floating-ingress'
  | 'floating-arp-responder';

/** Something desired that cannot be compiled: it is left out and reported. */
export interface Gap {
  readonly owner: Owner;
  /**
   * `no-tunnel`: it would send to a host that is no peer. `match-conflict`: another owner has a flow with the same match. `no-tunnel-key`: its domain
   * or router has no tunnel key. `no-next-hop`: the external network has no gateway. `next-hop-unresolved`: the next hop has not answered yet.
   */
  readonly reason: 'no-tunnel' | 'match-conflict' | 'no-tunnel-key' | 'no-next-hop' | 'next-hop-unresolved';
  /** The host, flow, network or address that is missing or in conflict. */
  readonly what: string;
}

export interface FlowFragment {
  readonly owner: Owner;
  readonly flows: readonly FlowDraft[];
  readonly groups?: readonly FlowGroup[];
  readonly gaps?: readonly Gap[];
}

/** The input for compiling one service. */
export interface CompileContext {
  readonly host: string;
  readonly allocator: IdAllocator;
  /** The peers' tunnel addresses, by host. */
  readonly peers: ReadonlyMap<string, string>;
  /** The keys of domains and routers, by id. */
  readonly domains: ReadonlyMap<string, number>;
  readonly routers: ReadonlyMap<string, number>;
  /** The hardware address of an external next hop; undefined until it has answered. */
  readonly nextHop: (ip: string) => string | undefined;
  /** Whether the BFD state of a peer can be trusted: BFD is configured, and was up before. */
  readonly isBfdMonitored: (peer: string) => boolean;
}

export interface Hop {
  /** Undefined when it has none: then a gap is reported, or there is no peer to send to. */
  readonly address: string | undefined;
  readonly gaps: readonly Gap[];
}

const NOWHERE: Hop = { address: undefined, gaps: [] };

/** The path to a host that a service sends to. */
export function findTunnelHop(service: ServiceView, host: string | undefined, { peers }: CompileContext): Hop {
  if (host === undefined) return NOWHERE;
  const address = peers.get(host);
  if (address !== undefined) return { address, gaps: [] };
  return { address, gaps: [{ owner: serviceOwner(service), reason: 'no-tunnel', what: host }] };
}

/** The way out through this host itself. */
export function findExternalHop(service: ServiceView, via: string | undefined, { nextHop }: CompileContext): Hop {
  const owner = serviceOwner(service);
  if (via === undefined) {
    return { address: undefined, gaps: [{ owner, reason: 'no-next-hop', what: service.router ?? service.id }] };
  }
  const address = nextHop(via);
  return { address, gaps: address === undefined ? [{ owner, reason: 'next-hop-unresolved', what: via }] : [] };
}

export function serviceOwner({ id }: ServiceView): Owner {
  return { kind: 'service', id };
}
