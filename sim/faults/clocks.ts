// Wall clocks that are set forwards and back, while a server runs and while it is off. The passing of time is unchanged.
import type { Server } from '../world/server.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Wrong by months, or correct again. A shorter jump is detected by a running server, but not at the next start if the server was killed
 * before it could record it: that looks like time off.
 */
function drawSkew(world: World, server: Server): number {
  if (server.skewMs !== 0) return 0;
  const byMs = world.rng.pick([31 * DAY_MS + world.rng.below(DAY_MS), 40 * DAY_MS, 400 * DAY_MS]);
  return world.rng.chance(0.5) ? byMs : -byMs;
}

export const clockJumps: Fault = {
  name: 'clock-jumps',
  weight: 3,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    server.setClock(drawSkew(world, server));
    return `${server.name} to ${server.skewMs} ms`;
  },
};

export const clockJumpsWhileOff: Fault = {
  name: 'clock-jumps-while-off',
  weight: 2,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    if (server.incarnation === undefined) return undefined;
    server.crash();
    server.setClock(drawSkew(world, server));
    world.scheduler.after(world.rng.between(50, 10_000), `${server.name} is started`, () => server.start());
    return `${server.name} to ${server.skewMs} ms`;
  },
};
