// Replies to neighbour and router solicitations on an IPv6 network: the fleet knows every address, so no host has to be queried. For one
// layer-2 network.
import { ALL_NODES, linkLocalOf, UNSPECIFIED } from '../packets/address.ts';
import type { LinkHeader } from '../packets/ethernet.ts';
import { isMalformed, type MalformedCode } from '../packets/malformed.ts';
import type { NeighbourSolicitation, RouterAdvertisement } from '../packets/nd.ts';
import { decodeNdFrame, encodeNdFrame, type NdFrame } from '../packets/nd-frame.ts';

export interface NdGateway {
  readonly mac: string;
  /** Its addresses in the subnets; its link-local address is derived from its MAC address. */
  readonly addresses: readonly string[];
}

export interface RoutedPrefix {
  readonly cidr: string;
  /** `managed`: the fleet assigns addresses. `autonomous`: instances may form some from the prefix. */
  readonly addressing: 'managed' | 'autonomous';
}

export interface NdNetwork {
  readonly gateway?: NdGateway;
  readonly prefixes: readonly RoutedPrefix[];
  readonly mtu: number;
  /** How long instances keep the gateway as default router after an advertisement. */
  readonly routerLifetimeS: number;
  /** The MAC address of the port that has an address, by the canonical address. */
  readonly ports: ReadonlyMap<string, string>;
}

export type NdDropReason =
  | MalformedCode
  | 'unknown-target'
  | 'own-address' // the sender itself has it
  | 'no-gateway'
  | 'not-a-solicitation';

export type NdAnswer =
  | { readonly kind: 'reply'; readonly type: 'neighbour' | 'taken' | 'router'; readonly frame: Uint8Array }
  | { readonly kind: 'silence'; readonly code: NdDropReason };

export function answerNd(frame: Uint8Array, network: NdNetwork): NdAnswer {
  const received = decodeNdFrame(frame);
  if (isMalformed(received)) return drop(received.malformed);
  switch (received.message.kind) {
    case 'neighbour-solicitation':
      return answerSolicitation(received, received.message, network);
    case 'router-solicitation':
      return answerRouterSolicitation(received, network);
    case 'neighbour-advertisement':
    case 'router-advertisement':
      return drop('not-a-solicitation');
  }
}

function drop(code: NdDropReason): NdAnswer {
  return { kind: 'silence', code };
}

function answerSolicitation(
  { link, between }: NdFrame,
  { target }: NeighbourSolicitation,
  network: NdNetwork,
): NdAnswer {
  const owner = ownerOf(target, network);
  if (owner === undefined) return drop('unknown-target');
  if (owner.mac === link.srcMac) return drop('own-address');
  // From the unspecified address: duplicate address detection, which can only be answered by multicast.
  const wantsIt = between.src === UNSPECIFIED;
  const answer = encodeNdFrame({
    link: replyLink(link, owner.mac),
    between: { src: target, dst: wantsIt ? ALL_NODES : between.src },
    message: {
      kind: 'neighbour-advertisement',
      target,
      router: owner.router,
      solicited: !wantsIt,
      override: true,
      targetMac: owner.mac,
    },
  });
  return { kind: 'reply', type: wantsIt ? 'taken' : 'neighbour', frame: answer };
}

function ownerOf(
  target: string,
  { gateway, ports }: NdNetwork,
): { readonly mac: string; readonly router: boolean } | undefined {
  if (gateway !== undefined && (gateway.addresses.includes(target) || linkLocalOf(gateway.mac) === target)) {
    return { mac: gateway.mac, router: true };
  }
  const mac = ports.get(target);
  return mac === undefined ? undefined : { mac, router: false };
}

/** The reverse path of a solicitation, with the replying address as source. */
function replyLink({ srcMac, vlan }: LinkHeader, mac: string): LinkHeader {
  return { srcMac: mac, dstMac: srcMac, ...(vlan === undefined ? {} : { vlan }) };
}

function answerRouterSolicitation({ link, between }: NdFrame, network: NdNetwork): NdAnswer {
  const { gateway } = network;
  if (gateway === undefined) return drop('no-gateway');
  if (link.srcMac === gateway.mac) return drop('own-address');
  const dst = between.src === UNSPECIFIED ? ALL_NODES : between.src;
  return {
    kind: 'reply',
    type: 'router',
    frame: advertisementFrame(network, gateway, { dst, link: replyLink(link, gateway.mac) }),
  };
}

/** The unsolicited advertisement to all nodes; undefined when there is no gateway. */
export function unsolicitedRouterAdvertisement(network: NdNetwork): Uint8Array | undefined {
  const { gateway } = network;
  if (gateway === undefined) return undefined;
  return advertisementFrame(network, gateway, { dst: ALL_NODES, link: { srcMac: gateway.mac, dstMac: gateway.mac } });
}

function advertisementFrame(
  network: NdNetwork,
  gateway: NdGateway,
  { dst, link }: { readonly dst: string; readonly link: LinkHeader },
): Uint8Array {
  return encodeNdFrame({
    link,
    between: { src: linkLocalOf(gateway.mac), dst },
    message: advertisementOf(network, gateway),
  });
}

const HOP_LIMIT = 64;
/** A prefix stays valid for the advertisement interval times this (RFC 4861, 6.2.1). */
const VALID_S = 30 * 24 * 3600;
const PREFERRED_S = 7 * 24 * 3600;

function advertisementOf({ prefixes, mtu, routerLifetimeS }: NdNetwork, { mac }: NdGateway): RouterAdvertisement {
  return {
    kind: 'router-advertisement',
    hopLimit: HOP_LIMIT,
    managed: prefixes.some(({ addressing }) => addressing === 'managed'),
    other: false,
    lifetimeS: routerLifetimeS,
    sourceMac: mac,
    mtu,
    prefixes: prefixes.map(({ cidr, addressing }) => ({
      cidr,
      onLink: true,
      autonomous: addressing === 'autonomous',
      validS: VALID_S,
      preferredS: PREFERRED_S,
    })),
  };
}
