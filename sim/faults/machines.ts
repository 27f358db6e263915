// Machines whose agent dies, whose link is cut, whose disk is full; and whole sites that fall silent.
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function running(world: World): HostMachine[] {
  return world.machines.filter((machine) => machine.incarnation !== undefined);
}

function cutLinks(world: World, machines: readonly HostMachine[], forMs: number): void {
  for (const { link } of machines) link.cut = true;
  world.scheduler.after(forMs, 'machines are connected again', () => {
    for (const { link } of machines) link.cut = false;
  });
}

export const agentCrash: Fault = {
  name: 'agent-crash',
  weight: 4,
  strike: (world) => {
    const machines = running(world);
    if (machines.length === 0) return undefined;
    const machine = world.rng.pick(machines);
    machine.crash();
    const afterMs = world.rng.between(10, 60_000);
    world.scheduler.after(afterMs, `${machine.name} is started`, () => machine.start());
    return machine.name;
  },
};

export const machineSilent: Fault = {
  name: 'machine-silent',
  weight: 4,
  strike: (world) => {
    const machines = running(world);
    if (machines.length === 0) return undefined;
    const machine = world.rng.pick(machines);
    cutLinks(world, [machine], world.rng.between(1000, 90_000));
    return machine.name;
  },
};

export const siteSilent: Fault = {
  name: 'site-silent',
  weight: 2,
  strike: (world) => {
    const machines = running(world);
    if (machines.length === 0) return undefined;
    const { site } = world.rng.pick(machines);
    cutLinks(
      world,
      machines.filter((machine) => machine.site === site),
      world.rng.between(5000, 60_000),
    );
    return site;
  },
};

export const diskFull: Fault = {
  name: 'disk-fills',
  weight: 1,
  strike: (world) => {
    const machines = running(world);
    if (machines.length === 0) return undefined;
    const machine = world.rng.pick(machines);
    machine.diskFull = true;
    world.scheduler.after(world.rng.between(100, 20_000), `${machine.name} has room again`, () => {
      machine.diskFull = false;
    });
    return machine.name;
  },
};
