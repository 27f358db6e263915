// What is said to those who look for neighbours and routers on a network of IPv6: the fleet knows who is there, so that nobody has to be
// asked. For one layer-2 network.
import { ALL_NODES, linkLocalOf, UNSPECIFIED } from '../packets/address.ts';
import type { Link } from '../packets/ethernet.ts';
import { isMalformed, type MalformedCode } from '../packets/malformed.ts';
import type { NeighbourSolicitation, RouterAdvertisement } from '../packets/nd.ts';
import { decodeNdFrame, encodeNdFrame, type NdFrame } from '../packets/nd-frame.ts';

export interface Gateway {
  readonly mac: string;
  /** Its addresses in the subnets; the one of the link is made of its MAC address. */
  readonly addresses: readonly string[];
}

export interface RoutedPrefix {
  readonly cidr: string;
  /** `managed`: the addresses are the fleet's. `autonomous`: instances may make some of the prefix. */
  readonly addressing: 'managed' | 'autonomous';
}

export interface NeighbourNetwork {
  readonly gateway?: Gateway;
  readonly prefixes: readonly RoutedPrefix[];
  readonly mtu: number;
  /** For how long instances keep the gateway as their default router after they heard of it. */
  readonly routerLifetimeS: number;
  /** The MAC address of the port that has an address, by the canonical address. */
  readonly ports: ReadonlyMap<string, string>;
}

export type NeighbourSilence =
  | MalformedCode
  | 'unknown-target'
  | 'own-address' // who asks has it
  | 'no-gateway'
  | 'not-a-question';

export type NeighbourAnswer =
  | { readonly kind: 'reply'; readonly type: 'neighbour' | 'taken' | 'router'; readonly frame: Uint8Array }
  | { readonly kind: 'silence'; readonly code: NeighbourSilence };

export function answerNeighbour(frame: Uint8Array, known: NeighbourNetwork): NeighbourAnswer {
  const heard = decodeNdFrame(frame);
  if (isMalformed(heard)) return silence(heard.malformed);
  switch (heard.message.kind) {
    case 'neighbour-solicitation':
      return answerSolicitation(heard, heard.message, known);
    case 'router-solicitation':
      return answerRouterSolicitation(heard, known);
    case 'neighbour-advertisement':
    case 'router-advertisement':
      return silence('not-a-question');
  }
}

function silence(code: NeighbourSilence): NeighbourAnswer {
  return { kind: 'silence', code };
}

function answerSolicitation(
  { link, between }: NdFrame,
  { target }: NeighbourSolicitation,
  known: NeighbourNetwork,
): NeighbourAnswer {
  const owner = ownerOf(target, known);
  if (owner === undefined) return silence('unknown-target');
  if (owner.mac === link.srcMac) return silence('own-address');
  // From nowhere: the asker wants the address for itself, and cannot be spoken to but with all others.
  const wantsIt = between.src === UNSPECIFIED;
  const answer = encodeNdFrame({
    link: back(link, owner.mac),
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
  { gateway, ports }: NeighbourNetwork,
): { readonly mac: string; readonly router: boolean } | undefined {
  if (gateway !== undefined && (gateway.addresses.includes(target) || linkLocalOf(gateway.mac) === target)) {
    return { mac: gateway.mac, router: true };
  }
  const mac = ports.get(target);
  return mac === undefined ? undefined : { mac, router: false };
}

/** The way that a question came, with the one who answers in front. */
function back({ srcMac, vlan }: Link, mac: string): Link {
  return { srcMac: mac, dstMac: srcMac, ...(vlan === undefined ? {} : { vlan }) };
}

function answerRouterSolicitation({ link, between }: NdFrame, known: NeighbourNetwork): NeighbourAnswer {
  const { gateway } = known;
  if (gateway === undefined) return silence('no-gateway');
  if (link.srcMac === gateway.mac) return silence('own-address');
  const dst = between.src === UNSPECIFIED ? ALL_NODES : between.src;
  return {
    kind: 'reply',
    type: 'router',
    frame: advertisementFrame(known, gateway, { dst, link: back(link, gateway.mac) }),
  };
}

/** The advertisement that nobody asked for, to everybody; undefined when there is no gateway to speak of. */
export function routerAdvertisement(known: NeighbourNetwork): Uint8Array | undefined {
  const { gateway } = known;
  if (gateway === undefined) return undefined;
  return advertisementFrame(known, gateway, { dst: ALL_NODES, link: { srcMac: gateway.mac, dstMac: gateway.mac } });
}

function advertisementFrame(
  known: NeighbourNetwork,
  gateway: Gateway,
  { dst, link }: { readonly dst: string; readonly link: Link },
): Uint8Array {
  return encodeNdFrame({
    link,
    between: { src: linkLocalOf(gateway.mac), dst },
    message: advertisementOf(known, gateway),
  });
}

const HOP_LIMIT = 64;
/** A prefix stays right for as long as it is advertised, and these times after (RFC 4861, 6.2.1). */
const VALID_S = 30 * 24 * 3600;
const PREFERRED_S = 7 * 24 * 3600;

function advertisementOf({ prefixes, mtu, routerLifetimeS }: NeighbourNetwork, { mac }: Gateway): RouterAdvertisement {
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
