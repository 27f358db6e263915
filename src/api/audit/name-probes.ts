// Limits how often a caller that is bound to a site may try names that are taken elsewhere. Each such refusal leaks one bit about
// other sites. A caller over the limit is refused for free names, too: else the limit itself would leak it.
import type { Caller } from '../../access/index.ts';
import { HttpProblem } from '../problem.ts';

/** A person tries a few names; a dictionary has thousands. */
const NAME_PROBES_MAX = 10;
const NAME_PROBES_WINDOW_MS = 10 * 60_000;

/** Beyond this the windows that are over are dropped. There are not that many tokens bound to sites. */
const CALLERS_MAX = 10_000;

interface Window {
  readonly untilMs: number;
  count: number;
}

export class NameProbes {
  readonly #windows = new Map<string, Window>();

  /** Refuses a caller who has found too many. */
  demandBudget({ token }: Caller, nowMs: number): void {
    const window = token === undefined ? undefined : this.#windows.get(token);
    if (window === undefined || window.untilMs <= nowMs || window.count < NAME_PROBES_MAX) return;
    const waitMs = window.untilMs - nowMs;
    const seconds = Math.ceil(waitMs / 1000);
    throw new HttpProblem({
      status: 429,
      code: 'too-many-name-probes',
      detail: `You asked for ${NAME_PROBES_MAX} names or addresses that are not available, as many as one token may in ${NAME_PROBES_WINDOW_MS / 60_000} minutes. Wait ${seconds} s before you create anything else, or ask an operator who sees all sites.`,
      facts: { retryAfterMs: waitMs },
      headers: { 'retry-after': String(seconds) },
    });
  }

  /** One that was taken elsewhere. */
  count({ token }: Caller, nowMs: number): void {
    if (token === undefined) return;
    const window = this.#windows.get(token);
    if (window !== undefined && window.untilMs > nowMs) {
      window.count += 1;
      return;
    }
    if (this.#windows.size >= CALLERS_MAX) this.#sweep(nowMs);
    this.#windows.set(token, { untilMs: nowMs + NAME_PROBES_WINDOW_MS, count: 1 });
  }

  #sweep(nowMs: number): void {
    for (const [token, { untilMs }] of this.#windows) if (untilMs <= nowMs) this.#windows.delete(token);
  }
}
