// What one resource wants on the switch: the flows and groups of a service, a peer or a port, with the resource as the owner of
// all of them. The compiler puts pieces together; none of them knows of another.
import type { Numbers, Owner } from './keys.ts';
import type { ShownService } from './shown.ts';
import type { Flow, Group } from './switch.ts';

export type Draft = Omit<Flow, 'cookie'>;

/** Something that is wanted and cannot be: it is left out, and told. */
export interface Gap {
  readonly owner: Owner;
  /** `no-tunnel`: it would send to a host that is no peer. `same-match`: another owner has a flow with this very match. */
  readonly because: 'no-tunnel' | 'same-match';
  /** The host, or the flow. */
  readonly what: string;
}

export interface Piece {
  readonly owner: Owner;
  readonly flows: readonly Draft[];
  readonly groups?: readonly Group[];
  readonly gaps?: readonly Gap[];
}

/** What the compiler of one service is given. */
export interface Ground {
  readonly numbers: Numbers;
  /** The peers' tunnel addresses, by host. */
  readonly peers: ReadonlyMap<string, string>;
}

/** Compiles one type of service. */
export type ServiceCompiler = (service: ShownService, ground: Ground) => Piece;

export interface Hop {
  /** Undefined when it has none: then there is a gap, or nobody to send to. */
  readonly address: string | undefined;
  readonly gaps: readonly Gap[];
}

const NOWHERE: Hop = { address: undefined, gaps: [] };

/** The way to a host that a service sends to. */
export function hopTo(service: ShownService, host: string | undefined, { peers }: Ground): Hop {
  if (host === undefined) return NOWHERE;
  const address = peers.get(host);
  if (address !== undefined) return { address, gaps: [] };
  return { address, gaps: [{ owner: ownerOf(service), because: 'no-tunnel', what: host }] };
}

export function ownerOf({ id }: ShownService): Owner {
  return { kind: 'service', id };
}
