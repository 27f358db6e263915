// What must be true of hosts that leave and join once all faults are over: whatever is unfinished waits for a reason that is true, each
// service has its one host, switches hold what their views say and name no removed host, drained hosts are empty, and decisions do not
// depend on the order in which things are named.
import { isDeepStrictEqual } from 'node:util';
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { readDataplaneView, diff, EMPTY_COMPILE_RESULT } from '../../src/dataplane/index.ts';
import { ELECTION, reconcileServices, SERVICE } from '../../src/election/index.ts';
import { findSteadyStateProblems } from '../../src/election/invariants.ts';
import { idOf, valueOf } from '../../src/fleet/index.ts';
import {
  evacuatorsOf,
  DESIGNATIONS_VERSION,
  HOST,
  isOutOfControl,
  startScaleIn,
  type Host,
} from '../../src/hosts/index.ts';
import { PENDING_CLEAN_UP, pendingId } from '../../src/hosts/scale-in/pending-clean-up.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import {
  isOpen,
  isUnfinished,
  ITEM,
  ITEMS_BY_OPERATION,
  OPERATION,
  type PlannedStep,
  type Operation,
  type RecordStep,
  type StoredItem,
} from '../../src/operations/index.ts';
import { leftoversOn, occupantsOf, presenceOf } from '../checkers/leaving.ts';
import { leftoverConnections, tracesOn, desiredContents } from '../checkers/switches.ts';
import type { HostMachine } from '../world/machine.ts';
import type { Incarnation } from '../world/server.ts';
import type { World } from '../world/world.ts';
import { checkInstancesAtRest } from './instances-at-rest.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

/** Those that are assessed here; the others are assessed by the instances workload. */
const SCALE_IN_KINDS: readonly string[] = [
  'scale-in',
  'scale-in-end',
  'scale-in-recover',
  'peer-clean-up',
  'handover',
  'scale-out',
];

export function checkScaleInAtRest(world: World): string[] {
  const holder = world.servers.find((server) => server.incarnation?.journal.fence !== undefined)?.incarnation;
  if (holder === undefined) return ['no server holds the lease although everything has healed'];
  const { truth } = world;
  return [
    ...checkInstancesAtRest(world),
    ...[...truth.all(OPERATION)].flatMap(({ id, doc }) => operationAtRest(world, holder, id, doc)),
    ...checkOneDesignated(world),
    // Held elections leave services where they were.
    ...(valueOf(truth, ELECTION).held ? [] : servicesAtRest(world)),
    ...[...truth.all(HOST)].flatMap(({ id, doc }) => hostAtRest(world, id, doc)),
    ...world.machines.flatMap((machine) => switchAtRest(world, machine)),
    ...[...truth.all(PENDING_CLEAN_UP)].flatMap(({ doc }) => pendingAtRest(world, doc)),
    ...checkOrderIndependence(world, holder.clock.nowMs()),
  ];
}

function operationAtRest(world: World, holder: Incarnation, id: string, doc: Operation): string[] {
  if (!SCALE_IN_KINDS.includes(doc.kind) || !isUnfinished(doc)) return [];
  if (doc.stopped === true) return [`operation ${id} was stopped by a fault of the program: ${doc.reason?.code}`];
  const open = [...world.truth.find(ITEMS_BY_OPERATION, id)].filter((item) => isOpen(item.doc));
  if (open.length === 0) return [`operation ${id} has nothing left to do and is not finished`];
  const nowMs = holder.clock.nowMs();
  return open.flatMap((item) => {
    const problem = isTrue(world, item) ? missedProgress(world, { id, doc }, item, nowMs) : 'untruly';
    const { step, state, reason, target } = item.doc;
    return problem === undefined
      ? []
      : [`${doc.kind} of ${target.id} is ${state} at ${step} (${JSON.stringify(reason ?? 'no reason')}): ${problem}`];
  });
}

/** Whether the reason of a waiting item is true in the world, as far as it can be observed there. */
function isTrue({ truth, machines }: World, { doc: { reason, target } }: StoredItem): boolean {
  const of = (name: unknown): { host: Host | undefined; machine: HostMachine | undefined } => ({
    host: truth.get(HOST, idOf(HOST, String(name)))?.doc,
    machine: machines.find((one) => one.name === name),
  });
  switch (reason?.code) {
    // All links are repaired: every reachable host has converged.
    case undefined:
    case 'hosts-behind':
    case 'connections-not-copied':
    case 'handover-drains':
    case 'has-left':
      return false;
    case 'service-not-ready':
      return of(reason['host']).machine?.unpreparable.has(String(reason['service'])) === true;
    case 'host-down':
      return of(reason['host']).machine?.incarnation === undefined;
    case 'peer-not-connected':
      return !isConnected(of(reason['peer']));
    case 'peer-too-old':
      return (of(reason['peer']).host?.serviceVersion ?? 0) < DESIGNATIONS_VERSION;
    // It can be controlled again, and that has to last for a while.
    case 'peer-out-of-control':
      return isOutOfControl(of(reason['peer']).host ?? {});
    case 'held-out-of-control':
      return isOutOfControl(of(reason['host']).host ?? {});
    case 'agent-not-connected':
      return !isConnected(of(target.id));
    case 'agent-not-joined':
    case 'agent-has-left':
      return of(target.id).host?.credential === undefined;
    case 'elections-held':
      return valueOf(truth, ELECTION).held;
    default:
      return true;
  }
}

function isConnected({ host, machine }: { host: Host | undefined; machine: HostMachine | undefined }): boolean {
  return machine?.incarnation !== undefined && host?.credential !== undefined;
}

/** What a new plan would do for an item: nothing, or the item was forgotten. */
function missedProgress(
  { truth, composition }: World,
  operation: { readonly id: string; readonly doc: Operation },
  item: StoredItem,
  nowMs: number,
): string | undefined {
  const kind = composition.operationKinds.get(operation.doc.kind);
  if (kind === undefined) return 'its kind is unknown';
  for (const next of kind.plan(truth, [item], nowMs)) {
    if (next.kind === 'act') return 'an action could be carried out';
    const step = stepsOf(next, nowMs).find((one) => isNews(one, item));
    if (step !== undefined) return `it would be ${JSON.stringify(step.progress)} with ${step.changes.length} changes`;
  }
  return undefined;

  function stepsOf(next: Exclude<PlannedStep, { kind: 'act' }>, atMs: number): readonly RecordStep[] {
    return next.kind === 'record' ? [next] : next.decide(truth, atMs);
  }
}

function isNews({ progress, changes }: RecordStep, { doc }: StoredItem): boolean {
  return changes.length > 0 || progress.state !== doc.state || progress.reason?.code !== doc.reason?.code;
}

/** Each service has its one host. One that waits for a candidate is assessed by the reason of its handover. */
function servicesAtRest(world: World): string[] {
  const { truth } = world;
  const passing = new Set([...truth.all(ITEM)].flatMap(({ doc }) => (isOpen(doc) ? [doc.target.id] : [])));
  // A recovered host that does not come back is neither leaving nor available: the service keeps saying so until it comes back or leaves.
  const stranded = [...truth.all(SERVICE)].flatMap(({ id, doc }) => {
    const state = truth.get(HOST, idOf(HOST, doc.designated?.host ?? ''))?.doc.state;
    return state === 'recovering' ? [`${id} is degraded without cause`] : [];
  });
  const cutOff = [...truth.all(SERVICE)].flatMap(({ id, doc }) => (isCutOff(world, doc.designated?.host) ? [id] : []));
  // A host with an open item has a reason, which is assessed itself: see `operationAtRest`.
  const wrong = findSteadyStateProblems(truth).filter(
    (sentence) =>
      !stranded.includes(sentence) &&
      !passing.has(sentence.replace(' is being handed over', '')) &&
      !cutOff.some((id) => sentence.startsWith(`${id} stays at `)),
  );
  return [...wrong, ...checkOrphanServices(world)];
}

/** It is silent together with its site: whether it is lost is unknown, so its services stay there. */
function isCutOff({ truth }: World, host: string | undefined): boolean {
  const doc = truth.get(HOST, idOf(HOST, host ?? ''))?.doc;
  if (doc?.connection.state !== 'suspect') return false;
  return truth.get(ALARM, alarmId('mass-silence', doc.site)) !== undefined;
}

/** A service without any port has no designated host; unless its host cannot be reached. */
function checkOrphanServices({ truth }: World): string[] {
  return [...truth.all(SERVICE)].flatMap(({ id, doc: { designated, handover, ...of } }) => {
    const host = truth.get(HOST, idOf(HOST, designated?.host ?? ''))?.doc;
    if (host?.connection.state !== 'up' || handover !== undefined || presenceOf(truth, of).size > 0) return [];
    return [`${id} is at ${designated?.host}, and no host has presence for it`];
  });
}

/**
 * Of the reachable hosts, only the designated one serves a service. What an agent from before services leaves on its switch does not count.
 */
function checkOneDesignated({ machines, truth }: World): string[] {
  return [...truth.all(SERVICE)].flatMap(({ id, doc }) => {
    const doing = machines.filter((machine) => {
      const host = truth.get(HOST, idOf(HOST, machine.name))?.doc;
      if (machine.incarnation === undefined || host?.connection.state !== 'up') return false;
      if (host.serviceVersion < DESIGNATIONS_VERSION) return false;
      const services = readDataplaneView(machine.name, machine.view?.parts ?? {})?.services ?? [];
      return services.some((one) => one.id === id && one.role === 'designated');
    });
    const wrong = doing.filter(({ name }) => name !== doc.designated?.host);
    return wrong.map(({ name }) => `${name} does ${id}, which is ${doc.designated?.host ?? 'nobody'}'s`);
  });
}

function hostAtRest({ truth }: World, id: string, { state }: Host): string[] {
  if (state === 'drained') return occupantsOf(truth, id).map((tenant) => `host ${id} is drained and has ${tenant}`);
  // After a removal by force, no work for that host is left either.
  return state === 'removed' ? leftoversOn(truth, id).map(({ what }) => `host ${id} is removed and has ${what}`) : [];
}

/** For reachable hosts, and for removed ones that get the answer. The switches of the others are unknown. */
function switchAtRest(world: World, machine: HostMachine): string[] {
  const { truth } = world;
  const host = truth.get(HOST, idOf(HOST, machine.name))?.doc;
  if (machine.incarnation === undefined || host === undefined) return [];
  if (host.state === 'removed') return wipedAtRest(machine);
  if (host.connection.state !== 'up' || host.credential === undefined) return [];
  const removed = [...truth.all(HOST)].filter(({ doc }) => doc.state === 'removed');
  const isTooOld = host.serviceVersion < DESIGNATIONS_VERSION;
  const ofRemoved = removed
    .filter(({ id }) => truth.get(PENDING_CLEAN_UP, pendingId(machine.name, id)) === undefined)
    // It is back from a removal, and its switch was not checked since.
    .filter(() => truth.get(PENDING_CLEAN_UP, pendingId(machine.name, machine.name)) === undefined)
    .flatMap(({ id }) =>
      tracesOn(machine, id).map((what) => `the switch of ${machine.name} has ${what} of removed ${id}`),
    );
  // An agent of the version before services leaves its switch as it was: what it has of removed hosts is recorded.
  if (isTooOld) return ofRemoved;
  const wanted = desiredContents(world, machine.name);
  if (wanted === undefined) return [`${machine.name} is shown nothing of the data plane`];
  const { changes } = diff(wanted, machine.switch.contents);
  return [
    ...changes.slice(0, 1).map((change) => `the switch of ${machine.name} lacks ${JSON.stringify(change)}`),
    ...leftoverConnections(world, machine).map(
      (id) => `the switch of ${machine.name} has connections of ${id}, which it does not do`,
    ),
    ...ofRemoved,
  ];
}

/** A removed host gets that answer whenever it reports, and clears its switch. */
function wipedAtRest({ name, switch: { contents } }: HostMachine): string[] {
  const { changes } = diff(EMPTY_COMPILE_RESULT.contents, contents);
  return changes.slice(0, 1).map((change) => `the switch of removed ${name} still needs ${JSON.stringify(change)}`);
}

function pendingAtRest(
  { truth, machines }: World,
  { peer, host }: { readonly peer: string; readonly host: string },
): string[] {
  const doc = truth.get(HOST, idOf(HOST, peer))?.doc;
  const machine = machines.find(({ name }) => name === peer);
  const isNewEnough = (doc?.serviceVersion ?? 0) >= DESIGNATIONS_VERSION;
  const isInformed = isConnected({ host: doc, machine }) && isNewEnough && !isOutOfControl(doc ?? {});
  return isInformed ? [`${peer} is connected, and is still to be cleaned of ${host}`] : [];
}

/** The same hosts or services, named in reverse order, give the same result. */
function checkOrderIndependence({ truth }: World, nowMs: number): string[] {
  const services = [...truth.all(SERVICE)].map(({ id }) => id);
  const how = {
    hasBfdUp: () => false,
    isBfdDownByMajority: () => false,
    maybePartitioned: () => false,
    operation: idOf(OPERATION, 'op-order'),
    by: 'order',
    nowMs,
    deadlineMs: 1000,
  };
  const looks = [services, services.toReversed()].map((list) => reconcileServices(truth, { ...how, services: list }));
  const hosts = [...truth.all(HOST)].filter(({ doc }) => doc.state === 'active').map(({ id }): string => id);
  const start = { drain: true, operation: idOf(OPERATION, 'op-order'), by: 'order', nowMs, deadlineMs: 1000 };
  const starts =
    hosts.length === 0
      ? []
      : [hosts, [...hosts.toReversed(), ...hosts]].map((list) =>
          changed(startScaleIn(truth, EVACUATORS, { ...start, hosts: list })),
        );
  return [
    ...(isDeepStrictEqual(looks[0], looks[1])
      ? []
      : ['what becomes of services depends on the order in which they are named']),
    ...(isDeepStrictEqual(starts[0], starts[1]) ? [] : ['a start depends on the order in which hosts are named']),
  ];
}

function changed(decision: ReturnType<typeof startScaleIn>): unknown {
  if (decision.kind === 'refuse') return decision.refusal.code;
  return decision.changes
    .filter(({ kind }) => kind === HOST.name)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
