// Instances that are requested, built, moved, shelved and deleted, on hosts that fail and a network that does not answer. In the end
// everything is deleted, and nothing may be left.
import type { World } from '../world/world.ts';
import { InstanceActions } from './instance-actions.ts';
import { InstanceSetup } from './instance-setup.ts';
import { checkInstancesAtRest } from './instances-at-rest.ts';
import { deleteEverything, leftoverInstances } from './instance-cleanup.ts';
import type { Workload } from './workload.ts';

const USERS_MAX = 4;

async function run(world: World, ground: InstanceSetup, ready: Promise<void>): Promise<void> {
  await ready;
  const acts = new InstanceActions(world, ground);
  const users = Array.from({ length: world.rng.between(2, USERS_MAX) }, (_, at) => `user${at + 1}`);
  await Promise.all(users.map((name) => use(world, acts, name)));
}

async function use(world: World, acts: InstanceActions, name: string): Promise<void> {
  const operator = world.newOperator(name);
  for (let count = 1; world.isTroubled; count += 1) {
    const command = acts.next(`${name}-${count}`);
    if (command !== undefined) await operator.ask(command);
    await operator.pause(world.rng.between(50, 1500));
  }
}

export const instances: Workload = {
  name: 'instances',
  start: (world) => {
    const ground = new InstanceSetup(world);
    const ready = ground.create();
    return {
      ready,
      done: run(world, ground, ready),
      atRest: () => checkInstancesAtRest(world),
      undo: () => deleteEverything(world),
      atEnd: () => leftoverInstances(world),
    };
  },
};
