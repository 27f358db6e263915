// Servers that crash, pause and come back.
import type { Program } from '../kernel/program.ts';
import type { Server } from '../world/server.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

/** Half of the time the lease holder: that has the most effect. A paused server is left to wake up. */
function pickServer(world: World): Server | undefined {
  const running = world.servers.filter(({ incarnation }) => incarnation?.program.paused === false);
  const deciding = running.filter((server) => server.incarnation?.journal.fence !== undefined);
  if (deciding.length > 0 && world.rng.chance(0.5)) return world.rng.pick(deciding);
  return running.length === 0 ? undefined : world.rng.pick(running);
}

function startLater(world: World, server: Server): void {
  world.scheduler.after(world.rng.between(50, 15_000), `${server.name} is started`, () => server.start());
}

export const crash: Fault = {
  name: 'crash',
  weight: 5,
  strike: (world) => {
    const server = pickServer(world);
    if (server === undefined) return undefined;
    server.crash();
    startLater(world, server);
    return server.name;
  },
};

export const stop: Fault = {
  name: 'stop',
  weight: 2,
  strike: (world) => {
    const server = pickServer(world);
    if (server === undefined) return undefined;
    void server.restart(world.rng.between(50, 15_000));
    return server.name;
  },
};

function pauseServer(world: World, program: Program, forMs: number, clockSetMs: number): void {
  const { nowMs } = world.scheduler;
  world.heartbeats.recordPause(program.name, { fromMs: nowMs, untilMs: nowMs + forMs, skewBeforeMs: program.skewMs });
  program.pause(forMs);
  program.skewMs += clockSetMs;
}

export const pause: Fault = {
  name: 'pause',
  weight: 5,
  strike: (world) => {
    const server = pickServer(world);
    const program = server?.incarnation?.program;
    if (program === undefined || program.paused) return undefined;
    // The shorter ones leave it the lease.
    const forMs = world.rng.pick([world.rng.between(5000, 9500), world.rng.between(5000, 40_000)]);
    // Its clock may have stopped meanwhile, or been set.
    pauseServer(world, program, forMs, world.rng.chance(0.3) ? world.rng.between(-forMs, 5000) : 0);
    return `${server?.name} for ${forMs} ms`;
  },
};

/** As by SIGSTOP: its clock continues. */
export const halt: Fault = {
  name: 'halt',
  weight: 5,
  strike: (world) => {
    const server = pickServer(world);
    const program = server?.incarnation?.program;
    if (program === undefined || program.paused) return undefined;
    const forMs = world.rng.pick([world.rng.between(1000, 9500), world.rng.between(5000, 40_000)]);
    pauseServer(world, program, forMs, 0);
    return `${server?.name} for ${forMs} ms`;
  },
};

/**
 * The worst kind of holder: its machine was paused, with its clock, and it cannot reach the database to learn that another server holds the
 * lease now. Some agents are sent to it all the same.
 */
export const staleHolder: Fault = {
  name: 'stale-holder',
  weight: 3,
  strike: (world) => {
    const server = world.servers.find(({ incarnation }) => incarnation?.journal.fence !== undefined);
    const program = server?.incarnation?.program;
    if (server === undefined || program === undefined || program.paused || world.servers.length === 1) return undefined;
    // The longer pauses outlast the agents' timeout: by then they use another server.
    const forMs = world.rng.pick([world.rng.between(12_000, 25_000), world.rng.between(31_000, 40_000)]);
    const staleMs = world.rng.between(2000, 9500);
    const misled = world.machines.map(({ link }) => link);
    pauseServer(world, program, forMs, -forMs);
    server.storeLink.cut = true;
    world.scheduler.after(forMs, 'agents are sent astray', () => misled.forEach((link) => (link.misroutePercent = 60)));
    restartSome(world, forMs + 100, staleMs);
    world.scheduler.after(forMs + staleMs, `${server.name} reaches the database again`, () => {
      server.storeLink.cut = false;
      for (const link of misled) link.misroutePercent = 0;
    });
    return `${server.name} for ${forMs} ms`;
  },
};

/** Agents that start in that time request their whole view from whichever server they reach first. */
function restartSome(world: World, fromMs: number, withinMs: number): void {
  for (const machine of world.machines) {
    if (!world.rng.chance(0.3)) continue;
    world.scheduler.after(fromMs + world.rng.below(withinMs), `${machine.name} starts anew`, () => {
      if (machine.incarnation === undefined) return;
      machine.crash();
      machine.start();
    });
  }
}

export const powerCut: Fault = {
  name: 'power-cut',
  weight: 1,
  strike: (world) => {
    world.powerCut();
    for (const server of world.servers) startLater(world, server);
    return 'all';
  },
};
