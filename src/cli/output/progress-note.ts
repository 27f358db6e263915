// Says now and then, beside a long result, how far it is. On a terminal the result itself shows that.
import type { Session } from '../session.ts';

/** After this wait, progress is shown. */
const PROGRESS_INTERVAL_MS = 2000;

export class ProgressNote {
  readonly #session: Session;
  #nextMs: number;

  constructor(session: Session) {
    this.#session = session;
    this.#nextMs = session.nowMs() + PROGRESS_INTERVAL_MS;
  }

  /** Writes a note when one is due. */
  report(render: () => string): void {
    const nowMs = this.#session.nowMs();
    if (nowMs < this.#nextMs || this.#session.terminal.outIsTerminal) return;
    this.#nextMs = nowMs + PROGRESS_INTERVAL_MS;
    this.#session.note(render());
  }
}
