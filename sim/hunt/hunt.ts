// Plays fresh random seeds of several worlds until the time is up or it is stopped, and reports each failure at once. It decides which seed
// comes next; how a seed is played, and where failures go, are parameters.
import type { Violation } from '../world/world.ts';

export interface SeedTask {
  readonly world: string;
  readonly seed: number;
}

/** A failed seed, with what is needed to investigate it. */
export interface FailedSeed extends SeedTask, Violation {
  readonly replay: string;
}

export interface Player {
  /** The violation that the seed found; undefined when every property holds. Rejects when the player was stopped. */
  play(quarry: SeedTask): Promise<Violation | undefined>;
}

export interface HuntProgress {
  readonly played: number;
  readonly failed: number;
  readonly byWorld: ReadonlyMap<string, number>;
}

export interface HuntOptions {
  readonly worlds: readonly string[];
  /** One for each seed that is played at a time. */
  readonly players: readonly Player[];
  /** A random whole number of 31 bits. */
  readonly draw: () => number;
  readonly signal: AbortSignal;
  readonly onFailure: (failure: FailedSeed) => void;
  readonly onPlayed: (progress: HuntProgress) => void;
}

function replayCommand({ world, seed }: SeedTask): string {
  return `npm run sim -- --world ${world} --seed ${seed} --trace`;
}

export async function hunt(options: HuntOptions): Promise<HuntProgress> {
  const { worlds, players, draw, signal, onFailure, onPlayed } = options;
  const byWorld = new Map(worlds.map((world) => [world, 0]));
  const count = { drawn: 0, played: 0, failed: 0 };
  const progress = (): HuntProgress => ({ played: count.played, failed: count.failed, byWorld: new Map(byWorld) });

  async function playOn(player: Player): Promise<void> {
    while (!signal.aborted) {
      // In turn, so that a short hunt plays every world, too.
      const world = worlds[count.drawn++ % worlds.length] as string;
      const quarry = { world, seed: draw() };
      const violation = await waitUntilAborted(player.play(quarry), signal);
      if (violation === 'aborted') return;
      count.played += 1;
      byWorld.set(world, (byWorld.get(world) ?? 0) + 1);
      if (violation !== undefined) {
        count.failed += 1;
        onFailure({ ...quarry, ...violation, replay: replayCommand(quarry) });
      }
      onPlayed(progress());
    }
  }

  await Promise.all(players.map(playOn));
  return progress();
}

/** A seed that was not played to its end proves nothing: it is dropped when the hunt ends. */
function waitUntilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve('aborted');
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
