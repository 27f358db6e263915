// The build task of a host, and the meaning of its answer. A host that gets bound ports creates none; an older one reports the ports that it created
// or bound, and that is recorded as its work.
import { idOf, mergeChanges, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { bindPorts, NETWORK, PORT, SUBNET, type PoolKey, type Port, type StoredPort } from '../../network/index.ts';
import {
  record,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../../operations/index.ts';
import { recordBoundPorts } from './back-end-answers.ts';
import {
  continueAfterFault,
  continueAfterSweep,
  loadItem,
  finishRelease,
  isBeingBuilt,
  clearPromisedAddresses,
  endSuperseded,
  sweepHostFirst,
  recordBuilt,
} from './steps.ts';
import { reportsPlugEvents } from '../degraded/degraded.ts';
import { toFaultCode } from '../faults.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { validateReportedPorts } from './host-answer.ts';
import { addressesKeptAtRelease, segmentOf } from '../back-end-orders.ts';
import { isInline, bindModeOn, portsOf, canReachPools, type BindMode, type StoredInstance } from './placement.ts';
import { retryDestroy } from '../delete/retry-destroy.ts';

export const composeBuildTask: NonNullable<OperationKind['task']> = (item, { fleet }) => {
  const { step, state, host } = item.doc;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (host === undefined || instance === undefined || !isBeingBuilt(instance.doc)) return undefined;
  if (step === 'build' && instance.doc.host === host)
    return { kind: 'build', args: composeBuildArgs(fleet, instance, bindModeOf(fleet, instance.doc)) };
  if (state !== 'running') return undefined;
  if (step === 'sweep') return { kind: 'destroy', args: { instance: instance.id, nics: [], ports: 'leave' } };
  if (step !== 'release') return undefined;
  return {
    kind: 'destroy',
    args: { instance: instance.id, nics: composeReleaseNics(fleet, instance), ports: 'delete-own' },
  };
};

/** The task's ports of an instance that ends: a user's port keeps the listed addresses. */
export function composeReleaseNics(fleet: FleetReader, { doc }: StoredInstance): object[] {
  return portsOf(fleet, doc).map((port) => ({
    ...composeNicArgs(fleet, port, undefined),
    addresses: addressesKeptAtRelease(port.doc, doc),
  }));
}

function bindModeOf(fleet: FleetReader, instance: Instance): BindMode {
  const host = findHost(fleet, instance.host ?? '')?.doc;
  return host === undefined ? 'ready' : bindModeOn(host, instance);
}

/** What a host needs to build an instance, or to prepare for one that moves there. */
export function composeBuildArgs(fleet: FleetReader, { id, doc }: StoredInstance, network: BindMode): Task['args'] {
  const pools = doc.attempts.at(-1)?.pools ?? [];
  const { vcpus, memoryMiB, diskGiB } = doc.amounts;
  return {
    instance: id,
    ...(doc.image !== undefined && { image: doc.image }),
    vcpus,
    memoryMiB,
    diskGiB,
    network,
    nics: portsOf(fleet, doc).map((port, nic) => composeNicArgs(fleet, keepBindingAt(doc.host, port), pools[nic])),
  };
}

/** A binding that the instance still has at a dead host is not sent to the next one. */
function keepBindingAt(host: string | undefined, { doc: { binding, ...doc }, ...port }: StoredPort): StoredPort {
  return { ...port, doc: { ...doc, ...(binding !== undefined && binding.host === host && { binding }) } };
}

export function composeNicArgs(fleet: FleetReader, { id, doc }: StoredPort, pool: string | undefined): object {
  const backEnd = fleet.get(NETWORK, idOf(NETWORK, doc.network))?.doc.backEnd ?? 'embedded';
  const segment = doc.binding?.segment ?? segmentOf(pool ?? '');
  return {
    port: id,
    nic: doc.nic ?? 0,
    network: doc.network,
    backEnd,
    mac: doc.mac,
    addresses: doc.addresses.filter((one) => isKeptOn(fleet, one, pool)).map(({ ip }) => ip),
    serial: doc.binding?.serial ?? doc.serial,
    ...(segment !== undefined && { segment }),
    ...(doc.binding !== undefined && { type: doc.binding.type }),
    createdBy: doc.createdBy,
    // A port that is to have no address gets none from a host either.
    ...(doc.ipAllocation === 'none' && { takes: [] }),
    ...(pool !== undefined && { pool }),
  };
}

/** An address of another segment that was picked for an earlier host is dropped: the next host does not get it. */
function isKeptOn(fleet: FleetReader, { subnet, chosenBy }: Port['addresses'][number], pool = ''): boolean {
  const segment = segmentOf(pool);
  if (segment === undefined || chosenBy !== 'bind') return true;
  return fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc.segment === segment;
}

export function handleBuildAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance === undefined) return endSuperseded(item, instance);
  if (item.doc.step !== 'build') return handleDestroyAnswer(fleet, item, answer, nowMs);
  if (answer.outcome === 'failed') return handleBuildFailure(fleet, item, answer, nowMs);
  const made = recordHostBinding(fleet, instance, answer, nowMs);
  if (made.kind === 'fault') return sweepHostFirst(fleet, item, made.failed, nowMs);
  const events = portsOf(fleet, instance.doc).some((port) => reportsPlugEvents(fleet, port));
  if (!events) return recordBuilt(fleet, item, made.changes, nowMs);
  const changes = mergeChanges([...made.changes, ...clearPromisedAddresses(fleet, instance.id)]);
  return record(item, { state: 'running', step: 'plug' }, { changes });
}

/**
 * A copy that the host reports as not running need not be destroyed. Without that report it may run: also with an agent that is too old for the
 * task, when the one before it was not.
 */
function handleBuildFailure(
  fleet: FleetReader,
  item: StoredItem,
  { facts, problems }: TaskAnswer,
  nowMs: number,
): RecordStep {
  const text = problems?.join('; ');
  const pool = facts?.['pool'];
  const fault = toFaultCode(facts?.['fault']);
  const failed = { fault, ...(text !== undefined && { text }), ...(typeof pool === 'string' && { pool }) };
  return facts?.['runs'] === false
    ? continueAfterFault(fleet, item, failed, nowMs)
    : sweepHostFirst(fleet, item, failed, nowMs);
}

function handleDestroyAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  if (answer.outcome === 'done')
    return item.doc.step === 'sweep' ? continueAfterSweep(fleet, item, nowMs) : finishRelease(fleet, item, nowMs);
  return retryDestroy(item, answer, nowMs);
}

export type HostBindingResult =
  | { readonly kind: 'made'; readonly changes: readonly Change[] }
  | { readonly kind: 'fault'; readonly failed: Parameters<typeof continueAfterFault>[2] };

/** The ports that were left to the host: bound by it, or, where the back end is in the journal, bound with its answer. */
export function recordHostBinding(
  fleet: FleetReader,
  instance: StoredInstance,
  answer: TaskAnswer,
  nowMs: number,
): HostBindingResult {
  if (bindModeOf(fleet, instance.doc) === 'ready') return { kind: 'made', changes: [] };
  const host = instance.doc.host ?? '';
  const pools = instance.doc.attempts.at(-1)?.pools ?? [];
  const inline = portsOf(fleet, instance.doc).filter((port) => isInline(fleet, port.doc));
  const portRequests = inline.map((port) => ({ port, pool: pools[port.doc.nic ?? 0] as PoolKey }));
  const bound = bindPorts(fleet, portRequests, { host, by: `agent/${host}`, nowMs });
  if (bound.kind === 'fault') {
    const { fault } = bound;
    return { kind: 'fault', failed: { fault: fault.code, ...(fault.code === 'pool-empty' && { pool: fault.pool }) } };
  }
  // Those that it bound outside the journal: its segments may have changed since the task.
  if (!canReachPools(fleet, host, pools)) return { kind: 'fault', failed: { fault: 'mapping-gone' } };
  const reported = validateReportedPorts(fleet, instance.doc, answer.facts?.['ports']);
  if ('problem' in reported) return { kind: 'fault', failed: { fault: 'binding-failed', text: reported.problem } };
  const theirs = recordBoundPorts(fleet, instance, reported.ports, nowMs);
  return { kind: 'made', changes: [...bound.ports.map(({ id, doc }) => put(PORT, id, doc)), ...theirs] };
}
