// The steps of a build that change the resources of an instance: placement, a failed try, success, failure. Each is a single commit that leaves
// nothing half claimed.
import { idOf, mark, mergeChanges, runTrial, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { CLAIM, claimId, PORT, unbindPort, type StoredPort } from '../../network/index.ts';
import {
  expectUnchanged,
  fail,
  ITEM,
  record,
  shortenText,
  siteLimitOf,
  type ExpectedRevision,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { recordBuildFailure, clearBuildFailures, type ScheduleReport } from '../../scheduler/index.ts';
import { attemptPlacement, type AttemptResult } from './attempt.ts';
import { beginSweep } from '../delete/clean.ts';
import { toFaultCode, FAULTS, recordFault, type AttemptFailure } from '../faults.ts';
import { dropClaim, composeFault, BUILD_FAILED_MESSAGE, releaseFailedBuild, keepWithoutHost } from './failure.ts';
import { INSTANCE, type Instance, type InstanceFault } from '../model.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { isUnavailable, isFencedOrRemoved, isInline, portsOf, type StoredInstance } from './placement.ts';

export const BUILDER = 'operation:instance-build';

/** The steps at which a host may have a copy of the instance. */
export const STEPS_WITH_COPY = ['build', 'plug', 'sweep'];

const FAULT_MESSAGE_MAX = 1000;

/** Whether it is being placed: built for the first time, unshelved, or rebuilt. */
export function isBeingBuilt({ state }: Instance): boolean {
  return state === 'building' || state === 'rebuilding';
}

/** A step that was planned on the durable fleet is dropped when a concurrent change came first. */
export function expectInstanceUnchanged(
  instance: StoredInstance,
  ports: readonly StoredPort[] = [],
): readonly ExpectedRevision[] {
  return [expectUnchanged(INSTANCE, instance), ...ports.map((port) => expectUnchanged(PORT, port))];
}

/** An open item with its instance, as found by the decision that records the step. */
export function loadItem(fleet: FleetReader, id: string): { item: StoredItem; instance: StoredInstance | undefined } {
  const item = fleet.get(ITEM, idOf(ITEM, id));
  if (item === undefined) throw new Error(`item ${id} is gone`);
  return { item, instance: fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id)) };
}

/** The instance no longer belongs to this build: deleted meanwhile, failed by a deadline, or already at its goal. */
export function endSuperseded(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const id = item.doc.target.id;
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: id });
  const { state, fault } = instance.doc;
  if (state === 'deleting') {
    mark('build-ended-by-delete');
    return fail(item, { code: 'instance-deleted', instance: id });
  }
  if (state !== 'error' && state !== 'shelved') return record(item, { state: 'done', step: item.doc.step });
  const { code, message } = fault ?? { code: 'given-up', message: BUILD_FAILED_MESSAGE };
  return fail(item, { code, instance: id, message: shortenText(message, FAULT_MESSAGE_MAX) });
}

/** Places it, or fails. Runs inside the commit: its claim is visible at once. */
export function scheduleInstance(fleet: FleetReader, id: string, nowMs: number): RecordStep {
  const { item, instance } = loadItem(fleet, id);
  if (instance === undefined || !isBeingBuilt(instance.doc)) return endSuperseded(item, instance);
  const tried = attemptFor(fleet, instance, { nowMs, within: siteLimitOf(fleet, item.doc) });
  if (tried.kind === 'exhausted')
    return failBuild(fleet, item, { ...instance, doc: tried.instance }, { ...tried, nowMs });
  return recordPlaced(item, tried);
}

function attemptFor(
  fleet: FleetReader,
  { id, doc: instance }: StoredInstance,
  at: { readonly nowMs: number; readonly within: string | undefined },
): AttemptResult {
  const networkRequest = { id, instance, ports: portsOf(fleet, instance), by: BUILDER, ...at };
  const held = dropClaim(fleet, id);
  if (held.length === 0) return attemptPlacement(fleet, networkRequest);
  // Its copy at a dead host does not count as a member of its group here.
  return runTrial(fleet, (trial) => {
    trial.add(held);
    return attemptPlacement(trial, networkRequest);
  });
}

function recordPlaced(
  item: StoredItem,
  { step, host, nth, changes }: AttemptResult & { readonly kind: 'placed' },
): RecordStep {
  // A host that is chosen again gets a task with another id: the answer to the earlier one does not count for it.
  const task = step === 'build' ? { host, attempt: nth } : { host: null };
  return record(item, { state: 'running', step, ...task }, { changes: changes.map(detachFromRequest) });
}

/** Once the request is placed, each of its instances continues alone: one that fails later reports that itself. */
function detachFromRequest(change: Change): Change {
  if (change.kind !== INSTANCE.name || change.doc === null) return change;
  const { together: _, ...doc } = change.doc as Instance;
  return { ...change, doc };
}

/** Places the instances of one request together: at least `minimum` of them, or none. */
export function scheduleTogether(
  fleet: FleetReader,
  items: readonly StoredItem[],
  minimum: number,
  nowMs: number,
): RecordStep[] {
  const wanted = items.flatMap(({ id }) => {
    const { item, instance } = loadItem(fleet, id);
    return instance !== undefined && isBeingBuilt(instance.doc) ? [{ item, instance }] : [];
  });
  const tries = runTrial(fleet, (trial) =>
    wanted.map(({ item, instance }) => {
      const tried = attemptFor(trial, instance, { nowMs, within: siteLimitOf(fleet, item.doc) });
      if (tried.kind === 'placed') trial.add(tried.changes);
      return tried;
    }),
  );
  const enough = tries.filter((tried) => tried.kind === 'placed').length >= minimum;
  if (!enough) mark('together-too-few');
  const short = tries.find((tried) => tried.kind === 'exhausted' && tried.report !== undefined);
  const few = `Fewer than ${minimum} of the request could be created; the faults of the others say why.`;
  const why =
    short?.kind === 'exhausted' ? { report: short.report } : { fault: { code: 'too-few', message: few, atMs: nowMs } };
  return wanted.map(({ item, instance }, nth) => {
    const tried = tries[nth] as AttemptResult;
    if (tried.kind === 'placed' && enough) return recordPlaced(item, tried);
    return failBuild(fleet, item, instance, { ...(why as Pick<FailureCause, 'report' | 'fault'>), nowMs });
  });
}

interface FailureCause {
  readonly report?: ScheduleReport;
  readonly fault?: InstanceFault;
  readonly nowMs: number;
}

/** No try is left: resources outside the journal are released first, then everything at once. */
export function failBuild(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance,
  why: FailureCause,
): RecordStep {
  const { nowMs } = why;
  const composed = why.fault ?? composeFault(instance.doc, why.report, nowMs);
  const fault = { ...composed, message: shortenText(composed.message, FAULT_MESSAGE_MAX) };
  const doc = { ...instance.doc, fault };
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  const expects = expectInstanceUnchanged(instance);
  if (doc.wasActive) {
    const changes = keepWithoutHost(fleet, instance.id, doc, { by: BUILDER, nowMs });
    return record(item, { state: 'failed', step: item.doc.step, reason, host: null }, { changes, expects });
  }
  if (nonInlinePorts(fleet, portsOf(fleet, doc)).length > 0) {
    mark('build-releases-non-inline-ports');
    const { host: _, ...homeless } = doc;
    const changes = [put(INSTANCE, instance.id, homeless), ...dropClaim(fleet, instance.id)];
    const host = releasingHostOf(fleet, doc) ?? null;
    return record(item, { state: 'running', step: 'release', host }, { changes, expects });
  }
  const changes = releaseFailedBuild(fleet, instance.id, doc, { by: BUILDER, nowMs });
  return record(item, { state: 'failed', step: item.doc.step, reason, host: null }, { changes, expects });
}

/** A host releases the ports that it created itself; only if it cannot any more, Muster does. */
function releasingHostOf(fleet: FleetReader, { path, attempts }: Instance): string | undefined {
  const last = attempts.at(-1)?.host;
  return path.create === 'host' && last !== undefined && !isUnavailable(fleet, last) ? last : undefined;
}

/** The back end has released the ports: the build ends here. */
export function finishRelease(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const fault = instance.doc.fault ?? composeFault(instance.doc, undefined, nowMs);
  const changes = releaseFailedBuild(fleet, instance.id, { ...instance.doc, fault }, { by: BUILDER, nowMs });
  const reason = { code: fault.code, instance: instance.id, message: fault.message };
  return record(
    item,
    { state: 'failed', step: 'release', reason, host: null },
    { changes, expects: expectInstanceUnchanged(instance) },
  );
}

/** The host runs it and the network has plugged it: the instance is in service. */
export function recordBuilt(fleet: FleetReader, item: StoredItem, made: readonly Change[], nowMs: number): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  const { fault: _, rebuiltFrom: __, ...rest } = instance.doc;
  const doc: Instance = { ...rest, state: 'active', wasActive: true, changedBy: BUILDER, changedAtMs: nowMs };
  const host = instance.doc.host ?? '';
  const changes = mergeChanges([
    ...made,
    put(INSTANCE, instance.id, doc),
    ...clearPromisedAddresses(fleet, instance.id),
    ...clearBuildFailures(fleet, host),
  ]);
  return record(item, { state: 'done', step: item.doc.step }, { changes, expects: expectInstanceUnchanged(instance) });
}

/** A try failed and the host may run a copy: it is destroyed there first, and keeps its claim until then. */
export function sweepHostFirst(
  fleet: FleetReader,
  item: StoredItem,
  failed: AttemptFailure,
  nowMs: number,
): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  mark('build-sweeps-its-host');
  const doc: Instance = { ...recordFault(instance.doc, failed), changedBy: BUILDER, changedAtMs: nowMs };
  const { attempts } = doc;
  const changes = [put(INSTANCE, instance.id, doc)];
  return record(
    item,
    { state: 'running', step: 'sweep', attempt: attempts.length },
    { changes, expects: expectInstanceUnchanged(instance) },
  );
}

/** The host has destroyed the copy of a failed try. */
export function continueAfterSweep(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const last = loadItem(fleet, item.id).instance?.doc.attempts.at(-1);
  const { fault, text, excludedPool: pool } = last ?? {};
  const said = { ...(text !== undefined && { text }), ...(pool !== undefined && { pool }) };
  return continueAfterFault(fleet, item, { fault: toFaultCode(fault), ...said }, nowMs);
}

/** A try failed: its claim is released, its ports are unbound, and the build continues. A dead host is swept when it is back. */
export function continueAfterFault(
  fleet: FleetReader,
  item: StoredItem,
  failed: AttemptFailure,
  nowMs: number,
): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: item.doc.target.id });
  mark('build-rescheduled');
  const { host, ...homeless } = recordFault(instance.doc, failed);
  const doc: Instance = { ...homeless, changedBy: BUILDER, changedAtMs: nowMs };
  const ports = portsOf(fleet, doc);
  const byHost = doc.path.bind === 'host';
  // The binding is removed with the claim: one that outlived it, because the back end does not answer or the instance is deleted
  // meanwhile, would block the host's removal. Ports that a host bound itself are bound by the next one under a higher serial.
  const bound = ports.filter(({ doc: port }) => port.binding !== undefined || (byHost && !isInline(fleet, port)));
  const sent = STEPS_WITH_COPY.includes(item.doc.step) && host !== undefined && isFencedOrRemoved(fleet, host);
  const changes = [
    put(INSTANCE, instance.id, doc),
    ...dropClaim(fleet, instance.id),
    ...bound.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: BUILDER, nowMs }))),
    ...(sent ? beginSweep(instance.id, host, `${item.id}:${doc.attempts.length}`, nowMs) : []),
    ...(host !== undefined && FAULTS[failed.fault].excludes === 'host' ? recordBuildFailure(fleet, host, nowMs) : []),
  ];
  const step = !byHost && nonInlinePorts(fleet, ports).length > 0 ? 'unbind' : 'schedule';
  const expects = expectInstanceUnchanged(instance, bound);
  return record(item, { state: 'running', step, host: null }, { changes, expects });
}

/** Claimed addresses are held by the ports now. */
export function clearPromisedAddresses(fleet: FleetReader, instance: string): Change[] {
  const claim = fleet.get(CLAIM, claimId(instance, 'home'));
  if (claim === undefined || claim.doc.addresses.length === 0) return [];
  return [put(CLAIM, claim.id, { ...claim.doc, addresses: [] })];
}
