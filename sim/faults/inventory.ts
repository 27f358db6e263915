// An inventory of bare-metal nodes whose calls are lost, late or doubled: the claims of nodes above all.
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

function inventoryFault(name: string, weight: number, turn: (world: World) => void): Fault {
  return {
    name,
    weight,
    strike: (world) => {
      if (world.inventory === undefined) return undefined;
      turn(world);
      const forMs = world.rng.between(1000, 20_000);
      world.scheduler.after(forMs, 'the way to the inventory is mended', () => world.inventory?.path.heal());
      return `for ${forMs} ms`;
    },
  };
}

function pathOf({ inventory }: World) {
  return inventory?.path ?? {};
}

export const inventoryCut = inventoryFault('inventory-cut', 2, (world) => {
  Object.assign(pathOf(world), { cut: true });
});

/** Claims that are lost or doubled, or arrive after their caller's deadline. */
export const inventoryFails = inventoryFault('inventory-fails', 6, (world) => {
  Object.assign(pathOf(world), { failPercent: world.rng.pick([20, 50, 80]) });
});

export const inventorySlow = inventoryFault('inventory-slow', 2, (world) => {
  Object.assign(pathOf(world), { slowMs: world.rng.pick([500, 4000]) });
});
