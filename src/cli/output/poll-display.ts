// Polls until something has ended, and shows its progress: redrawn in place on a terminal, one line per change in a pipe. It only
// reads: interrupting it does not stop the operation.
import { setTimeout as sleep } from 'node:timers/promises';
import { controlSequence } from './escape.ts';
import type { Session } from '../session.ts';

/** The first polls follow quickly, for work that ends at once; later ones spare the server. */
const POLL_MIN_MS = 150;
const POLL_MAX_MS = 2000;

export interface PollDisplay<T> {
  readonly poll: () => Promise<T>;
  readonly isDone: (seen: T) => boolean;
  /** All of it, for a terminal. */
  readonly render: (seen: T) => readonly string[];
  /** What changed since the last output. */
  readonly changedLines: (seen: T) => readonly string[];
}

/** When waiting is over, and whether that was Ctrl-C. */
export interface WaitSignals {
  readonly interrupted: AbortSignal;
  readonly ended: AbortSignal;
}

export function waitSignals({ terminal }: Session, timeoutMs: number | undefined): WaitSignals {
  const interrupted = terminal.interruptSignal();
  const timedOut = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  return { interrupted, ended: timedOut === undefined ? interrupted : AbortSignal.any([interrupted, timedOut]) };
}

/** Answers what was seen last, also when patience ended before it was over. */
export async function pollUntilDone<T>(session: Session, followed: PollDisplay<T>, { ended }: WaitSignals): Promise<T> {
  const screen = new ProgressScreen(session);
  let seen = await followed.poll();
  for (let waitMs = POLL_MIN_MS; ; waitMs = Math.min(POLL_MAX_MS, waitMs * 1.3)) {
    screen.show(followed, seen);
    if (followed.isDone(seen) || ended.aborted) break;
    await sleep(waitMs, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) break;
    seen = await followed.poll();
  }
  screen.end();
  return seen;
}

/** Draws on standard error, so that standard output holds the result alone. */
class ProgressScreen {
  readonly #session: Session;
  #drawn = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  show<T>({ render, changedLines }: PollDisplay<T>, seen: T): void {
    const { terminal } = this.#session;
    if (!terminal.errIsTerminal) {
      for (const line of changedLines(seen)) this.#session.note(line);
      return;
    }
    const lines = render(seen);
    terminal.err(`${this.#upAndClear()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  /** Erases the last progress picture; the result is printed after it. */
  end(): void {
    this.#session.terminal.err(this.#upAndClear());
    this.#drawn = 0;
  }

  #upAndClear(): string {
    return this.#drawn === 0 ? '' : `${controlSequence(`${this.#drawn}A`)}${controlSequence('J')}`;
  }
}
