// How long to wait after a failure: longer each time, and never all callers at once.
import { backoffMs, type Clock } from '../journal/index.ts';

const FIRST_MS = 250;
/** Below the 15 s after which a silent host is suspect: a fleet that finds its server back reports in time. */
const MAX_MS = 10_000;

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
    this.#failures += 1;
    return backoffMs({ firstMs: FIRST_MS, longestMs: this.#maxMs }, this.#failures, this.#ports.random);
  }

  async wait(signal: AbortSignal): Promise<void> {
    await this.#ports.clock.sleep(this.nextDelayMs(), signal);
  }
}
