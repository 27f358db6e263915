// Looking at something again and again until it is over, and showing how it stands: a picture drawn over itself on a terminal,
// a line for every piece of news in a pipe. It only looks: whoever stops looking stops nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { controlSequence } from './escape.ts';
import type { Session } from './session.ts';

/** The first looks come quickly, for what is done at once; later ones do not burden the server. */
const LOOK_MIN_MS = 150;
const LOOK_MAX_MS = 2000;

export interface Followed<T> {
  readonly look: () => Promise<T>;
  readonly isOver: (seen: T) => boolean;
  /** All of it, for a terminal. */
  readonly picture: (seen: T) => readonly string[];
  /** What is different from what was told before. */
  readonly news: (seen: T) => readonly string[];
}

/** When waiting is over, and whether that was Ctrl-C. */
export interface Patience {
  readonly interrupted: AbortSignal;
  readonly over: AbortSignal;
}

export function patienceOf({ terminal }: Session, timeoutMs: number | undefined): Patience {
  const interrupted = terminal.interrupted();
  const timedOut = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  return { interrupted, over: timedOut === undefined ? interrupted : AbortSignal.any([interrupted, timedOut]) };
}

/** Answers what was seen last, also when patience ended before it was over. */
export async function follow<T>(session: Session, followed: Followed<T>, { over }: Patience): Promise<T> {
  const screen = new Screen(session);
  let seen = await followed.look();
  for (let waitMs = LOOK_MIN_MS; ; waitMs = Math.min(LOOK_MAX_MS, waitMs * 1.3)) {
    screen.show(followed, seen);
    if (followed.isOver(seen) || over.aborted) break;
    await sleep(waitMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) break;
    seen = await followed.look();
  }
  screen.end();
  return seen;
}

/** Draws on standard error, so that standard output holds the result alone. */
class Screen {
  readonly #session: Session;
  #drawn = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  show<T>({ picture, news }: Followed<T>, seen: T): void {
    const { terminal } = this.#session;
    if (!terminal.errIsTerminal) {
      for (const line of news(seen)) this.#session.note(line);
      return;
    }
    const lines = picture(seen);
    terminal.err(`${this.#upAndClear()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  /** The last picture goes: what follows says how it ended. */
  end(): void {
    this.#session.terminal.err(this.#upAndClear());
    this.#drawn = 0;
  }

  #upAndClear(): string {
    return this.#drawn === 0 ? '' : `${controlSequence(`${this.#drawn}A`)}${controlSequence('J')}`;
  }
}
