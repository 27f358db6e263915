// What must never be untrue of instances. Checked after every commit in tests and in the simulation, on the documents that the commit changed.
import { idOf, type AppliedChange, type FleetReader, type Invariant } from '../fleet/index.ts';
import { CLAIM, claimId, PORT, PORTS_BY_INSTANCE, type Claim } from '../network/index.ts';
import { ITEM, OPEN_ITEMS_BY_TARGET, targetKey, type Item } from '../operations/index.ts';
import { antiAffinityInvariant } from '../scheduler/index.ts';
import { GROUP, INSTANCE, INSTANCE_TRANSITIONS, RELOCATING_INSTANCES_BY_GROUP, type Instance } from './model.ts';

const stateTransitionIsLegal: Invariant = {
  name: 'never: an instance takes a step that its table does not have',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== INSTANCE.name || before === undefined || after === undefined) return [];
      const [from, to] = [(before.doc as Instance).state, (after.doc as Instance).state];
      return from === to || INSTANCE_TRANSITIONS[from].includes(to) ? [] : [`instance ${after.id}: ${from} to ${to}`];
    }),
};

/** The instances that a commit touched, by their documents or by their claims. */
function listTouchedInstances(changed: readonly AppliedChange[]): Set<string> {
  return new Set(
    changed.flatMap(({ kind, before, after }) =>
      [before, after].flatMap((one): string[] => {
        if (one === undefined) return [];
        if (kind === INSTANCE.name) return [one.id];
        return kind === CLAIM.name ? [(one.doc as Claim).instance] : [];
      }),
    ),
  );
}

const hostMatchesClaims: Invariant = {
  name: 'never: an instance is at a host without its claim there, or has a claim where it is not',
  check: (changed, fleet) =>
    [...listTouchedInstances(changed)].flatMap((id) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
      const home = fleet.get(CLAIM, claimId(id, 'home'))?.doc;
      const move = fleet.get(CLAIM, claimId(id, 'move'))?.doc;
      if (instance === undefined) return (home ?? move) ? [`a claim of instance ${id}, which is not there`] : [];
      if (instance.host !== home?.host)
        return [`instance ${id}: at ${instance.host ?? 'no host'}, claim at ${home?.host ?? 'none'}`];
      return move !== undefined && instance.state !== 'moving' && instance.state !== 'deleting'
        ? [`instance ${id} is ${instance.state} with a claim of a move`]
        : [];
    }),
};

const hasOnePlace: Invariant = {
  name: 'never: an instance is on a host and on a node, or where its builder does not build',
  check: (changed) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== INSTANCE.name || after === undefined) return [];
      const { builder, host, node } = after.doc as Instance;
      const isRight = builder === undefined ? node === undefined : host === undefined;
      return isRight ? [] : [`instance ${after.id} of ${builder ?? 'hosts'}: host ${host}, node ${node}`];
    }),
};

const nicsAreAttached: Invariant = {
  name: 'never: a NIC of an instance is a port that is attached elsewhere or not at all',
  check: (changed, fleet: FleetReader) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== INSTANCE.name || after === undefined) return [];
      return (after.doc as Instance).nics.flatMap(({ port: id }, nic) => {
        const port = fleet.get(PORT, idOf(PORT, id))?.doc;
        const right = port?.instance === after.id && port.nic === nic;
        return right ? [] : [`instance ${after.id}: NIC ${nic} is port ${id} of ${port?.instance ?? 'nobody'}`];
      });
    }),
};

/** Instances whose documents changed, or of which an operation started or ended. */
function instancesWorkedOn(changed: readonly AppliedChange[]): Set<string> {
  return new Set(
    changed.flatMap(({ kind, before, after }): string[] => {
      if (kind === INSTANCE.name) return after === undefined ? [] : [after.id];
      const target = kind === ITEM.name ? ((after ?? before)?.doc as Item | undefined)?.target : undefined;
      return target?.kind === INSTANCE.name ? [target.id] : [];
    }),
  );
}

const failedBuildHoldsNothing: Invariant = {
  name: 'never: a failed or cancelled build holds a claim or ports that no operation releases',
  check: (changed, fleet) =>
    [...instancesWorkedOn(changed)].flatMap((id) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
      if (instance?.state !== 'error' || instance.wasActive) return [];
      if (fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id)) > 0) return [];
      const claims = (['home', 'move'] as const).filter((role) => fleet.get(CLAIM, claimId(id, role)) !== undefined);
      const ports = fleet.countOf(PORTS_BY_INSTANCE, id);
      return claims.length + ports === 0 ? [] : [`instance ${id} has ${claims.length} claims and ${ports} ports`];
    }),
};

const antiAffinityIsKept = antiAffinityInvariant((fleet, group) => fleet.get(GROUP, idOf(GROUP, group))?.doc.policy);

/** Limits what drains start: operators may move as many as they like. */
const groupMoveLimitIsKept: Invariant = {
  name: 'never: drains disturb more of a server group at once than it bears',
  check: (changed, fleet) => {
    const started = changed.flatMap(({ kind, before, after }) => {
      if (kind !== INSTANCE.name || before === undefined || after === undefined) return [];
      const [was, is] = [before.doc as Instance, after.doc as Instance];
      const byDrain =
        is.state === 'moving' && was.state !== 'moving' && is.move?.operation.startsWith('drain-') === true;
      return byDrain ? (is.place.group ?? []) : [];
    });
    return [...new Set(started)].flatMap((group) => {
      const limit = fleet.get(GROUP, idOf(GROUP, group))?.doc.movesAtOnce;
      const moving = fleet.countOf(RELOCATING_INSTANCES_BY_GROUP, group);
      return limit !== undefined && moving > limit ? [`${moving} of group ${group} move, which bears ${limit}`] : [];
    });
  },
};

export const INSTANCE_INVARIANTS: readonly Invariant[] = [
  stateTransitionIsLegal,
  hasOnePlace,
  hostMatchesClaims,
  nicsAreAttached,
  failedBuildHoldsNothing,
  antiAffinityIsKept,
  groupMoveLimitIsKept,
];
