// How workers leave a host: what runs on each is evicted within its budgets, and then its instance moves as any other does. A worker is a tenant of the host of its instance
// until it is drained. It never keeps another tenant of the host from leaving.
import {
  idOf,
  mergeChanges,
  put,
  type AppliedChange,
  type Change,
  type FleetReader,
  type Reason,
} from '../../fleet/index.ts';
import {
  findHost,
  runInOneStep,
  type BeginEvacuation,
  type Evacuation,
  type Evacuator,
  type LeavingTenants,
  type PlannedEvacuation,
  type Tenant,
} from '../../hosts/index.ts';
import { INSTANCES_BY_HOST } from '../../instances/index.ts';
import { ITEM, newOperation, OPERATION, type Item } from '../../operations/index.ts';
import { WORKER, type Worker } from '../model.ts';
import { assignWork, beginLeaving, type StoredWorker } from '../workers/transitions.ts';
import { EVACUATION_MS, WORKER_EVACUATE } from './evacuate-operation.ts';
import { explainWorker, isEvacuated } from './evacuation-reason.ts';
import { clusterOf, cordonsAhead, findInstanceOf, listDrainedFirst, listTurns } from './leaving-workers.ts';

/** Pods are given 30 s to end, unless they say otherwise. */
const TYPICAL_DRAIN_MS = 60_000;

export const workerEvacuator: Evacuator = {
  name: 'workers',
  moveKinds: [WORKER_EVACUATE],
  typicalMoveMs: TYPICAL_DRAIN_MS,
  // Of workers there is none by host. What changes of them alone changes no handover, and those are all that a start begins.
  dependsOn: [INSTANCES_BY_HOST],
  inventory: (fleet, host) => listDrainedFirst(fleet, host).map(tenantOf),
  listRemainingTenants: (fleet, host) =>
    listDrainedFirst(fleet, host)
      .filter(({ doc }) => !isEvacuated(fleet, doc))
      .map(tenantOf),
  countLeaving: () => 0,
  countDraining: (fleet, host) => listDrainedFirst(fleet, host).filter(({ doc }) => isEvacuated(fleet, doc)).length,
  *plan(openTrial, leavers, { nowMs }) {
    const trial = yield* openTrial();
    return leavers.flatMap((leaver) => planWorkers(trial, leaver, nowMs));
  },
  limitDisruption,
  begin: (fleet, planned, how) => runInOneStep({ changes: beginDrains(fleet, planned, how) }),
  hostsAffectedBy,
  // What becomes of a worker whose instance is lost is decided when that is built again.
  abandon: () => [],
};

function tenantOf({ id }: StoredWorker): Tenant {
  return { kind: WORKER.name, id };
}

function planWorkers(fleet: FleetReader, { host, tenants }: LeavingTenants, nowMs: number): PlannedEvacuation[] {
  return tenants.map((tenant) => ({ host, tenant, evacuation: planWorker(fleet, { host, tenant }, nowMs) }));
}

function planWorker(
  fleet: FleetReader,
  { host, tenant }: Pick<PlannedEvacuation, 'host' | 'tenant'>,
  nowMs: number,
): Evacuation {
  const worker = fleet.get(WORKER, idOf(WORKER, tenant.id));
  if (worker === undefined) return { kind: 'wait', reason: { code: 'worker-superseded', worker: tenant.id } };
  const { instance = '' } = worker.doc;
  // Its instance could not move afterwards: it would be out of service for nothing.
  const isSilent = findHost(fleet, host)?.doc.connection.state === 'down';
  const reason: Reason | undefined = isSilent
    ? { code: 'host-silent', host, instance }
    : explainWorker(fleet, worker, nowMs);
  return reason === undefined ? { kind: 'drain' } : { kind: 'wait', reason };
}

/** Where workers are not cordoned ahead, each begins at its turn. */
function limitDisruption(fleet: FleetReader, planned: readonly PlannedEvacuation[]): readonly PlannedEvacuation[] {
  const begun = new Map<string, number>();
  return planned.map((one) => {
    const worker = one.evacuation.kind === 'drain' ? findTenant(fleet, one) : undefined;
    if (worker === undefined || cordonsAhead(fleet, worker.doc.cluster)) return one;
    const { cluster } = worker.doc;
    const { drainsAtOnce } = clusterOf(fleet, worker.doc);
    const turns = listTurns(fleet, cluster);
    const started = begun.get(cluster) ?? 0;
    if (turns.length + started < drainsAtOnce) {
      begun.set(cluster, started + 1);
      return one;
    }
    const other = turns[0]?.id ?? planned.find(({ evacuation }) => evacuation.kind === 'drain')?.tenant.id ?? '';
    const reason = { code: 'drains-at-once', worker: worker.id, cluster, atOnce: drainsAtOnce, other };
    return { ...one, evacuation: { kind: 'wait', reason } };
  });
}

function findTenant(fleet: FleetReader, { tenant }: PlannedEvacuation): StoredWorker | undefined {
  return fleet.get(WORKER, idOf(WORKER, tenant.id));
}

/** An operation for each worker: one that is blocked holds up no other. */
function beginDrains(
  fleet: FleetReader,
  planned: readonly PlannedEvacuation[],
  { operation: prefix, by, why, nowMs }: BeginEvacuation,
): Change[] {
  const workers = planned.flatMap((one) => (one.evacuation.kind === 'drain' ? (findTenant(fleet, one) ?? []) : []));
  const changes = workers.flatMap(({ id, doc }) => {
    const { site, project, drainPolicy } = clusterOf(fleet, doc);
    // Its host is not named: who owns the cluster may not know it. Nor is it named as a move of a drain is, which would be counted.
    const operation = idOf(OPERATION, `workers-${prefix}.${id}`);
    const assigned = assignWork(doc, { operation, policy: drainPolicy, by, nowMs });
    const hasTurn = !cordonsAhead(fleet, doc.cluster);
    return [
      put(WORKER, id, beginLeaving(assigned, { nowMs, hasTurn })),
      ...newOperation({
        ...{ id: operation, kind: WORKER_EVACUATE, title: `drain worker ${id}: its host leaves`, by, why },
        ...{ site, project, nowMs, deadlineMs: EVACUATION_MS },
        items: [{ key: id, target: { kind: WORKER.name, id }, step: 'inspect' }],
      }),
    ];
  });
  return mergeChanges(changes);
}

/** A worker that is drained, or by which something else holds it up, lets its host look again. */
function hostsAffectedBy({ kind, before, after }: AppliedChange, fleet: FleetReader): readonly string[] {
  if (kind === WORKER.name) {
    const [was, is] = [before?.doc as Worker | undefined, after?.doc as Worker | undefined];
    if (describeHold(was) === describeHold(is)) return [];
    return [was, is].flatMap((doc) => (doc === undefined ? [] : hostsOf(fleet, doc)));
  }
  if (kind !== ITEM.name) return [];
  const [was, is] = [before?.doc as Item | undefined, after?.doc as Item | undefined];
  if (is?.target.kind !== WORKER.name || (was?.state === is.state && !saysOther(was.reason, is.reason))) return [];
  const worker = fleet.get(WORKER, idOf(WORKER, is.target.id));
  return worker === undefined ? [] : hostsOf(fleet, worker.doc);
}

function describeHold(worker: Worker | undefined): string {
  return worker === undefined ? '' : [worker.state, worker.work?.operation, worker.instance].join();
}

function hostsOf(fleet: FleetReader, worker: Worker): string[] {
  const host = findInstanceOf(fleet, worker)?.host;
  return host === undefined ? [] : [host];
}

/** How many pods are left is no news for the host. */
function saysOther(was: Reason | undefined, is: Reason | undefined): boolean {
  return ['code', 'pod', 'budget'].some((fact) => was?.[fact] !== is?.[fact]);
}
