// What must never be untrue of designations, checked after every commit in tests and in the simulation; and what must hold once everything has
// settled.
import type { AppliedChange, FleetReader, Invariant } from '../fleet/index.ts';
import { findHost, HOST, isOutOfControl, isTombstoned, type Host } from '../hosts/index.ts';
import { ITEM, OPEN_ITEMS_BY_TARGET, targetKey, type Item } from '../operations/index.ts';
import { ElectionContext } from './candidates.ts';
import { isBeforeSwitch, SERVICE, SERVICES_TOUCHING_HOST, type Service } from './model.ts';
import { isHandoverActive } from './designation.ts';
import { hasStandby } from './standby.ts';
import { allServices, isDesired, subjectOf } from './desired-services.ts';

interface ServiceChange {
  readonly id: string;
  readonly was: Service | undefined;
  readonly is: Service;
}

function serviceChanges(changed: readonly AppliedChange[]): ServiceChange[] {
  return changed.flatMap(({ kind, before, after }) =>
    kind !== SERVICE.name || after === undefined
      ? []
      : [{ id: after.id, was: before?.doc as Service | undefined, is: after.doc as Service }],
  );
}

const epochOnlyGrows: Invariant = {
  name: 'never: the epoch of a designation shrinks, or stays when the host becomes another',
  check: (changed) =>
    serviceChanges(changed).flatMap(({ id, was, is }) => {
      if (was === undefined) return [];
      const isNew = is.designated !== undefined && is.designated.host !== was.designated?.host;
      const grown = isNew ? is.epoch > was.epoch : is.epoch >= was.epoch;
      return grown ? [] : [`${id}: epoch ${was.epoch} to ${is.epoch}`];
    }),
};

const notToALeavingHost: Invariant = {
  name: 'never: a designation is set to a tombstoned host while an eligible candidate exists',
  check: (changed, fleet) =>
    serviceChanges(changed).flatMap(({ id, was, is }) => {
      const host = is.designated?.host;
      if (host === undefined || host === was?.designated?.host || !isTombstonedHost(fleet, host)) return [];
      // It has the connections until its handover ends: who was to have them is lost.
      const { handover } = was ?? {};
      if (handover !== undefined && !isBeforeSwitch(handover) && handover.from === host) return [];
      const others = new ElectionContext(fleet).candidatesOf({ doc: is }).eligible.listed;
      return others.length === 0 ? [] : [`${id} goes to ${host}, and ${others[0]?.host} is a candidate`];
    }),
};

const notOutOfControl: Invariant = {
  name: 'never: a designation is set to a host whose switch is out of control',
  check: (changed, fleet) =>
    serviceChanges(changed).flatMap(({ id, was, is }) => {
      const host = is.designated?.host;
      if (host === undefined || host === was?.designated?.host) return [];
      return isOutOfControl(findHost(fleet, host)?.doc ?? {}) ? [`${id} goes to ${host}`] : [];
    }),
};

const oneHandover: Invariant = {
  name: 'never: a service has two handovers at a time, or one that does not start at its host',
  check: (changed, fleet) => [
    ...serviceChanges(changed).flatMap(({ id, is: { designated, handover } }) => {
      if (handover === undefined) return [];
      const { from, to, phase } = handover;
      const has = isBeforeSwitch(handover) ? from : to;
      return from !== to && designated?.host === has
        ? []
        : [`${id}: ${from} to ${to}, ${phase}, at ${designated?.host}`];
    }),
    ...changed.flatMap(({ kind, after }) => {
      const target = kind === ITEM.name ? (after?.doc as Item | undefined)?.target : undefined;
      if (target?.kind !== SERVICE.name) return [];
      const open = fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, target.id));
      return open <= 1 ? [] : [`${target.id} is in ${open} handovers`];
    }),
  ],
};

const standbyIsAnother: Invariant = {
  name: 'never: the standby of a service is its designated host',
  check: (changed) =>
    serviceChanges(changed).flatMap(({ id, is: { designated, standby } }) =>
      standby !== undefined && (designated === undefined || standby === designated.host)
        ? [`${id}: ${standby} for ${designated?.host ?? 'no host'}`]
        : [],
    ),
};

const removedHasNone: Invariant = {
  name: 'never: a removed host has a designation',
  check: (changed, fleet) => [
    ...changed.flatMap(({ kind, after }) =>
      kind === HOST.name && (after?.doc as Host | undefined)?.state === 'removed'
        ? [...fleet.find(SERVICES_TOUCHING_HOST, after?.id ?? '')].map(({ id }) => `${after?.id} has ${id}`)
        : [],
    ),
    ...serviceChanges(changed).flatMap(({ id, is }) =>
      is.designated !== undefined && findHost(fleet, is.designated.host)?.doc.state === 'removed'
        ? [`${is.designated.host} has ${id}`]
        : [],
    ),
  ],
};

export const ELECTION_INVARIANTS: readonly Invariant[] = [
  epochOnlyGrows,
  notToALeavingHost,
  notOutOfControl,
  oneHandover,
  removedHasNone,
  standbyIsAnother,
];

function isTombstonedHost(fleet: FleetReader, host: string): boolean {
  const doc = findHost(fleet, host)?.doc;
  return doc !== undefined && isTombstoned(doc);
}

/**
 * What is wrong with services once nothing is in progress any more; empty when all is well. A service whose host is only silent may stay there
 * while there is no other candidate. Costs O(services · presence): for tests and the simulation.
 */
export function findSteadyStateProblems(fleet: FleetReader): string[] {
  const context = new ElectionContext(fleet);
  return allServices(fleet).flatMap((id) => {
    const subject = subjectOf(id);
    const stored = fleet.get(SERVICE, id);
    const wanted = subject !== undefined && isDesired(fleet, subject);
    if (!wanted) return stored === undefined ? [] : [`${id} is there without its subject`];
    if (stored === undefined) return [`${id} is missing`];
    if (isHandoverActive(fleet, stored)) return [`${id} is being handed over`];
    const { designated, exclusion } = stored.doc;
    const { eligible, leaving } = context.candidatesOf(stored);
    if (designated === undefined) {
      const able = eligible.first ?? (exclusion === 'soft' ? leaving.first : undefined);
      return able === undefined ? [] : [`${id} is not served, and ${able.host} is a candidate`];
    }
    if (hasStandby(stored.doc.type) && stored.doc.standby === undefined) {
      const able = context.chooseStandby(stored.doc);
      if (able !== undefined) return [`${id} has no standby, and ${able} is a candidate`];
    }
    if (!isTombstonedHost(fleet, designated.host))
      return designated.degraded === true ? [`${id} is degraded without cause`] : [];
    if (eligible.first !== undefined)
      return [`${id} stays at ${designated.host}, and ${eligible.first.host} is a candidate`];
    return designated.degraded === true ? [] : [`${id} stays at leaving ${designated.host} and is not degraded`];
  });
}
