// The evacuator of managers: the tenant of a host is the manager that runs on it, not each of its nodes. It leaves by draining; nothing is done to a
// machine. A manager that is lost or has stopped is no tenant: its nodes are orphans, wherever it ran.
import { idOf, put, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import {
  runInOneStep,
  type BeginEvacuation,
  type Evacuation,
  type Evacuator,
  type LeavingTenants,
  type OpenTrial,
  type PlannedEvacuation,
  type PlanSteps,
  type StartedEvacuation,
  type Tenant,
} from '../../hosts/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { MANAGER, MANAGERS_BY_HOST, type Manager } from '../model.ts';
import type { StoredManager } from './decide.ts';
import { beginDrain, MANAGER_DRAIN } from './drain.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { isOnDuty } from './right.ts';

/** Idle nodes change hands in less; one with a step under way takes as long as that. */
const ABOUT_MS = 5000;

export const managerEvacuator: Evacuator = {
  name: 'managers',
  moveKinds: [MANAGER_DRAIN],
  typicalMoveMs: ABOUT_MS,
  inventory: (fleet, host) => managersOn(fleet, host).map(tenantOf),
  dependsOn: [MANAGERS_BY_HOST],
  countLeaving: (fleet, host) => managersOn(fleet, host).filter(({ doc }) => doc.draining !== undefined).length,
  listRemainingTenants: (fleet, host) =>
    managersOn(fleet, host)
      .filter(({ doc }) => doc.draining === undefined)
      .map(tenantOf),
  plan: planManagers,
  begin: (fleet, planned, how) => runInOneStep(beginDrains(fleet, planned, how)),
  hostsAffectedBy: ({ kind, before, after }) => (kind === MANAGER.name ? hostsOf(before, after) : []),
  abandon: (fleet, host, { by, nowMs }) =>
    [...fleet.find(MANAGERS_BY_HOST, host)].map(({ id, doc: { host: _, draining, ...doc } }) => {
      const isForHost = draining?.host === host;
      const state = isForHost && doc.state === 'draining' ? 'live' : doc.state;
      const kept = draining === undefined || isForHost ? {} : { draining };
      return put(MANAGER, id, { ...doc, ...kept, state, changedBy: by, changedAtMs: nowMs });
    }),
};

/** Those that live there and have not given everything away. */
function managersOn(fleet: FleetReader, host: string): StoredManager[] {
  return [...fleet.find(MANAGERS_BY_HOST, host)].filter(
    ({ doc }) => isOnDuty(doc) && doc.draining?.emptyAtMs === undefined,
  );
}

function tenantOf({ id }: StoredManager): Tenant {
  return { kind: MANAGER.name, id };
}

function* planManagers(openTrial: OpenTrial, leavers: readonly LeavingTenants[]): PlanSteps {
  const fleet = yield* openTrial();
  const leaving = new Set(leavers.flatMap(({ tenants }) => tenants.map(({ id }) => id)));
  const successor = findSuccessor(fleet, leaving);
  yield;
  return leavers.flatMap(({ host, tenants }) =>
    tenants.map((tenant): PlannedEvacuation => ({ host, tenant, evacuation: evacuationOf(fleet, tenant, successor) })),
  );
}

function evacuationOf(fleet: FleetReader, { id }: Tenant, successor: StoredManager | undefined): Evacuation {
  const nodes = fleet.projection(MANAGED_NODES).countOf(id);
  if (successor === undefined && nodes > 0)
    return { kind: 'wait', reason: { code: 'no-other-manager', manager: id, nodes } };
  return { kind: 'move', how: 'drain', to: successor?.doc.host ?? successor?.id ?? 'nowhere' };
}

/** Of several that take over, the one that has the fewest nodes. */
function findSuccessor(fleet: FleetReader, leaving: ReadonlySet<string>): StoredManager | undefined {
  const managed = fleet.projection(MANAGED_NODES);
  return [...fleet.all(MANAGER)]
    .filter(({ id, doc }) => isOnDuty(doc) && doc.draining === undefined && !leaving.has(id))
    .sort((one, other) => managed.countOf(one.id) - managed.countOf(other.id))[0];
}

function beginDrains(
  fleet: FleetReader,
  planned: readonly PlannedEvacuation[],
  { operation, by, why, nowMs, deadlineMs }: BeginEvacuation,
): StartedEvacuation {
  const managers = planned.filter(({ evacuation }) => evacuation.kind === 'move').map(({ tenant }) => tenant.id);
  if (managers.length === 0) return { changes: [] };
  const id = idOf(OPERATION, `${operation}.manager-drains`);
  return {
    changes: beginDrain(fleet, { managers, operation: id, by, why, nowMs, deadlineMs, withHost: true }),
  };
}

function hostsOf(before: AppliedChange['before'], after: AppliedChange['after']): string[] {
  const hosts = [before, after].map((stored) => (stored?.doc as Manager | undefined)?.host);
  return [...new Set(hosts.filter((host) => host !== undefined))];
}
