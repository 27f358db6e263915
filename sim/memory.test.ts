// A hunt plays thousands of seeds in one thread: nothing may keep a world once its seed has been played, whatever still waits in it.
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { CORE, INSTANCES, SCALE_IN, type Scenario } from './scenarios.ts';
import { runSeed } from './seed.ts';
import type { World } from './world/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function played(scenario: Scenario): Promise<WeakRef<World>> {
  let ref: WeakRef<World> | undefined;
  await runSeed({
    seed: 1,
    scenario,
    plant: (parts) => ({
      ...parts,
      providers: (born, world) => {
        ref ??= new WeakRef(world);
        return parts.providers(born, world);
      },
    }),
  });
  if (ref === undefined) throw new Error('no server was started');
  return ref;
}

it.each([CORE, INSTANCES, SCALE_IN].map((scenario) => [scenario.name, scenario] as const))(
  'a world of %s is gone once its seed has been played',
  async (_name, scenario) => {
    const world = await played(scenario);
    // What the last step left on the stack and in the queue goes first.
    for (let turns = 0; turns < 10 && world.deref() !== undefined; turns += 1) {
      await sleep(10);
      collectGarbage();
    }
    expect(world.deref()).toBeUndefined();
  },
);
