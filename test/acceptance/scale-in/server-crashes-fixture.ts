// A control plane whose servers die repeatedly, each followed by another.
import type { ScaleInAcceptanceWorld } from './world-fixture.ts';

export type Until = (what: string, isTrue: () => boolean) => Promise<void>;

/**
 * Waits as the world does. Meanwhile the server dies after every nth commit, before anything reacts to it, and another becomes leader when its
 * lease has expired.
 */
export function crashEveryNthCommit(world: ScaleInAcceptanceWorld, everyNth: number | undefined): Until {
  let waiting = false;
  let commits = 0;
  if (everyNth !== undefined)
    world.onCommit(() => {
      if (!waiting) return;
      commits += 1;
      if (commits % everyNth === 0) world.server.die();
    });
  return async (what, isTrue) => {
    const isOver = (): boolean => world.server.isDeciding && isTrue();
    waiting = true;
    await world.until(what, () => !world.server.isAlive || isOver());
    while (!world.server.isAlive) {
      waiting = false;
      await world.restart();
      waiting = true;
      await world.until(what, () => !world.server.isAlive || isOver());
    }
    waiting = false;
  };
}
