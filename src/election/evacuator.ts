// The evacuator of designations: they leave a host by the same decision that elections make, so that it does not matter which of the two acts
// first. A service without presence elsewhere ends with the host.
import { idOf, put, valueOf, type AppliedChange, type FleetReader, type Reason } from '../fleet/index.ts';
import {
  findHost,
  isTombstoned,
  type BeginEvacuation,
  type BeginSteps,
  type PlannedEvacuation,
  type Evacuation,
  type Evacuator,
  type Host,
  type LeavingTenants,
  type OpenTrial,
  type PlanOptions,
  type PlanSteps,
  type Tenant,
  isOutOfControl,
} from '../hosts/index.ts';
import { OPEN_ITEMS_BY_HOST, type OperationId, type StoredItem } from '../operations/index.ts';
import { ElectionContext } from './candidates.ts';
import { reconcileServicesInSteps } from './decide.ts';
import {
  isBeforeSwitch,
  SERVICE,
  SERVICES_BY_ORIGIN,
  SERVICES_TOUCHING_HOST,
  type Service,
  type ServiceId,
  type StoredService,
} from './model.ts';
import type { FailureDetector } from './health.ts';
import { failBack } from './move.ts';
import { isHandoverActive, withdrawDesignation, clearHandover } from './designation.ts';
import { findActiveHandover } from './handover/target.ts';
import { ELECTION } from './settings.ts';
import { assessService, type ElectionVerdict } from './verdict.ts';
import { hasPresenceElsewhere } from './desired-services.ts';

/** The duration of one handover with responsive hosts: four rounds of views and the drain. */
const ABOUT_MS = 3000;

/** BFD reports and silent sites are known to the election controller alone: what depends on them is left to it. */
const CAUTIOUS_DETECTOR: Omit<FailureDetector, 'nowMs'> = { hasBfdUp: () => true, maybePartitioned: () => true };

export const designationEvacuator: Evacuator = {
  name: 'designations',
  leavesFirst: true,
  moveKinds: ['handover'],
  typicalMoveMs: ABOUT_MS,

  canEndWithHost: true,

  inventory: (fleet, host) => [...fleet.find(SERVICES_TOUCHING_HOST, host)].map(tenantOf),
  dependsOn: [SERVICES_TOUCHING_HOST],

  listRemainingTenants: (fleet, host) =>
    [...fleet.find(SERVICES_TOUCHING_HOST, host)].filter((service) => !isHandoverActive(fleet, service)).map(tenantOf),

  countLeaving: (fleet, host) => {
    let count = 0;
    for (const { doc } of fleet.find(OPEN_ITEMS_BY_HOST, host)) if (doc.target.kind === SERVICE.name) count += 1;
    return count;
  },

  holdsRecover: (fleet, host) =>
    [...fleet.find(OPEN_ITEMS_BY_HOST, host)].some(
      (item) => item.doc.target.kind === SERVICE.name && !isMoveOfItsOwn(fleet, item),
    ),

  plan: planDesignations,
  begin: beginHandovers,

  hostsAffectedBy: ({ kind, before, after }) => (kind === SERVICE.name ? hostsOf(before, after) : []),

  abandon: (fleet, host, how) =>
    [...fleet.find(SERVICES_TOUCHING_HOST, host)].map(({ id, doc }) =>
      put(SERVICE, id, doc.designated?.host === host ? withdrawDesignation(doc, how) : clearHandover(doc, how)),
    ),

  failBack: (fleet, host, how) => {
    const leaving = findHost(fleet, host)?.doc.leaving;
    // The operation names the host that is recovered: with that host in the id twice, ids would be too long to be accepted.
    const operation = `${how.operation}.fail-back` as OperationId;
    const back = [...fleet.find(SERVICES_BY_ORIGIN, host)].filter(
      ({ doc }) => leaving !== undefined && hasLeftThisTime(leaving, doc),
    );
    return failBack(fleet, back, { ...how, operation, host });
  },
};

/**
 * A move that is not because the host leaves, and is not switched: the service stays there for as long as its target lacks something for it. What
 * began because the host was leaving ends at once.
 */
function isMoveOfItsOwn(fleet: FleetReader, item: StoredItem): boolean {
  const active = findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  return active !== undefined && isBeforeSwitch(active.handover) && active.handover.why.cause !== 'host-leaving';
}

function* planDesignations(
  openTrial: OpenTrial,
  leavers: readonly LeavingTenants[],
  { nowMs }: PlanOptions,
): PlanSteps {
  const context = new ElectionContext(yield* openTrial());
  const all = leavers.flatMap(({ host, tenants }) => tenants.map((tenant) => ({ host, tenant })));
  const planned = new Map<(typeof all)[number], Evacuation>();
  // In the order of services, whichever host they are on: the order of elections.
  for (const one of [...all].sort((a, b) => (a.tenant.id < b.tenant.id ? -1 : 1))) {
    planned.set(one, evacuationOf(context, one, nowMs));
    yield;
  }
  return all.map((one) => ({ ...one, evacuation: planned.get(one) as Evacuation }));
}

function* beginHandovers(fleet: FleetReader, planned: readonly PlannedEvacuation[], how: BeginEvacuation): BeginSteps {
  const services = planned
    .filter(({ evacuation }) => evacuation.kind === 'move')
    .map(({ tenant }) => serviceOf(tenant));
  const operation = `${how.operation}.hand-overs` as OperationId;
  const reconciled = yield* reconcileServicesInSteps(fleet, { ...how, operation, services, ...CAUTIOUS_DETECTOR });
  const { changes, targets, isStillValid } = reconciled;
  return { changes, validity: { targets, isStillValid } };
}

/** Whether a service left a host by its present scale-in. A later drain of the same host is another operation. */
function hasLeftThisTime(leaving: NonNullable<Host['leaving']>, { cameFrom, designated }: Service): boolean {
  return cameFrom?.operation === leaving.operation || (designated?.sinceMs ?? -Infinity) >= leaving.atMs;
}

function tenantOf({ id }: StoredService): Tenant {
  return { kind: SERVICE.name, id };
}

function serviceOf({ id }: Tenant): ServiceId {
  return idOf(SERVICE, id);
}

function hostsOf(before: AppliedChange['before'], after: AppliedChange['after']): string[] {
  const hosts = [before, after].flatMap((stored) => {
    const { designated, handover } = (stored?.doc ?? {}) as Partial<Service>;
    return [designated?.host, handover?.from, handover?.to];
  });
  return [...new Set(hosts.filter((host) => host !== undefined))];
}

function evacuationOf(
  context: ElectionContext,
  { host, tenant }: Omit<PlannedEvacuation, 'evacuation'>,
  nowMs: number,
): Evacuation {
  const service = context.fleet.get(SERVICE, serviceOf(tenant));
  if (service === undefined) return { kind: 'ends' };
  const { doc, id } = service;
  if (isHandoverActive(context.fleet, service)) {
    return wait({ code: 'handover-under-way', service: id, to: doc.handover?.to ?? doc.designated?.host ?? '' });
  }
  if (valueOf(context.fleet, ELECTION).held) return wait({ code: 'elections-held', service: id });
  return evacuationFromVerdict(
    context.fleet,
    { host, service },
    assessService(context, service, { ...CAUTIOUS_DETECTOR, nowMs }),
  );
}

function evacuationFromVerdict(
  fleet: FleetReader,
  { host, service }: { host: string; service: StoredService },
  verdict: ElectionVerdict,
): Evacuation {
  switch (verdict.kind) {
    case 'handover':
      return { kind: 'move', how: 'handover', to: verdict.choice.host };
    case 'elect':
      return { kind: 'move', how: 'election', to: verdict.choice.host };
    case 'withdraw':
      return { kind: 'ends' };
    case 'keep':
    case 'stay':
    case 'flag':
      if (!hasPresenceElsewhere(fleet, service.doc, host)) return { kind: 'ends' };
      return wait(whyKept(fleet, service, host));
  }
}

function whyKept(fleet: FleetReader, service: StoredService, host: string): Reason {
  const { id, doc } = service;
  if (isOutOfControl(findHost(fleet, host)?.doc ?? {})) return { code: 'held-out-of-control', service: id, host };
  if (isHeldWhileBfdUp(fleet, service)) return { code: 'held-while-bfd-up', service: id, host };
  const isSilent = findHost(fleet, doc.designated?.host ?? '')?.doc.connection.state === 'suspect';
  return isSilent ? { code: 'host-just-silent', service: id, host } : { code: 'no-candidate', service: id };
}

/** On a silent host, and kept there. */
function isHeldWhileBfdUp(fleet: FleetReader, { doc: { onControlLoss, designated } }: StoredService): boolean {
  const host = findHost(fleet, designated?.host ?? '')?.doc;
  return onControlLoss === 'hold' && host !== undefined && isTombstoned(host) && host.connection.state !== 'up';
}

function wait(reason: Extract<Evacuation, { kind: 'wait' }>['reason']): Evacuation {
  return { kind: 'wait', reason };
}
