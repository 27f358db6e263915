// A wait that ends, one way or the other.
import type { Clock } from '../../../journal/index.ts';

export interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** What it is rejected with when the time is over. */
  readonly failure: () => Error;
}

/** A reason of our own: the one that is made up without it costs more than all else here. */
const DONE = 'done';

export async function withTimeout<T>(promise: Promise<T>, { clock, timeoutMs, failure }: Deadline): Promise<T> {
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  const watch = async (): Promise<void> => {
    await clock.sleep(timeoutMs, over.signal);
    if (!over.signal.aborted) late.reject(failure());
  };
  void watch();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    over.abort(DONE);
  }
}
