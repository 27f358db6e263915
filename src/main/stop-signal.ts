// Runs a program until it is stopped: the first Ctrl-C, SIGTERM or hang-up stops it in order, the second one at once. A program that
// reloads its files on SIGHUP declares it, and stops on SIGHUP only when its terminal hangs up.

export interface RunningProgram {
  /** Resolves when it ends by itself; rejects when it cannot continue. */
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

const INTERRUPTED = 130;

/** A closed terminal sends SIGHUP, too: then no terminal is left to stop the program from. */
export function isOnTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
}

/**
 * Registered before anything is started, so that Ctrl-C works from the beginning. `onHangUp` is what SIGHUP does instead of stopping the
 * program.
 */
export function listenForStop(say: (text: string) => void, onHangUp?: () => void): AbortSignal {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) {
      say('Stopped at once.\n');
      process.exit(INTERRUPTED);
    }
    say('Stopping; press Ctrl-C once more to stop at once.\n');
    stop.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', onHangUp ?? onSignal);
  return stop.signal;
}

/** Runs until it is stopped. A clean stop is what was requested: its exit code is 0. */
export async function runUntilStopped(running: RunningProgram, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    await Promise.race([stopped, running.ended]);
  } finally {
    await running.stop();
  }
}
