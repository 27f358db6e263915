// Follows the commits of the lease holder: reads at each notification of the store, and periodically without one. A notification only
// shortens the poll; nothing may depend on it.
import type { Fleet } from '../fleet/index.ts';
import type { Clock } from './ports.ts';
import { StoreUnavailable, type Fence, type Store } from './store.ts';

export interface Follower {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly fence: Fence | undefined;
  catchUp(): Promise<void>;
}

export interface PollOptions {
  readonly clock: Clock;
  readonly pollMs: number;
}

export async function followOthers(follower: Follower, polling: PollOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await waitForHintOrPoll(follower, polling, signal);
    if (signal.aborted) return;
    try {
      await follower.catchUp();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await polling.clock.sleep(polling.pollMs, signal);
    }
  }
}

async function waitForHintOrPoll(
  follower: Follower,
  { clock, pollMs }: PollOptions,
  signal: AbortSignal,
): Promise<void> {
  // The lease holder is notified of its own groups only: it polls, and is not woken by each of them.
  if (follower.fence !== undefined) {
    await clock.sleep(pollMs, signal);
    return;
  }
  const waited = new AbortController();
  const stop = (): void => waited.abort();
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race([
    follower.store.waitForChange(follower.fleet.revision, waited.signal),
    clock.sleep(pollMs, waited.signal),
  ]);
  signal.removeEventListener('abort', stop);
  waited.abort('over'); // without a reason an error is made, with its stack
}
