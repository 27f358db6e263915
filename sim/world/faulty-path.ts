// The parameters of a path that calls take, as faults set them: cut, slow, or partly failing.
import type { Rng } from '../kernel/rng.ts';

export abstract class FaultyPath {
  cut = false;
  /** The extra latency of every call. */
  slowMs = 0;
  /** How many of a hundred calls go wrong. */
  failPercent = 0;

  heal(): void {
    this.cut = false;
    this.slowMs = 0;
    this.failPercent = 0;
  }

  protected succeeds(rng: Rng): boolean {
    return this.failPercent === 0 || !rng.chance(this.failPercent / 100);
  }

  protected delay(rng: Rng): number {
    return this.slowMs === 0 ? 0 : rng.below(this.slowMs);
  }
}
