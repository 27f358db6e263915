// Situations that need several things at once: a drain that meets a back end which refuses, or a faulty service that is handed to the same
// host as a healthy one. Each is set up by operators' commands, with whatever exists at the moment.
import { SERVICE, type StoredService } from '../../src/election/index.ts';
import { ElectionContext } from '../../src/election/candidates.ts';
import { moveService } from '../../src/election/move.ts';
import { idOf } from '../../src/fleet/index.ts';
import { evacuatorsOf, HOST, recoverHosts, startScaleIn, type Host } from '../../src/hosts/index.ts';
import { deleteInstances, INSTANCE, type Instance } from '../../src/instances/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { capabilitiesOf, PORTS_BY_INSTANCE } from '../../src/network/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { plain, type Decide } from '../workloads/commands.ts';
import { createConnected } from '../workloads/steady-hosts.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function hostsIn({ truth }: World, state: Host['state']): string[] {
  return [...truth.all(HOST)].flatMap(({ id, doc }) => (doc.state === state ? [id] : []));
}

/** Hosts that run something whose ports are bound by a back end outside the journal. */
function hostsWithExternalPorts({ truth }: World): string[] {
  const hosts = [...truth.all(INSTANCE)].flatMap(({ id, doc }) => {
    const ports = [...truth.find(PORTS_BY_INSTANCE, id)];
    const isOutside = ports.some((port) => !capabilitiesOf(truth, port.doc.network).inline);
    return doc.state === 'active' && doc.host !== undefined && isOutside ? [doc.host] : [];
  });
  return [...new Set(hosts)];
}

function submitAs(world: World, what: string, decide: (how: { readonly by: string }) => Decide): void {
  const by = `${what}-${world.requests.length}`;
  void world.newOperator(by).ask(plain(by, decide({ by })));
}

/** What incidents need and other workloads have not created: instances with a port in every network. */
const NAMES = ['w1', 'w2', 'w3', 'w4'];

function populate(world: World): undefined {
  create(world, NAMES, {});
}

/** An instance under the first of these names that is free, if there is one. */
function create(world: World, names: readonly string[], place: Instance['place']): void {
  const { truth } = world;
  const name = names.find((one) => truth.get(INSTANCE, idOf(INSTANCE, one)) === undefined);
  if (name === undefined) return;
  submitAs(world, 'incident-create', ({ by }) => createConnected(world, name, { by, place }));
}

/** Takes a host out of service that has ports to be bound elsewhere. */
function drainRandomHost(world: World): string | undefined {
  const active = hostsIn(world, 'active');
  const from = hostsWithExternalPorts(world).filter((host) => active.includes(host));
  // Not the last ones: some targets must be left.
  if (from.length === 0 || active.length < 3) return populate(world);
  const host = world.rng.pick(from);
  drain(world, host);
  return host;
}

function drain(world: World, host: string): void {
  submitAs(world, 'incident-drain', ({ by }) => (fleet, nowMs) => {
    const how = { operation: idOf(OPERATION, `op-${by}`), by, nowMs, deadlineMs: 4 * 3600_000 };
    return startScaleIn(fleet, evacuatorsOf(PROGRAM), { hosts: [host], drain: true, ...how });
  });
}

/** The back end refuses most target hosts of a move: instances stay connected where they are. */
export const targetRefused: Fault = {
  name: 'target-refused',
  weight: 3,
  strike: (world) => {
    const { rng, network } = world;
    const host = drainRandomHost(world);
    if (host === undefined) return undefined;
    const refused = hostsIn(world, 'active').filter((other) => other !== host && rng.chance(0.7));
    for (const other of refused) {
      const fault = { op: 'bind', host: other, outcome: 'binding-failed', times: rng.between(1, 4) } as const;
      network.backEnd.faults.arm(fault);
    }
    return `${host} is drained, not to ${refused.join(', ')}`;
  },
};

/** The switch-over is refused after the source has migrated, and ports are not plugged: the instance runs there without connectivity. */
export const arrivesUnconnected: Fault = {
  name: 'arrives-unconnected',
  weight: 4,
  strike: (world) => {
    const { rng, network } = world;
    const host = drainRandomHost(world);
    if (host === undefined) return undefined;
    network.backEnd.faults.arm({ op: 'activate', outcome: 'binding-failed', times: rng.between(3, 6) });
    network.backEnd.faults.arm({ op: 'plug', outcome: 'plug-failed', times: rng.between(1, 6) });
    return host;
  },
};

interface Pair {
  readonly sick: StoredService;
  readonly healthy: StoredService;
  readonly to: string;
}

/** Two services that are on other hosts and could both be handed to the same host. */
function pairIn({ truth, rng }: World): Pair | undefined {
  const poll = new ElectionContext(truth);
  const byTarget = new Map<string, StoredService[]>();
  for (const service of truth.all(SERVICE)) {
    if (service.doc.designated === undefined || service.doc.handover !== undefined) continue;
    const { eligible } = poll.candidatesOf(service, [service.doc.designated.host]);
    for (const { host } of eligible.listed) byTarget.set(host, [...(byTarget.get(host) ?? []), service]);
  }
  const several = [...byTarget].filter(([, services]) => services.length > 1);
  if (several.length === 0) return undefined;
  const [to, services] = rng.pick(several);
  const sick = rng.pick(services);
  return { to, sick, healthy: rng.pick(services.filter((one) => one !== sick)) };
}

function moveTo(world: World, id: string, host: string): void {
  submitAs(world, 'incident-move', ({ by }) => (fleet, nowMs) => {
    const how = { operation: idOf(OPERATION, `op-${by}`), by, nowMs, deadlineMs: 600_000 };
    return moveService(fleet, { id, host, ...how });
  });
}

/** Both are handed to a host that cannot prepare one of them: the other must not wait. */
export const sickBesideHealthy: Fault = {
  name: 'sick-beside-healthy',
  weight: 3,
  strike: (world) => {
    const { rng, scheduler } = world;
    const pair = pairIn(world);
    const machine = world.machines.find(({ name }) => name === pair?.to);
    if (pair === undefined || machine === undefined) return populate(world);
    const { to, sick, healthy } = pair;
    machine.unpreparable.add(sick.id);
    for (const { id } of [sick, healthy]) moveTo(world, id, to);
    scheduler.after(rng.between(10_000, 60_000), `${sick.id} can be prepared`, () =>
      machine.unpreparable.delete(sick.id),
    );
    return `${sick.id} and ${healthy.id} to ${to}`;
  },
};

/** Hosts that serve something and run something, with another host to take it. */
function hostsToLeave({ truth }: World): { readonly host: string; readonly sick: StoredService }[] {
  const poll = new ElectionContext(truth);
  const occupied = new Set([...truth.all(INSTANCE)].flatMap(({ doc }) => (doc.state === 'active' ? [doc.host] : [])));
  return [...truth.all(SERVICE)].flatMap((sick) => {
    const host = sick.doc.designated?.host;
    if (host === undefined || sick.doc.handover !== undefined || !occupied.has(host)) return [];
    return poll.candidatesOf(sick, [host]).eligible.count > 0 ? [{ host, sick }] : [];
  });
}

/** No other host can prepare a service of a host that leaves: its other services and its instances go, and it may come back at any time. */
export const drainBesideSick: Fault = {
  name: 'drain-beside-sick',
  weight: 5,
  strike: (world) => {
    const { rng, scheduler, machines } = world;
    const active = hostsIn(world, 'active');
    const fit = hostsToLeave(world).filter(({ host }) => active.includes(host));
    if (fit.length === 0 || active.length < 3) return populate(world);
    const { host, sick } = rng.pick(fit);
    for (const { unpreparable, name } of machines) if (name !== host) unpreparable.add(sick.id);
    drain(world, host);
    if (rng.chance(0.4))
      scheduler.after(rng.between(5000, 30_000), `${host} is wanted back`, () => recover(world, host));
    scheduler.after(rng.between(60_000, 120_000), `${sick.id} can be prepared`, () => {
      for (const { unpreparable } of machines) unpreparable.delete(sick.id);
    });
    return `${host} with ${sick.id}`;
  },
};

function recover(world: World, host: string): void {
  if (!world.isTroubled) return;
  submitAs(
    world,
    'incident-recover',
    ({ by }) =>
      (fleet, nowMs) =>
        recoverHosts(fleet, { hosts: [host], failBack: false, operation: idOf(OPERATION, `op-${by}`), by, nowMs }),
  );
}

const CUT_NAMES = ['u1', 'u2', 'u3', 'u4', 'u5'];
/** Longer than it takes until an uncontrollable switch must be known, and checked a few times after that. */
const KNOWN_AFTER_MS = 61_000;
const WANTED_EVERY_MS = 5000;
const WANTED_TIMES = 5;

/** An instance is requested on the very host whose switch could not be controlled for a minute. */
export const cutHostWanted: Fault = {
  name: 'cut-host-wanted',
  weight: 3,
  takesLong: true,
  strike: (world) => {
    const { rng, scheduler, machines } = world;
    const fit = machines.filter(
      ({ incarnation, uncontrolledSinceMs }) => incarnation !== undefined && uncontrolledSinceMs === undefined,
    );
    if (fit.length === 0) return undefined;
    const machine = rng.pick(fit);
    machine.loseControl('cut');
    const sinceMs = machine.uncontrolledSinceMs;
    for (let nth = 0; nth < WANTED_TIMES; nth += 1) {
      scheduler.after(KNOWN_AFTER_MS + nth * WANTED_EVERY_MS, `${machine.name} is wanted`, () => {
        if (world.isTroubled && machine.uncontrolledSinceMs === sinceMs) requestInstanceOn(world, machine.name);
      });
    }
    scheduler.after(KNOWN_AFTER_MS + WANTED_TIMES * WANTED_EVERY_MS, `the switch of ${machine.name} obeys`, () => {
      if (machine.uncontrolledSinceMs === sinceMs) machine.regainControl();
    });
    return machine.name;
  },
};

/** Capacity is freed for it: by now the host may be full. */
function requestInstanceOn(world: World, host: string): void {
  const here = [...world.truth.all(INSTANCE)].filter(({ doc }) => doc.host === host && doc.state === 'active');
  if (here.length > 0) {
    const { id } = world.rng.pick(here);
    submitAs(world, 'incident-delete', ({ by }) => (fleet, nowMs) => {
      const how = { operation: idOf(OPERATION, `op-${by}`), by, nowMs, deadlineMs: 400_000 };
      return deleteInstances(fleet, { ids: [id], ...how });
    });
  }
  create(world, CUT_NAMES, { onlyHost: host });
}
