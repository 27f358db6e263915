// The knobs of a way that calls take, as faults turn them: it is cut, it is slow, some of what goes over it goes wrong.
import type { Rng } from '../kernel/rng.ts';

export abstract class FaultyPath {
  cut = false;
  /** How much longer every call takes. */
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
