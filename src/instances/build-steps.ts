// The steps of a build that change what an instance has: taking a place, losing it to a fault, ending well or giving up.
// Every one of them is a single commit that leaves nothing half taken.
import { idOf, mark, mergeChanges, runTrial, put, type Change, type FleetReader } from '../fleet/index.ts';
import { CLAIM, claimId, PORT, unboundPort, type StoredPort } from '../network/index.ts';
import {
  expectUnchanged,
  fail,
  ITEM,
  record,
  siteLimitOf,
  type ExpectedRevision,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { buildFailed, buildWentWell, type ScheduleReport } from '../scheduler/index.ts';
import { placed, type Tried } from './attempt.ts';
import { cleaningOf } from './clean.ts';
import { faultNamed, FAULTS, withFault, type Failed } from './faults.ts';
import { claimGone, faultOf, GIVEN_UP, givenUp, keptWithoutHost } from './give-up.ts';
import { INSTANCE, type Instance, type InstanceFault } from './model.ts';
import { outsidePorts } from './orders.ts';
import { isAway, isConfirmedGone, isInline, portsOf, type StoredInstance } from './place.ts';

export const BUILDER = 'operation:instance-build';

/** The steps at which a host may have a copy of the instance. */
export const SENT = ['build', 'plug', 'sweep'];

const FAULT_MESSAGE_MAX = 1000;

/** Whether a host is being found for it: built for the first time or again from the shelf, or rebuilt elsewhere. */
export function isBeingBuilt({ state }: Instance): boolean {
  return state === 'building' || state === 'rebuilding';
}

/** Steps that are planned on the durable fleet are not taken when a delete, or anybody, was faster. */
export function asRead(instance: StoredInstance, ports: readonly StoredPort[] = []): readonly ExpectedRevision[] {
  return [expectUnchanged(INSTANCE, instance), ...ports.map((port) => expectUnchanged(PORT, port))];
}

/** An open item with its instance, as the decision that records the step finds them. */
export function found(fleet: FleetReader, id: string): { item: StoredItem; instance: StoredInstance | undefined } {
  const item = fleet.get(ITEM, idOf(ITEM, id));
  if (item === undefined) throw new Error(`item ${id} is gone`);
  return { item, instance: fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id)) };
}

/** Somebody else has the instance now: deleted while it was built, given up by a deadline, or already where it should be. */
export function leftBuild(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const id = item.doc.target.id;
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: id });
  const { state, fault } = instance.doc;
  if (state === 'deleting') {
    mark('build-ended-by-delete');
    return fail(item, { code: 'instance-deleted', instance: id });
  }
  if (state !== 'error' && state !== 'shelved') return record(item, { state: 'done', step: item.doc.step });
  const { code, message } = fault ?? { code: 'given-up', message: GIVEN_UP };
  return fail(item, { code, instance: id, message: message.slice(0, FAULT_MESSAGE_MAX) });
}

/** Takes a place, or gives up. Runs inside the commit: what it takes is there. */
export function scheduled(fleet: FleetReader, id: string, nowMs: number): RecordStep {
  const { item, instance } = found(fleet, id);
  if (instance === undefined || !isBeingBuilt(instance.doc)) return leftBuild(item, instance);
  const tried = triedFor(fleet, instance, { nowMs, within: siteLimitOf(fleet, item.doc) });
  if (tried.kind === 'given-up') return giveUp(fleet, item, { ...instance, doc: tried.instance }, { ...tried, nowMs });
  return took(item, tried);
}

function triedFor(
  fleet: FleetReader,
  { id, doc: instance }: StoredInstance,
  at: { readonly nowMs: number; readonly within: string | undefined },
): Tried {
  const ask = { id, instance, ports: portsOf(fleet, instance), by: BUILDER, ...at };
  const held = claimGone(fleet, id);
  if (held.length === 0) return placed(fleet, ask);
  // What it still has at a host that is dead is no neighbour of its own: its group is looked at without it.
  return runTrial(fleet, (trial) => {
    trial.add(held);
    return placed(trial, ask);
  });
}

function took(item: StoredItem, { step, host, nth, changes }: Tried & { readonly kind: 'placed' }): RecordStep {
  // A host that is chosen again has a task of another name: the answer to the earlier one does not count for it.
  const task = step === 'build' ? { host, attempt: nth } : { host: null };
  return record(item, { state: 'running', step, ...task }, { changes: changes.map(alone) });
}

/** Once the request has its places, each of its instances is on its own: one that fails later says so by itself. */
function alone(change: Change): Change {
  if (change.kind !== INSTANCE.name || change.doc === null) return change;
  const { together: _, ...doc } = change.doc as Instance;
  return { ...change, doc };
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
    return instance !== undefined && isBeingBuilt(instance.doc) ? [{ item, instance }] : [];
  });
  const tries = runTrial(fleet, (trial) =>
    wanted.map(({ item, instance }) => {
      const tried = triedFor(trial, instance, { nowMs, within: siteLimitOf(fleet, item.doc) });
      if (tried.kind === 'placed') trial.add(tried.changes);
      return tried;
    }),
  );
  const enough = tries.filter((tried) => tried.kind === 'placed').length >= minimum;
  if (!enough) mark('together-too-few');
  const short = tries.find((tried) => tried.kind === 'given-up' && tried.report !== undefined);
  const few = `Fewer than ${minimum} of the request could be made; the others say why.`;
  const why =
    short?.kind === 'given-up' ? { report: short.report } : { fault: { code: 'too-few', message: few, atMs: nowMs } };
  return wanted.map(({ item, instance }, nth) => {
    const tried = tries[nth] as Tried;
    if (tried.kind === 'placed' && enough) return took(item, tried);
    return giveUp(fleet, item, instance, { ...(why as Pick<Why, 'report' | 'fault'>), nowMs });
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
  const told = why.fault ?? faultOf(instance.doc, why.report, nowMs);
  const fault = { ...told, message: told.message.slice(0, FAULT_MESSAGE_MAX) };
  const doc = { ...instance.doc, fault };
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  const expects = asRead(instance);
  if (doc.wasActive) {
    const changes = keptWithoutHost(fleet, instance.id, doc, { by: BUILDER, nowMs });
    return record(item, { state: 'failed', step: item.doc.step, reason, host: null }, { changes, expects });
  }
  if (outsidePorts(fleet, portsOf(fleet, doc)).length > 0) {
    mark('build-releases-what-is-outside');
    const { host: _, ...homeless } = doc;
    const changes = [put(INSTANCE, instance.id, homeless), ...claimGone(fleet, instance.id)];
    const host = releasedBy(fleet, doc) ?? null;
    return record(item, { state: 'running', step: 'release', host }, { changes, expects });
  }
  const changes = givenUp(fleet, instance.id, doc, { by: BUILDER, nowMs });
  return record(item, { state: 'failed', step: item.doc.step, reason, host: null }, { changes, expects });
}

/** What a host made by itself it also gives back; only one that cannot any more leaves that to us. */
function releasedBy(fleet: FleetReader, { path, attempts }: Instance): string | undefined {
  const last = attempts.at(-1)?.host;
  return path.create === 'host' && last !== undefined && !isAway(fleet, last) ? last : undefined;
}

/** The back end has released the ports: the build ends here. */
export function gaveUp(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const fault = instance.doc.fault ?? faultOf(instance.doc, undefined, nowMs);
  const changes = givenUp(fleet, instance.id, { ...instance.doc, fault }, { by: BUILDER, nowMs });
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  return record(item, { state: 'failed', step: 'release', reason, host: null }, { changes, expects: asRead(instance) });
}

/** The host runs it and the network has plugged it: the instance is in service. */
export function wentWell(fleet: FleetReader, item: StoredItem, made: readonly Change[], nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const { fault: _, rebuiltFrom: __, ...rest } = instance.doc;
  const doc: Instance = { ...rest, state: 'active', wasActive: true, changedBy: BUILDER, changedAtMs: nowMs };
  const host = instance.doc.host ?? '';
  const changes = mergeChanges([
    ...made,
    put(INSTANCE, instance.id, doc),
    ...keptPromises(fleet, instance.id),
    ...buildWentWell(fleet, host),
  ]);
  return record(item, { state: 'done', step: item.doc.step }, { changes, expects: asRead(instance) });
}

/** A try failed and the host may run a copy: it is destroyed there first, and keeps its claim until it is. */
export function sweptFirst(fleet: FleetReader, item: StoredItem, failed: Failed, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  mark('build-sweeps-its-host');
  const doc: Instance = { ...withFault(instance.doc, failed), changedBy: BUILDER, changedAtMs: nowMs };
  const { attempts } = doc;
  const changes = [put(INSTANCE, instance.id, doc)];
  return record(
    item,
    { state: 'running', step: 'sweep', attempt: attempts.length },
    { changes, expects: asRead(instance) },
  );
}

/** The host has destroyed what it had of a try that failed. */
export function afterSweep(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const last = found(fleet, item.id).instance?.doc.attempts.at(-1);
  const { fault, text, excludedPool: pool } = last ?? {};
  const said = { ...(text !== undefined && { text }), ...(pool !== undefined && { pool }) };
  return afterFault(fleet, item, { fault: faultNamed(fault), ...said }, nowMs);
}

/** A try failed: its claim goes, its ports are unbound, and the build looks on from there. A dead host is swept when it is back. */
export function afterFault(fleet: FleetReader, item: StoredItem, failed: Failed, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  mark('build-goes-on-elsewhere');
  const { host, ...homeless } = withFault(instance.doc, failed);
  const doc: Instance = { ...homeless, changedBy: BUILDER, changedAtMs: nowMs };
  const ports = portsOf(fleet, doc);
  const byHost = doc.path.bind === 'host';
  // A binding goes with the claim: one that outlived it, because the back end is not answered for or somebody deletes the
  // instance meanwhile, would keep the host from leaving. What a host bound by itself, the next one binds under a higher serial.
  const bound = ports.filter(({ doc: port }) => port.binding !== undefined || (byHost && !isInline(fleet, port)));
  const sent = SENT.includes(item.doc.step) && host !== undefined && isConfirmedGone(fleet, host);
  const changes = [
    put(INSTANCE, instance.id, doc),
    ...claimGone(fleet, instance.id),
    ...bound.map((port) => put(PORT, port.id, unboundPort(port.doc, { by: BUILDER, nowMs }))),
    ...(sent ? cleaningOf(instance.id, host, `${item.id}:${doc.attempts.length}`, nowMs) : []),
    ...(host !== undefined && FAULTS[failed.fault].excludes === 'host' ? buildFailed(fleet, host, nowMs) : []),
  ];
  const step = !byHost && outsidePorts(fleet, ports).length > 0 ? 'unbind' : 'schedule';
  const expects = asRead(instance, bound);
  return record(item, { state: 'running', step, host: null }, { changes, expects });
}

/** What was promised is held by the ports now. */
export function keptPromises(fleet: FleetReader, instance: string): Change[] {
  const claim = fleet.get(CLAIM, claimId(instance, 'home'));
  if (claim === undefined || claim.doc.addresses.length === 0) return [];
  return [put(CLAIM, claim.id, { ...claim.doc, addresses: [] })];
}
