// The steps of a build that change what an instance has: taking a place, losing it to a fault, ending well or giving up.
// Every one of them is a single commit that leaves nothing half taken.
import { idOf, merged, onTrial, put, remove, type Change, type FleetReader } from '../fleet/index.ts';
import { CLAIM, claimId, PORT, unboundPort } from '../network/index.ts';
import { fail, ITEM, record, type RecordStep, type StoredItem } from '../operations/index.ts';
import { buildFailed, buildWentWell, type ScheduleReport } from '../scheduler/index.ts';
import { placed, type Tried } from './attempt.ts';
import { cleaningOf } from './clean.ts';
import { FAULTS, withFault, type Failed } from './faults.ts';
import { faultOf, givenUp } from './give-up.ts';
import { INSTANCE, type Instance, type InstanceFault } from './model.ts';
import { outsidePorts } from './orders.ts';
import { isInline, portsOf, type StoredInstance } from './place.ts';

export const BUILDER = 'operation:instance-build';

/** An open item with its instance, as the decision that records the step finds them. */
export function found(fleet: FleetReader, id: string): { item: StoredItem; instance: StoredInstance | undefined } {
  const item = fleet.get(ITEM, idOf(ITEM, id));
  if (item === undefined) throw new Error(`item ${id} is gone`);
  return { item, instance: fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id)) };
}

/** Takes a place, or gives up. Runs inside the commit: what it takes is there. */
export function scheduled(fleet: FleetReader, id: string, nowMs: number): RecordStep {
  const { item, instance } = found(fleet, id);
  if (instance?.doc.state !== 'building') return fail(item, { code: 'instance-deleted', instance: item.doc.target.id });
  const tried = triedFor(fleet, instance, nowMs);
  if (tried.kind === 'given-up') return giveUp(fleet, item, { ...instance, doc: tried.instance }, { ...tried, nowMs });
  return took(item, tried);
}

function triedFor(fleet: FleetReader, { id, doc: instance }: StoredInstance, nowMs: number): Tried {
  return placed(fleet, { id, instance, ports: portsOf(fleet, instance), by: BUILDER, nowMs });
}

function took(item: StoredItem, { step, host, changes }: Tried & { readonly kind: 'placed' }): RecordStep {
  return record(item, { state: 'running', step, host: step === 'build' ? host : null }, { changes });
}

/** Places the instances of one request together: at least `minimum` of them, or none. */
export function scheduledTogether(
  fleet: FleetReader,
  items: readonly StoredItem[],
  minimum: number,
  nowMs: number,
): RecordStep[] {
  const wanted = items.flatMap(({ id }) => {
    const { item, instance } = found(fleet, id);
    return instance?.doc.state === 'building' ? [{ item, instance }] : [];
  });
  const tries = onTrial(fleet, (trial) =>
    wanted.map(({ instance }) => {
      const tried = triedFor(trial, instance, nowMs);
      if (tried.kind === 'placed') trial.add(tried.changes);
      return tried;
    }),
  );
  const enough = tries.filter((tried) => tried.kind === 'placed').length >= minimum;
  const report = tries.find((tried) => tried.kind === 'given-up' && tried.report !== undefined);
  return wanted.map(({ item, instance }, nth) => {
    const tried = tries[nth] as Tried;
    if (tried.kind === 'placed' && enough) return took(item, tried);
    return giveUp(fleet, item, instance, { ...(report as Tried & { kind: 'given-up' }), nowMs });
  });
}

interface Why {
  readonly report?: ScheduleReport;
  readonly fault?: InstanceFault;
  readonly nowMs: number;
}

/** Nothing is left to be tried: what is outside the journal is released first, then all of it is given back at once. */
export function giveUp(fleet: FleetReader, item: StoredItem, instance: StoredInstance, why: Why): RecordStep {
  const { nowMs } = why;
  const fault = why.fault ?? faultOf(instance.doc, why.report, nowMs);
  const doc = { ...instance.doc, fault };
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  if (outsidePorts(fleet, portsOf(fleet, doc)).length > 0) {
    const { host: _, ...homeless } = doc;
    const changes = [put(INSTANCE, instance.id, homeless), ...claimGone(fleet, instance.id)];
    return record(item, { state: 'running', step: 'release', host: null }, { changes });
  }
  const changes = givenUp(fleet, instance.id, doc, { by: BUILDER, nowMs });
  return record(item, { state: 'failed', step: item.doc.step, reason, host: null }, { changes });
}

/** The back end has released the ports: the build ends here. */
export function gaveUp(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const fault = instance.doc.fault ?? faultOf(instance.doc, undefined, nowMs);
  const changes = givenUp(fleet, instance.id, { ...instance.doc, fault }, { by: BUILDER, nowMs });
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  return record(item, { state: 'failed', step: 'release', reason, host: null }, { changes });
}

/** The host runs it and the network has plugged it: the instance is in service. */
export function wentWell(fleet: FleetReader, item: StoredItem, made: readonly Change[], nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const { fault: _, ...rest } = instance.doc;
  const doc: Instance = { ...rest, state: 'active', wasActive: true, changedBy: BUILDER, changedAtMs: nowMs };
  const host = instance.doc.host ?? '';
  const changes = merged([
    ...made,
    put(INSTANCE, instance.id, doc),
    ...keptPromises(fleet, instance.id),
    ...buildWentWell(fleet, host),
  ]);
  return record(item, { state: 'done', step: item.doc.step }, { changes });
}

/** A try failed: its claim goes, its ports are unbound, the host is swept, and the build looks on from there. */
export function afterFault(fleet: FleetReader, item: StoredItem, failed: Failed, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const { host, ...homeless } = withFault(instance.doc, failed);
  const doc: Instance = { ...homeless, changedBy: BUILDER, changedAtMs: nowMs };
  const ports = portsOf(fleet, doc);
  const bound = ports.filter((port) => isInline(fleet, port.doc) && port.doc.binding !== undefined);
  const sent = item.doc.step === 'build' || item.doc.step === 'plug';
  const changes = [
    put(INSTANCE, instance.id, doc),
    ...claimGone(fleet, instance.id),
    ...bound.map((port) => put(PORT, port.id, unboundPort(port.doc, { by: BUILDER, nowMs }))),
    ...(sent && host !== undefined ? cleaningOf(instance.id, host, `${item.id}.${doc.attempts.length}`, nowMs) : []),
    ...(host !== undefined && FAULTS[failed.fault].excludes === 'host' ? buildFailed(fleet, host, nowMs) : []),
  ];
  const outside = outsidePorts(fleet, ports).length > 0;
  return record(item, { state: 'running', step: outside ? 'unbind' : 'schedule', host: null }, { changes });
}

function claimGone(fleet: FleetReader, instance: string): Change[] {
  const id = claimId(instance, 'home');
  return fleet.get(CLAIM, id) === undefined ? [] : [remove(CLAIM, id)];
}

/** What was promised is held by the ports now. */
export function keptPromises(fleet: FleetReader, instance: string): Change[] {
  const claim = fleet.get(CLAIM, claimId(instance, 'home'));
  if (claim === undefined || claim.doc.addresses.length === 0) return [];
  return [put(CLAIM, claim.id, { ...claim.doc, addresses: [] })];
}
