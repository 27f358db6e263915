// Switches that do not answer, lose their contents, or confirm changes that they lost; and agents that are replaced by the version before
// services.
import { SERVICE } from '../../src/election/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { DESIGNATIONS_VERSION, HOST, isTombstoned } from '../../src/hosts/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

/** Its agent detects it within half a minute: all is well again before the world is assessed. */
const FORGETS_WITHIN_MS = 60_000;

function pickMachine({ machines, rng }: World): HostMachine | undefined {
  return machines.length === 0 ? undefined : rng.pick(machines);
}

export const switchDown: Fault = {
  name: 'switch-down',
  weight: 4,
  strike: (world) => {
    const machine = pickMachine(world);
    if (machine === undefined) return undefined;
    const { faults } = machine.switch;
    faults.down = true;
    world.scheduler.after(
      world.rng.between(500, 40_000),
      `the switch of ${machine.name} answers`,
      () => (faults.down = false),
    );
    return machine.name;
  },
};

/** For long enough to be reported. Its agent lives on and sends heartbeats; when its daemon has stopped, nothing is forwarded either. */
export const switchOutOfControl: Fault = {
  name: 'switch-out-of-control',
  weight: 5,
  strike: (world) => {
    const machine = pickMachine(world);
    if (machine?.incarnation === undefined || machine.uncontrolledSinceMs !== undefined) return undefined;
    const how = world.rng.chance(0.3) ? 'dead' : 'cut';
    machine.loseControl(how);
    world.scheduler.after(world.rng.between(20_000, 200_000), `the switch of ${machine.name} obeys`, () =>
      machine.regainControl(),
    );
    return `${machine.name} ${how}`;
  },
};

/** Plugs a stray interface into the bridge of a host, and removes it again; mostly on a leaving host. */
export const strays: Fault = {
  name: 'strays',
  weight: 4,
  strike: (world) => {
    const leaving = world.machines.filter(({ name }) => isLeaving(world, name));
    const machine = leaving.length > 0 && world.rng.chance(0.7) ? world.rng.pick(leaving) : pickMachine(world);
    if (machine === undefined) return undefined;
    const name = `tap-${world.rng.below(100)}`;
    machine.switch.foreignInterfaces.add(name);
    world.scheduler.after(world.rng.between(1000, 90_000), `${name} is taken off ${machine.name}`, () =>
      machine.switch.foreignInterfaces.delete(name),
    );
    return `${machine.name} ${name}`;
  },
};

function isLeaving({ truth }: World, host: string): boolean {
  const doc = truth.get(HOST, idOf(HOST, host))?.doc;
  return doc !== undefined && isTombstoned(doc);
}

/** It is recreated without notice to its agent. That may come when everything else is at rest and no view changes any more. */
export const switchForgets: Fault = {
  name: 'switch-forgets',
  weight: 3,
  strike: (world) => {
    const machine = pickMachine(world);
    if (machine === undefined) return undefined;
    world.scheduler.after(world.rng.between(1, FORGETS_WITHIN_MS), `the switch of ${machine.name} forgets`, () =>
      machine.switch.reset(),
    );
    return machine.name;
  },
};

export const switchLosesFlows: Fault = {
  name: 'switch-loses-flows',
  weight: 2,
  strike: (world) => {
    const machine = pickMachine(world);
    if (machine === undefined) return undefined;
    machine.switch.faults.losesFlows = world.rng.between(1, 4);
    return machine.name;
  },
};

/**
 * The external next hop of a service does not answer, at one host or at all but its own, or a prerequisite is missing: no other service of
 * those hosts is affected. A service whose host serves several is chosen more often: they are handed over together.
 */
export const serviceUnpreparable: Fault = {
  name: 'service-unpreparable',
  weight: 4,
  strike: (world) => {
    const { rng, scheduler, machines } = world;
    const machine = pickMachine(world);
    const services = [...world.truth.all(SERVICE)];
    if (machine === undefined || services.length === 0) return undefined;
    const perHost = Map.groupBy(services, ({ doc }) => doc.designated?.host);
    const together = services.filter(({ doc }) => (perHost.get(doc.designated?.host)?.length ?? 0) > 1);
    const { id, doc } = rng.pick(together.length === 0 ? services : together);
    const sick = rng.chance(0.5) ? [machine] : machines.filter(({ name }) => name !== doc.designated?.host);
    for (const { unpreparable } of sick) unpreparable.add(id);
    scheduler.after(rng.between(1000, 90_000), `${id} can be prepared`, () => {
      for (const { unpreparable } of sick) unpreparable.delete(id);
    });
    return `${id} at ${sick.map(({ name }) => name).join(', ')}`;
  },
};

/** From the version before services to the newest, or back: what the newer one put on the switch stays there. */
export const agentVersionChanged: Fault = {
  name: 'agent-version-changed',
  weight: 4,
  strike: (world) => {
    const machine = pickMachine(world);
    if (machine === undefined) return undefined;
    const isOld = machine.serviceVersion !== undefined;
    machine.replaceAgent(isOld ? undefined : DESIGNATIONS_VERSION - 1);
    return `${machine.name} ${isOld ? 'upgraded' : 'downgraded'}`;
  },
};
