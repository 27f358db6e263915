// Following what others commit: reading on at each hint of the store's, and now and then without one. A hint only shortens
// the periodic read; nothing may depend on it.
import type { Fleet } from '../fleet/index.ts';
import type { Clock } from './ports.ts';
import { StoreUnavailable, type Fence, type Store } from './store.ts';

export interface Follower {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly fence: Fence | undefined;
  catchUp(): Promise<void>;
}

export interface Pace {
  readonly clock: Clock;
  readonly pollMs: number;
}

export async function followOthers(follower: Follower, pace: Pace, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await hintOrPoll(follower, pace, signal);
    if (signal.aborted) return;
    try {
      await follower.catchUp();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pace.clock.sleep(pace.pollMs, signal);
    }
  }
}

async function hintOrPoll(follower: Follower, { clock, pollMs }: Pace, signal: AbortSignal): Promise<void> {
  // Whoever decides hears of its own groups only: it looks now and then, and is not woken by each of them.
  if (follower.fence !== undefined) {
    await clock.sleep(pollMs, signal);
    return;
  }
  const over = new AbortController();
  const stop = (): void => over.abort();
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race([follower.store.changed(follower.fleet.revision, over.signal), clock.sleep(pollMs, over.signal)]);
  signal.removeEventListener('abort', stop);
  over.abort('over'); // without a reason an error is made, with its stack
}
