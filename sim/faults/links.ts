// Messages that are lost, late and doubled between those who ask and the servers.
import type { Link } from '../world/link.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function trouble(name: string, weight: number, turn: (link: Link, world: World) => void): Fault {
  return {
    name,
    weight,
    strike: (world) => {
      const link = world.rng.pick(world.links);
      turn(link, world);
      const forMs = world.rng.between(1000, 20_000);
      world.scheduler.after(forMs, 'a link is mended', () => link.heal());
      return `for ${forMs} ms`;
    },
  };
}

export const linkCut = trouble('link-cut', 2, (link) => {
  link.cut = true;
});

export const linkLoses = trouble('link-loses', 3, (link, { rng }) => {
  link.losePercent = rng.pick([10, 50]);
});

export const linkRepeats = trouble('link-repeats', 3, (link) => {
  link.repeatPercent = 50;
});

export const linkMisroutes = trouble('link-misroutes', 2, (link) => {
  link.misroutePercent = 60;
});

export const linkSlow = trouble('link-slow', 2, (link, { rng }) => {
  link.slowMs = rng.pick([100, 4000]);
});
