// Messages between callers and servers that are lost, delayed and duplicated.
import type { Link } from '../world/link.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function linkFault(name: string, weight: number, turn: (link: Link, world: World) => void): Fault {
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

export const linkCut = linkFault('link-cut', 2, (link) => {
  link.cut = true;
});

export const linkLoses = linkFault('link-loses', 3, (link, { rng }) => {
  link.losePercent = rng.pick([10, 50]);
});

export const linkRepeats = linkFault('link-repeats', 3, (link) => {
  link.repeatPercent = 50;
});

export const linkMisroutes = linkFault('link-misroutes', 2, (link) => {
  link.misroutePercent = 60;
});

export const linkSlow = linkFault('link-slow', 2, (link, { rng }) => {
  link.slowMs = rng.pick([100, 4000]);
});
