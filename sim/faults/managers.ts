// Managers that die, stop, are paused as by SIGSTOP and wake with what they remember, or are cut off.
import type { SimManager } from '../world/managers/manager.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

/** Those in a process of their own; one inside a server shares its fate. */
export function pickProcess(world: World): SimManager | undefined {
  const running = world.managers.filter(
    ({ embeddedIn, incarnation }) => embeddedIn === undefined && incarnation?.program.paused === false,
  );
  return running.length === 0 ? undefined : world.rng.pick(running);
}

function startLater(world: World, manager: SimManager): void {
  // Some are back before their lease ends.
  const afterMs = world.rng.pick([world.rng.between(50, 5000), world.rng.between(50, 45_000)]);
  world.scheduler.after(afterMs, `${manager.name} is started`, () => manager.start());
}

export const managerDies: Fault = {
  name: 'manager-dies',
  weight: 7,
  strike: (world) => {
    const manager = pickProcess(world);
    if (manager === undefined) return undefined;
    manager.crash();
    startLater(world, manager);
    return manager.name;
  },
};

export const managerStops: Fault = {
  name: 'manager-stops',
  weight: 3,
  strike: (world) => {
    const manager = pickProcess(world);
    if (manager === undefined) return undefined;
    // What is paused or cut off meanwhile takes long to stop.
    void manager.stop().then(() => startLater(world, manager));
    return manager.name;
  },
};

export const managerPauses: Fault = {
  name: 'manager-pauses',
  weight: 8,
  strike: (world) => {
    const manager = pickProcess(world);
    if (manager === undefined) return undefined;
    // The shorter ones leave it the lease, those between end it before it was detected.
    const forMs = world.rng.pick([world.rng.between(1000, 8000), world.rng.between(8000, 40_000)]);
    manager.incarnation?.program.pause(forMs);
    return `${manager.name} for ${forMs} ms`;
  },
};

/** In the middle of a task, for longer than its lease lasts. */
export const managerHaltsAtLook: Fault = {
  name: 'manager-halts-at-a-look',
  weight: 5,
  strike: (world) => {
    const manager = pickProcess(world);
    if (manager === undefined) return undefined;
    manager.haltsAtLookMs = world.rng.between(10_000, 40_000);
    return `${manager.name} for ${manager.haltsAtLookMs} ms`;
  },
};

export const managerCut: Fault = {
  name: 'manager-cut',
  weight: 5,
  strike: (world) => {
    const manager = world.managers.length === 0 ? undefined : world.rng.pick(world.managers);
    if (manager === undefined) return undefined;
    manager.link.cut = true;
    const forMs = world.rng.between(1000, 40_000);
    world.scheduler.after(forMs, `${manager.name} is reached again`, () => {
      manager.link.cut = false;
    });
    return `${manager.name} for ${forMs} ms`;
  },
};

/** Calls that are lost, repeated, late. */
export const managerLinkWorsens: Fault = {
  name: 'manager-link-worsens',
  weight: 5,
  strike: (world) => {
    const manager = world.managers.length === 0 ? undefined : world.rng.pick(world.managers);
    if (manager === undefined) return undefined;
    const { link } = manager;
    link.losePercent = world.rng.pick([0, 10, 40]);
    link.repeatPercent = world.rng.pick([0, 50]);
    link.slowMs = world.rng.pick([0, 500, 4000]);
    link.misroutePercent = world.rng.pick([0, 30]);
    link.latePercent = world.rng.pick([0, 30]);
    world.scheduler.after(world.rng.between(2000, 30_000), `the link of ${manager.name} is mended`, () => link.heal());
    return manager.name;
  },
};

const ENDS_APART_MS = 200;

/**
 * Several end together and do not come back, in a world in which nothing else is wrong: other managers have all of their nodes within the time of rest. What
 * the others were offered last is being acquired when more is offered.
 */
export function retireManagers(world: World): void {
  const { rng, scheduler, managers } = world;
  const processes = managers.filter(({ embeddedIn }) => embeddedIn === undefined);
  const retired = processes.filter(() => rng.chance(0.9)).slice(0, managers.length - 1);
  if (retired.length < 2) return;
  const isClean = rng.chance(0.7);
  for (const manager of retired) {
    scheduler.after(rng.below(ENDS_APART_MS), `${manager.name} ends for good`, () => manager.retire(isClean));
  }
  world.fault(retired.map(({ name }) => name).join(', '), 'managers-retire-together');
}
