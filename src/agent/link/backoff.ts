// How long to wait after a failure: longer each time, and never all agents at once.
import type { Clock } from '../../journal/index.ts';

const FIRST_MS = 250;
/** Below the 15 s after which a silent host is suspect: a fleet that finds its server back is heard in time. */
const MAX_MS = 10_000;

function backoffMs(failures: number, random: () => number, longestMs: number): number {
  const longest = Math.min(longestMs, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.ceil(longest * (0.5 + random() / 2));
}

export class Backoff {
  readonly #ports: { readonly clock: Clock; readonly random: () => number };
  readonly #maxMs: number;
  #failures = 0;

  constructor(ports: { readonly clock: Clock; readonly random: () => number }, longestMs = MAX_MS) {
    this.#ports = ports;
    this.#maxMs = longestMs;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** How long this failure is waited for. */
  nextDelayMs(): number {
    const ms = backoffMs(this.#failures, this.#ports.random, this.#maxMs);
    this.#failures += 1;
    return ms;
  }

  async wait(signal: AbortSignal): Promise<void> {
    await this.#ports.clock.sleep(this.nextDelayMs(), signal);
  }
}
