// What must never be untrue of instances on nodes and of the reservations under their names. Checked after every commit in tests and in the simulation, on
// the documents that the commit changed.
import { idOf, type AppliedChange, type FleetReader, type Invariant } from '../../fleet/index.ts';
import { INSTANCE, type Instance } from '../../instances/index.ts';
import { NODE, RESERVATION, type Node } from '../model.ts';
import { BARE_METAL } from './names.ts';
import { buildOf, nodeOfInstance } from './node-of.ts';

/** The instances that a commit may have brought apart from their nodes or reservations. */
function listConcernedInstances(fleet: FleetReader, changed: readonly AppliedChange[]): Set<string> {
  const ids = changed.flatMap(({ kind, before, after }): (string | undefined)[] => {
    if (kind === INSTANCE.name || kind === RESERVATION.name) return [after?.id];
    if (kind !== NODE.name) return [];
    return [before, after].map((side) => (side?.doc as Node | undefined)?.instance);
  });
  return new Set(ids.filter((id): id is string => id !== undefined && ownInstance(fleet, id) !== undefined));
}

function ownInstance(fleet: FleetReader, id: string): Instance | undefined {
  const doc = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  return doc?.builder === BARE_METAL ? doc : undefined;
}

const activeOnItsOwnNode: Invariant = {
  name: 'never: an instance is active on a node that its build did not reserve',
  check: (changed, fleet) =>
    [...listConcernedInstances(fleet, changed)].flatMap((id) => {
      const doc = ownInstance(fleet, id);
      if (doc?.state !== 'active') return [];
      const nodes = [doc.node, doc.attempts.at(-1)?.node, nodeOfInstance(fleet, id)?.id];
      return nodes[0] !== undefined && new Set(nodes).size === 1
        ? []
        : [`instance ${id} is on ${nodes[0]}, its last try on ${nodes[1]}, and node ${nodes[2]} is reserved for it`];
    }),
};

const reservedByItsBuild: Invariant = {
  name: 'never: an instance has a reservation that somebody made by hand',
  check: (changed, fleet) =>
    [...listConcernedInstances(fleet, changed)].flatMap((id) => {
      const doc = fleet.get(RESERVATION, idOf(RESERVATION, id))?.doc;
      if (doc === undefined || doc.state === 'error') return [];
      return buildOf(doc)?.endsWith(`.${id}`) === true ? [] : [`the reservation of ${id} is that of ${buildOf(doc)}`];
    }),
};

export const NODE_BUILD_INVARIANTS: readonly Invariant[] = [activeOnItsOwnNode, reservedByItsBuild];
