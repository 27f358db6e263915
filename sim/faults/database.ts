// The path to the database: cut, slow, failing; and a database that compacts old commits.
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Server } from '../world/server.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function mendLater(world: World, server: Server, mend: () => void): number {
  const forMs = world.rng.between(200, 20_000);
  world.scheduler.after(forMs, `the link of ${server.name} to the database is mended`, mend);
  return forMs;
}

export const storeCut: Fault = {
  name: 'store-cut',
  weight: 4,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    const { storeLink } = server;
    if (storeLink.cut) return undefined;
    storeLink.cut = true;
    // Some cuts end the session at the database too, others only silence it.
    const name = server.incarnation?.program.name;
    if (name !== undefined && world.rng.chance(0.5)) {
      world.scheduler.after(world.rng.below(3000), `the session of ${name} ends`, () => world.disk.endSession(name));
    }
    return `${server.name} for ${mendLater(world, server, () => (storeLink.cut = false))} ms`;
  },
};

export const storeSlow: Fault = {
  name: 'store-slow',
  weight: 3,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    const { storeLink } = server;
    storeLink.slowMs = world.rng.pick([50, 500, 5000]);
    return `${server.name} for ${mendLater(world, server, () => (storeLink.slowMs = 0))} ms`;
  },
};

export const storeFails: Fault = {
  name: 'store-fails',
  weight: 6,
  strike: (world) => {
    const server = world.rng.pick(world.servers);
    const { storeLink } = server;
    storeLink.failPercent = world.rng.pick([10, 30, 80]);
    return `${server.name} for ${mendLater(world, server, () => (storeLink.failPercent = 0))} ms`;
  },
};

/** Ended by the database, an administrator or the network, though both ends are healthy: the holder keeps deciding. */
export const sessionEnds: Fault = {
  name: 'session-ends',
  weight: 4,
  strike: (world) => {
    const server = world.servers.find(({ incarnation }) => incarnation?.journal.fence !== undefined);
    if (server?.incarnation === undefined) return undefined;
    world.disk.endSession(server.incarnation.program.name);
    return server.name;
  },
};

export const compaction: Fault = {
  name: 'compaction',
  weight: 3,
  strike: (world) => {
    const beforeMs = WORLD_BEGINS_MS + world.scheduler.nowMs - world.rng.pick([0, 5000]);
    void world.database.compact(beforeMs, 1000);
    return 'done';
  },
};
