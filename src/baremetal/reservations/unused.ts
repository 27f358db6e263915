// Nodes that were reserved and to which nothing was deployed: after some time they are released, unless a build of Muster's own still needs them. They are
// looked at in the order in which they were reserved, so that a look costs what is due and not what is reserved.
import {
  idOf,
  type AppliedChange,
  type FleetReader,
  type Projection,
  type ProjectionState,
} from '../../fleet/index.ts';
import { isOwnInstance } from '../builder/build-reservation.ts';
import { NODE, RESERVATION, type Node } from '../model.ts';
import { reservationId, type StoredReservation } from './documents.ts';

/** A caller that requested a node deploys to it within minutes. */
export const UNUSED_MAX_MS = 300_000;

/** After a start the order is that of their ids: behind so many that are not due, none is looked for. All are due within minutes. */
const NOT_DUE_MAX = 100;

export class UnusedNodes implements ProjectionState {
  readonly #instances = new Map<string, string>();

  apply({ before, after }: AppliedChange): void {
    const [was, is] = [instanceIfUnused(before?.doc as Node), instanceIfUnused(after?.doc as Node)];
    if (was === is) return;
    if (was !== undefined) this.#instances.delete(before?.id ?? '');
    if (is !== undefined) this.#instances.set(after?.id ?? '', is);
  }

  /** The longest reserved first, as far as it is known. */
  instances(): Iterable<string> {
    return this.#instances.values();
  }
}

function instanceIfUnused(node: Node | undefined): string | undefined {
  return node?.state === 'reserved' ? node.instance : undefined;
}

export const UNUSED_NODES: Projection<UnusedNodes> = {
  name: 'unused-nodes',
  kinds: [NODE.name],
  create: () => new UnusedNodes(),
};

export interface UnusedQuery {
  readonly nowMs: number;
  readonly limit: number;
}

/** Reservations that are neither used nor needed any more. */
export function findUnused(fleet: FleetReader, { nowMs, limit }: UnusedQuery): StoredReservation[] {
  const found: StoredReservation[] = [];
  let notDue = 0;
  for (const instance of fleet.projection(UNUSED_NODES).instances()) {
    const stored = fleet.get(RESERVATION, reservationId(instance));
    if (stored === undefined) continue;
    if (!isDue(stored, nowMs)) notDue += 1;
    else if (isUnwanted(fleet, stored)) found.push(stored);
    if (notDue >= NOT_DUE_MAX || found.length >= limit) break;
  }
  return found;
}

function isDue({ doc }: StoredReservation, nowMs: number): boolean {
  return doc.state === 'active' && nowMs >= doc.createdAtMs + UNUSED_MAX_MS;
}

/** A build that is still there sees to its node, or the next manager of it does. */
function isUnwanted(fleet: FleetReader, { doc }: StoredReservation): boolean {
  return !isOwnInstance(fleet, doc.instance);
}

/** As decided in the commit that releases it. */
export function isUnused(fleet: FleetReader, stored: StoredReservation, nowMs: number): boolean {
  const node = stored.doc.node === undefined ? undefined : fleet.get(NODE, idOf(NODE, stored.doc.node));
  return isDue(stored, nowMs) && isUnwanted(fleet, stored) && node?.doc.state === 'reserved';
}
