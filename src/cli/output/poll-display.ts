// Polls until something has ended, and shows its progress: redrawn in place on a terminal, one line per change in a pipe. It only
// reads: interrupting it does not stop the operation.
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiRefusal } from '../client/problem.ts';
import { EXIT, CommandFailure, type ExitCode } from '../exit-code.ts';
import { controlSequence } from './escape.ts';
import type { Session } from '../session.ts';

/** The first polls follow quickly, for work that ends at once; later ones spare the server. */
const POLL_MIN_MS = 150;
const POLL_MAX_MS = 2000;

/** What was accepted continues: a restart or a takeover takes some seconds. */
const UNREACHABLE_MAX_MS = 30_000;

export interface PollDisplay<T> {
  readonly poll: () => Promise<T>;
  readonly isDone: (seen: T) => boolean;
  /** All of it, for a terminal. */
  readonly render: (seen: T) => readonly string[];
  /** What changed since the last output. */
  readonly changedLines: (seen: T) => readonly string[];
  /** That it continues without this program, and how to follow it again. */
  readonly continues: string;
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
export async function pollUntilDone<T>(session: Session, followed: PollDisplay<T>, patience: WaitSignals): Promise<T> {
  const { ended } = patience;
  const screen = new ProgressScreen(session);
  const poll = (): Promise<T> => pollPatiently(session, followed, patience);
  let seen = await poll();
  for (let waitMs = POLL_MIN_MS; ; waitMs = Math.min(POLL_MAX_MS, waitMs * 1.3)) {
    screen.show(followed, seen);
    if (followed.isDone(seen) || ended.aborted) break;
    await sleep(waitMs, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) break;
    seen = await poll();
  }
  screen.end();
  return seen;
}

/** A server that does not answer for a while is tried again: it is restarted, or another one takes over. */
async function pollPatiently<T>(
  session: Session,
  { poll, continues }: PollDisplay<T>,
  patience: WaitSignals,
): Promise<T> {
  const { ended } = patience;
  let sinceMs: number | undefined;
  for (let waitMs = POLL_MIN_MS; ; waitMs = Math.min(POLL_MAX_MS, waitMs * 1.3)) {
    try {
      return await poll();
    } catch (error) {
      if (!isAway(error)) throw error;
      if (sinceMs === undefined) {
        sinceMs = session.nowMs();
        session.note(`The server does not answer. Asking again for ${UNREACHABLE_MAX_MS / 1000} s.`);
      }
      if (ended.aborted || session.nowMs() - sinceMs >= UNREACHABLE_MAX_MS) {
        throw new CommandFailure(exitOf(patience), `${error.message}\n${continues}`, { cause: error });
      }
      await sleep(waitMs, undefined, { signal: ended }).catch(() => undefined);
    }
  }
}

function exitOf({ interrupted, ended }: WaitSignals): ExitCode {
  if (interrupted.aborted) return EXIT.interrupted;
  return ended.aborted ? EXIT.timeout : EXIT.unreachable;
}

function isAway(error: unknown): error is CommandFailure {
  if (error instanceof ApiRefusal) return error.status === 503;
  return error instanceof CommandFailure && error.exitCode === EXIT.unreachable;
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
