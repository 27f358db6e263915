// What should be on a host's switch, compiled from its view: tunnels, groups, flows, external ids. Pure: the same view gives the
// same contents, whatever was there before and in whatever order the view lists things. Every flow leads back to its owner.
import { hostPiece, peerPiece, portPiece } from './compile-basics.ts';
import { natPiece } from './compile-nat.ts';
import { dhcpPiece, subnetRoutePiece } from './compile-subnet-services.ts';
import { Numbers, type Owner } from './keys.ts';
import type { Gap, Ground, Piece, ServiceCompiler } from './piece.ts';
import type { DataplaneView, ShownService } from './shown.ts';
import type { Cookie, Flow, SwitchContents } from './switch.ts';

export interface Compiled {
  readonly contents: SwitchContents;
  /** Whose flows a cookie marks. */
  readonly owners: ReadonlyMap<Cookie, Owner>;
  readonly gaps: readonly Gap[];
}

/** The external id that shows a leaving host to whoever reads the switch. The journal is the truth; this is its projection. */
export const TOMBSTONED_KEY = 'tombstoned';

const NOTHING: SwitchContents = { flows: [], groups: [], tunnels: [], externalIds: {} };

/** What is wanted of a switch that is not ours any more. */
export const WIPED: Compiled = { contents: NOTHING, owners: new Map(), gaps: [] };

const COMPILERS: Readonly<Record<ShownService['type'], ServiceCompiler>> = {
  nat: natPiece,
  'subnet-route': subnetRoutePiece,
  dhcp: dhcpPiece,
};

export function compile(view: DataplaneView): Compiled {
  if (view.outcast) return WIPED;
  const numbers = new Numbers();
  const peers = byName(view.peers, ({ host }) => host);
  const ground = { numbers, peers: new Map(peers.map(({ host, tunnelAddress }) => [host, tunnelAddress])) };
  const pieces = piecesOf(view, ground);
  const { flows, owners, doubles } = flowsOf(pieces, numbers);
  return {
    contents: {
      flows,
      groups: pieces.flatMap(({ groups = [] }) => groups).sort((one, other) => one.id - other.id),
      tunnels: peers.map(({ host, tunnelAddress }) => ({ peer: host, address: tunnelAddress })),
      externalIds: view.tombstoned ? { [TOMBSTONED_KEY]: 'true' } : {},
    },
    owners,
    gaps: [...pieces.flatMap(({ gaps = [] }) => gaps), ...doubles],
  };
}

function piecesOf(view: DataplaneView, ground: Ground): Piece[] {
  return [
    hostPiece(view.host),
    ...byName(view.peers, ({ host }) => host).map(peerPiece),
    ...byName(view.ports, ({ id }) => id).map(portPiece),
    ...byName(view.services, ({ id }) => id).map(
      (service) => COMPILERS[service.type]?.(service, ground) ?? unknown(service),
    ),
  ];
}

/** A type that a newer server knows. */
function unknown({ id }: ShownService): Piece {
  return { owner: { kind: 'service', id }, flows: [] };
}

interface Made {
  readonly flows: readonly Flow[];
  readonly owners: ReadonlyMap<Cookie, Owner>;
  readonly doubles: readonly Gap[];
}

function flowsOf(pieces: readonly Piece[], numbers: Numbers): Made {
  const flows = new Map<string, Flow>();
  const owners = new Map<Cookie, Owner>();
  const doubles: Gap[] = [];
  for (const { owner, flows: drafts } of pieces) {
    const cookie = numbers.cookie(owner);
    for (const draft of drafts) {
      const key = flowKey(draft);
      if (flows.has(key)) doubles.push({ owner, because: 'same-match', what: key });
      else {
        flows.set(key, { ...draft, cookie });
        owners.set(cookie, owner);
      }
    }
  }
  return { flows: [...flows.values()].sort(inOrder), owners, doubles };
}

/** Two flows with the same key are the same one. */
export function flowKey({ table, priority, match }: Pick<Flow, 'table' | 'priority' | 'match'>): string {
  return `table=${table},priority=${priority}${match === '' ? '' : ','}${match}`;
}

function inOrder(one: Flow, other: Flow): number {
  return one.table - other.table || other.priority - one.priority || (one.match < other.match ? -1 : 1);
}

function byName<T>(things: readonly T[], nameOf: (thing: T) => string): T[] {
  return [...things].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0));
}
