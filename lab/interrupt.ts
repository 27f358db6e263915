// Ctrl-C and SIGTERM for the programs of the lab: the first one ends what runs and clears up, the second one does not wait.

export function listenForInterrupt(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // What is left is cleared away by the next lab that starts.
      if (stop.signal.aborted) process.exit(130);
      stop.abort(new Interrupted(signal));
    });
  }
  return stop.signal;
}

export class Interrupted extends Error {
  readonly code = 'interrupted';

  constructor(signal: string) {
    super(`stopped by ${signal}`);
    this.name = 'Interrupted';
  }
}

/** Nothing else keeps a program alive that only waits for a signal. */
const ALIVE_MS = 60_000;

export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const alive = setInterval(() => undefined, ALIVE_MS);
    const over = (): void => {
      clearInterval(alive);
      done();
    };
    if (signal.aborted) over();
    else signal.addEventListener('abort', over, { once: true });
  });
}
