// What must be true of instances once all faults are over: all work on them is finished or waits for a reason that is true, instances that
// are shown as running do run, and the back end has what the journal says.
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { idOf, type Fleet } from '../../src/fleet/index.ts';
import { EARLY_BIND_VERSION, HOST } from '../../src/hosts/index.ts';
import {
  degradedPorts,
  copyOf,
  INSTANCE,
  openReplugItem,
  roleOfCopy,
  type Instance,
} from '../../src/instances/index.ts';
import {
  capabilitiesOf,
  CLAIM,
  claimId,
  hostReaches,
  isPlugged,
  PORT,
  PORTS_BY_INSTANCE,
  SEGMENT,
  SUBNET,
  type StoredPort,
} from '../../src/network/index.ts';
import {
  isOpen,
  isUnfinished,
  ITEM,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Operation,
  type StoredItem,
} from '../../src/operations/index.ts';
import type { World } from '../world/world.ts';
import { checkHostsAtRest } from './hosts-at-rest.ts';

export function checkInstancesAtRest(world: World): string[] {
  const { truth } = world;
  return [
    ...checkHostsAtRest(world),
    ...[...truth.all(OPERATION)].flatMap(({ id, doc }) => operationAtRest(world, id, doc)),
    ...[...truth.all(INSTANCE)].flatMap(({ id, doc }) => [
      ...checkRunning(world, id),
      ...checkWorkedOn(truth, id, doc),
      ...checkReleased(truth, id, doc),
      ...checkBindings(truth, id),
      ...checkDegraded(world, id),
      ...checkReplugged(truth, id),
    ]),
    ...[...truth.all(PORT)].flatMap((port) => checkBackEndPort(world, port)),
  ];
}

function operationAtRest({ truth, machines }: World, id: string, doc: Operation): string[] {
  // Those of hosts are assessed by the hosts workload.
  if (!doc.kind.startsWith('instance-') && doc.kind !== 'port-delete') return [];
  if (!isUnfinished(doc)) return [];
  if (doc.stopped === true) return [`operation ${id} was stopped by a fault of the program: ${doc.reason?.code}`];
  const open = [...truth.find(ITEMS_BY_OPERATION, id)].filter((item) => isOpen(item.doc));
  if (open.length === 0) return [`operation ${id} has nothing left to do and is not finished`];
  const silent = (host: string | undefined): boolean =>
    machines.find(({ name }) => name === host)?.incarnation === undefined || isAwaitingJoin(truth, host);
  return open
    .filter((item) => !isTrue(truth, item, silent))
    .map(({ id: one, doc: { step, state, reason, host } }) => {
      return `item ${one} is ${state} at ${step} of ${host ?? 'nobody'} (${reason?.code ?? 'no reason'}), untruly`;
    });
}

/** Whether the reason that an item waits for is true. */
function isTrue(truth: Fleet, item: StoredItem, silent: (host: string | undefined) => boolean): boolean {
  const { reason, host, target } = item.doc;
  switch (reason?.code) {
    case 'host-not-connected':
    case 'host-silent':
    case 'source-not-connected':
    case 'target-not-connected':
    case 'migration-outcome-unknown':
      return silent(String(reason['host']));
    case 'host-forced-down':
      return isForcedDown(truth, String(reason['host']));
    case 'only-copy':
      return roleOfCopy(truth, copyOf(item)) === 'possibly-last';
    case 'ports-not-plugged':
      return [...truth.find(PORTS_BY_INSTANCE, target.id)].some((port) => !isPlugged(truth, port));
    case 'other-work-ends-first':
      // It is assessed by itself.
      return [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, target.id))].length > 1;
    case 'not-connected':
      // Faults are over by now: what is left is a host that no longer reaches the segment.
      return isUnmapped(truth, target.id, String(reason['host']));
    case 'host-binds':
      if (reason['because'] === 'driver')
        return truth.get(HOST, idOf(HOST, String(reason['host'])))?.doc.bindsAt === 'driver';
      // Credentials cannot be missing any more: every server has them by now.
      return (
        reason['because'] === 'agents' &&
        [...truth.all(HOST)].some(({ doc }) => doc.serviceVersion < EARLY_BIND_VERSION)
      );
    case 'not-bound':
      return isUnmapped(truth, target.id, String(reason['host']));
    case 'not-activated':
      return String(reason['problems']) === 'mapping-gone'
        ? isUnmapped(truth, target.id, String(reason['host']))
        : isTooOld(truth, String(reason['host']), String(reason['problems']));
    case undefined:
      // A host that is silent and not declared down, because too many are: its task waits.
      return host !== undefined && silent(host);
    default:
      return false;
  }
}

/** It was admitted again after it left: its agent runs, and says nothing until an operator joins it. */
function isAwaitingJoin(truth: Fleet, host: string | undefined): boolean {
  const doc = host === undefined ? undefined : truth.get(HOST, idOf(HOST, host))?.doc;
  return doc?.state === 'joining' && doc.readmitted === true && doc.connection.state === 'unknown';
}

function isForcedDown(truth: Fleet, host: string): boolean {
  const doc = truth.get(HOST, idOf(HOST, host))?.doc;
  return doc === undefined || doc.state === 'removed' || doc.forcedDown !== undefined;
}

/** Whether the host's agent was replaced by an older one that does not know the task. */
function isTooOld(truth: Fleet, host: string, problem: string): boolean {
  const version = truth.get(HOST, idOf(HOST, host))?.doc.serviceVersion ?? 0;
  return version < EARLY_BIND_VERSION && problem.startsWith(`this agent has service version ${version} and cannot`);
}

/** Whether a port of the instance has an address in a segment that the host no longer reaches. */
function isUnmapped(truth: Fleet, instance: string, id: string): boolean {
  const host = truth.get(HOST, idOf(HOST, id))?.doc;
  const segments = [...truth.find(PORTS_BY_INSTANCE, instance)].flatMap(({ doc }) =>
    doc.addresses.flatMap(({ subnet }) => truth.get(SUBNET, idOf(SUBNET, subnet))?.doc.segment ?? []),
  );
  return segments.some((one) => {
    const segment = truth.get(SEGMENT, idOf(SEGMENT, one))?.doc;
    return host === undefined || segment === undefined || !hostReaches(host, segment);
  });
}

/** An operator fenced the source host while it was migrating: its copy is in an unknown state. */
function wasLost({ ledger }: World, id: string, { createdAtMs }: Instance): boolean {
  return ledger.entries.some(({ changes }) =>
    changes.some((change) => {
      if (change.kind !== INSTANCE.name || change.id !== id) return false;
      const doc = change.doc as Instance | null;
      return doc?.createdAtMs === createdAtMs && doc.fault?.code === 'source-lost';
    }),
  );
}

function checkRunning(world: World, id: string): string[] {
  const { truth, machines } = world;
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  if (instance?.state !== 'active' || isBusy(truth, id)) return [];
  const machine = machines.find(({ name }) => name === instance.host);
  const copy = machine?.hypervisor.instance(id)?.state;
  // A machine that lost its power for good starts nothing again.
  if (copy === 'running' || (copy === 'ended' && machine?.powered === false)) return [];
  const forcedDown = truth.get(HOST, idOf(HOST, instance.host ?? ''))?.doc.forcedDown !== undefined;
  return forcedDown || wasLost(world, id, instance)
    ? []
    : [`instance ${id} is said to run on ${instance.host}, and does not`];
}

/** An instance that is moving to a running state has an operation; the others may be left by a passed deadline. */
function checkWorkedOn(truth: Fleet, id: string, { state }: Instance): string[] {
  const onItsWay = state === 'building' || state === 'rebuilding';
  return onItsWay && !isBusy(truth, id) ? [`instance ${id} is ${state}, and no operation works on it`] : [];
}

/** A build that failed, or took too long, has nothing any more once its clean-up has ended. */
function checkReleased(truth: Fleet, id: string, { state, wasActive }: Instance): string[] {
  if (state !== 'error' || wasActive || isBusy(truth, id)) return [];
  const claimed = truth.get(CLAIM, claimId(id, 'home')) !== undefined;
  const ports = [...truth.find(PORTS_BY_INSTANCE, id)].length;
  return claimed || ports > 0 ? [`instance ${id} has failed or was cancelled and has ${ports} ports`] : [];
}

/** Whatever became of it, its ports are bound where it has a claim, or nowhere. */
function checkBindings(truth: Fleet, id: string): string[] {
  const claimed = (['home', 'move'] as const).flatMap((role) => truth.get(CLAIM, claimId(id, role))?.doc.host ?? []);
  return [...truth.find(PORTS_BY_INSTANCE, id)].flatMap(({ id: port, doc: { binding } }) =>
    binding?.host === undefined || claimed.includes(binding.host)
      ? []
      : [`port ${port} of ${id} is bound to ${binding.host}, and its room is on ${claimed.join(', ') || 'no host'}`],
  );
}

/** Exactly the instances that are not connected at the back end are shown as degraded: checked at the back end itself. */
function checkDegraded({ truth, network }: World, id: string): string[] {
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id));
  if (instance?.doc.state !== 'active') return [];
  const others = [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))].length;
  const isReplugged = openReplugItem(truth, id) !== undefined;
  if (others > (isReplugged ? 1 : 0)) return [];
  const isDegraded = degradedPorts(truth, instance).length > 0;
  const cut = [...truth.find(PORTS_BY_INSTANCE, id)].filter(({ id: port, doc }) => {
    if (capabilitiesOf(truth, doc.network).inline) return doc.binding?.host !== instance.doc.host;
    const { binding } = network.backEnd.port(port) ?? {};
    return binding?.host !== instance.doc.host || binding?.type !== 'simulated';
  });
  if (cut.length > 0 && !isDegraded)
    return [`instance ${id} is not connected at ${cut[0]?.id}, and is not shown as degraded`];
  return [];
}

/** An instance that is degraded is being connected again. */
function checkReplugged(truth: Fleet, id: string): string[] {
  const instance = truth.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined || degradedPorts(truth, instance).length === 0) return [];
  const isAlarmed = truth.get(ALARM, alarmId('instance-degraded', id)) !== undefined;
  if (openReplugItem(truth, id) === undefined) return [`instance ${id} is degraded, and no replug connects it again`];
  return isAlarmed ? [] : [`instance ${id} is degraded, and there is no alarm`];
}

function isBusy(truth: Fleet, id: string): boolean {
  return [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))].length > 0;
}

/**
 * It runs, or is shelved by a user. One that found no host may have left a binding, and so may one whose hosts bind by themselves: the next
 * host takes it over.
 */
function isSettled(instance: Instance | undefined): boolean {
  if (instance?.state !== 'shelved') return instance?.state === 'active';
  return instance.fault === undefined && instance.path.bind === 'conductor';
}

function wasShelvedLate(truth: Fleet, instance: string): boolean {
  return [...truth.all(ITEM)].some(
    ({ doc: { target, step, state } }) => target.id === instance && step === 'unbind' && state === 'failed',
  );
}

/** Only for instances without an operation: their ports may be in transition. */
function checkBackEndPort({ truth, network }: World, { id, doc }: StoredPort): string[] {
  if (capabilitiesOf(truth, doc.network).inline || doc.state !== 'made') return [];
  const instance = doc.instance === undefined ? undefined : truth.get(INSTANCE, idOf(INSTANCE, doc.instance));
  if (doc.instance !== undefined && (!isSettled(instance?.doc) || isBusy(truth, doc.instance))) return [];
  const there = network.backEnd.port(id);
  // A missing connection may have been removed there by others.
  if (there === undefined && doc.binding === undefined) return [];
  if (there === undefined) return [`port ${id} is made, and the back end does not have it`];
  const [ours, theirs] = [doc.addresses, there.addresses].map((list) =>
    list
      .map(({ ip }) => ip)
      .sort()
      .join(' '),
  );
  if (ours !== theirs) return [`port ${id} has [${ours}], at the back end [${theirs}]`];
  // A move that ended where the ports could not be connected shows it; the back end may have them bound at the previous host.
  if (instance?.doc.state === 'active' && instance.doc.fault !== undefined && doc.binding === undefined) return [];
  // Where its ports could not be connected it runs without them, and shows it.
  if (instance?.doc.fault !== undefined && doc.binding === undefined) return [];
  // A shelving whose deadline passed before the back end had unbound it shows it; it is bound again under a higher serial.
  if (instance !== undefined && doc.binding === undefined && wasShelvedLate(truth, instance.id)) return [];
  return doc.binding?.host === there.binding?.host
    ? []
    : [`port ${id} is bound to ${doc.binding?.host}, at the back end to ${there.binding?.host}`];
}
