// A control plane whose servers die all the time, and are followed by others.
import type { ScaleInWorld } from './world-fixture.ts';

export type Until = (what: string, isTrue: () => boolean) => Promise<void>;

/**
 * Waits as the world does. Meanwhile the server dies after every so-manieth commit, before anybody acts on it, and another takes
 * its place when its lease has run out.
 */
export function crashEveryNthCommit(world: ScaleInWorld, everyNth: number | undefined): Until {
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
