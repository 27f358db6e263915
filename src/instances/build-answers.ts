// What a host is asked to build, and what its answer means. A host that was given bound ports makes none; an older one tells
// what it made or bound, and that is recorded as its work.
import { idOf, mergeChanges, put, type Change, type FleetReader } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import { bindPorts, NETWORK, PORT, SUBNET, type PoolKey, type Port, type StoredPort } from '../network/index.ts';
import {
  backoffMs,
  record,
  wait,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../operations/index.ts';
import { boundPorts } from './build-orders.ts';
import {
  afterFault,
  afterSweep,
  found,
  gaveUp,
  isBeingBuilt,
  keptPromises,
  leftBuild,
  sweptFirst,
  wentWell,
} from './build-steps.ts';
import { tellsOfPlugs } from './degraded.ts';
import { faultNamed } from './faults.ts';
import { INSTANCE, type Instance } from './model.ts';
import { toldPorts } from './host-answer.ts';
import { keptAtEnd, segmentOf } from './orders.ts';
import { isInline, modeOn, portsOf, reachesPools, type BindMode, type StoredInstance } from './place.ts';

export const buildTask: NonNullable<OperationKind['task']> = (fleet, item) => {
  const { step, state, host } = item.doc;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (host === undefined || instance === undefined || !isBeingBuilt(instance.doc)) return undefined;
  if (step === 'build' && instance.doc.host === host)
    return { kind: 'build', args: buildArgs(fleet, instance, modeAt(fleet, instance.doc)) };
  if (state !== 'running') return undefined;
  if (step === 'sweep') return { kind: 'destroy', args: { instance: instance.id, nics: [], ports: 'leave' } };
  if (step !== 'release') return undefined;
  return { kind: 'destroy', args: { instance: instance.id, nics: endNics(fleet, instance), ports: 'delete-own' } };
};

/** What a host is told of ports whose instance ends: a user's keeps the addresses that are said. */
export function endNics(fleet: FleetReader, { doc }: StoredInstance): object[] {
  return portsOf(fleet, doc).map((port) => ({
    ...nicArgs(fleet, port, undefined),
    addresses: keptAtEnd(port.doc, doc),
  }));
}

function modeAt(fleet: FleetReader, instance: Instance): BindMode {
  const host = findHost(fleet, instance.host ?? '')?.doc;
  return host === undefined ? 'ready' : modeOn(host, instance);
}

/** What a host needs to know to build an instance, or to make ready for one that moves there. */
export function buildArgs(fleet: FleetReader, { id, doc }: StoredInstance, network: BindMode): Task['args'] {
  const pools = doc.attempts.at(-1)?.pools ?? [];
  const { vcpus, memoryMiB, diskGiB } = doc.amounts;
  return {
    instance: id,
    ...(doc.image !== undefined && { image: doc.image }),
    vcpus,
    memoryMiB,
    diskGiB,
    network,
    nics: portsOf(fleet, doc).map((port, nic) => nicArgs(fleet, boundAt(doc.host, port), pools[nic])),
  };
}

/** A binding that it still has at a dead host says nothing to the next one. */
function boundAt(host: string | undefined, { doc: { binding, ...doc }, ...port }: StoredPort): StoredPort {
  return { ...port, doc: { ...doc, ...(binding !== undefined && binding.host === host && { binding }) } };
}

export function nicArgs(fleet: FleetReader, { id, doc }: StoredPort, pool: string | undefined): object {
  const backEnd = fleet.get(NETWORK, idOf(NETWORK, doc.network))?.doc.backEnd ?? 'embedded';
  const segment = doc.binding?.segment ?? segmentOf(pool ?? '');
  return {
    port: id,
    nic: doc.nic ?? 0,
    network: doc.network,
    backEnd,
    mac: doc.mac,
    addresses: doc.addresses.filter((one) => staysOn(fleet, one, pool)).map(({ ip }) => ip),
    serial: doc.binding?.serial ?? doc.serial,
    ...(segment !== undefined && { segment }),
    ...(doc.binding !== undefined && { type: doc.binding.type }),
    createdBy: doc.createdBy,
    // A port that is to have no address gets none from a host either.
    ...(doc.ipAllocation === 'none' && { takes: [] }),
    ...(pool !== undefined && { pool }),
  };
}

/** An address of another segment that was picked for an earlier host is given up there: the next host hears nothing of it. */
function staysOn(fleet: FleetReader, { subnet, chosenBy }: Port['addresses'][number], pool = ''): boolean {
  const segment = segmentOf(pool);
  if (segment === undefined || chosenBy !== 'bind') return true;
  return fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc.segment === segment;
}

export function answeredBuild(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  const { instance } = found(fleet, item.id);
  if (instance === undefined) return leftBuild(item, instance);
  if (item.doc.step !== 'build') return answeredDestroy(fleet, item, answer, nowMs);
  if (answer.outcome === 'failed') return failedBuild(fleet, item, answer, nowMs);
  const made = hostsWork(fleet, instance, answer, nowMs);
  if (made.kind === 'fault') return sweptFirst(fleet, item, made.failed, nowMs);
  const events = portsOf(fleet, instance.doc).some((port) => tellsOfPlugs(fleet, port));
  if (!events) return wentWell(fleet, item, made.changes, nowMs);
  const changes = mergeChanges([...made.changes, ...keptPromises(fleet, instance.id)]);
  return record(item, { state: 'running', step: 'plug' }, { changes });
}

/**
 * What is said not to run there need not be destroyed. Whoever does not say so may: also an agent that is too old for the task,
 * when the one before it was not.
 */
function failedBuild(fleet: FleetReader, item: StoredItem, { facts, problems }: TaskAnswer, nowMs: number): RecordStep {
  const text = problems?.join('; ');
  const pool = facts?.['pool'];
  const fault = faultNamed(facts?.['fault']);
  const failed = { fault, ...(text !== undefined && { text }), ...(typeof pool === 'string' && { pool }) };
  return facts?.['runs'] === false ? afterFault(fleet, item, failed, nowMs) : sweptFirst(fleet, item, failed, nowMs);
}

function answeredDestroy(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  if (answer.outcome === 'done')
    return item.doc.step === 'sweep' ? afterSweep(fleet, item, nowMs) : gaveUp(fleet, item, nowMs);
  const problems = answer.problems ?? [];
  return wait(
    item,
    { code: 'not-destroyed', instance: item.doc.target.id, host: item.doc.host, problems },
    nowMs + backoffMs(item.doc.attempt),
  );
}

export type HostsWork =
  | { readonly kind: 'made'; readonly changes: readonly Change[] }
  | { readonly kind: 'fault'; readonly failed: Parameters<typeof afterFault>[2] };

/** The ports that were left to the host: bound by it, or, where the back end is in the journal, bound with its answer. */
export function hostsWork(fleet: FleetReader, instance: StoredInstance, answer: TaskAnswer, nowMs: number): HostsWork {
  if (modeAt(fleet, instance.doc) === 'ready') return { kind: 'made', changes: [] };
  const host = instance.doc.host ?? '';
  const pools = instance.doc.attempts.at(-1)?.pools ?? [];
  const inline = portsOf(fleet, instance.doc).filter((port) => isInline(fleet, port.doc));
  const asks = inline.map((port) => ({ port, pool: pools[port.doc.nic ?? 0] as PoolKey }));
  const bound = bindPorts(fleet, asks, { host, by: `agent/${host}`, nowMs });
  if (bound.kind === 'fault') {
    const { fault } = bound;
    return { kind: 'fault', failed: { fault: fault.code, ...(fault.code === 'pool-empty' && { pool: fault.pool }) } };
  }
  // Those that it bound outside the journal: what it reaches may have changed since it was asked.
  if (!reachesPools(fleet, host, pools)) return { kind: 'fault', failed: { fault: 'mapping-gone' } };
  const told = toldPorts(fleet, instance.doc, answer.facts?.['ports']);
  if ('problem' in told) return { kind: 'fault', failed: { fault: 'binding-failed', text: told.problem } };
  const theirs = boundPorts(fleet, instance, told.ports, nowMs);
  return { kind: 'made', changes: [...bound.ports.map(({ id, doc }) => put(PORT, id, doc)), ...theirs] };
}
