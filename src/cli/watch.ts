// muster watch: follows the journal. A broken connection is resumed after the last event received.
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from './command.ts';
import { commitLines } from './output/commit-text.ts';
import { EXIT, CommandFailure, type ExitCode } from './exit-code.ts';
import { wholeNumber } from './input/input-file.ts';
import { ApiRefusal, unreachableFailure } from './client/problem.ts';
import { ProgressNote } from './output/progress-note.ts';
import { eventsIn, type ServerSentEvent } from './client/server-sent-events.ts';
import type { Session } from './session.ts';
import type { Commit } from './client/representations.ts';

interface WatchOptions {
  readonly after?: number;
  readonly kind?: string;
  readonly limit?: number;
}

/** Consecutive reconnects. The server may be restarting; after these it counts as unreachable. */
const RECONNECTS_MAX = 10;
const RECONNECT_MS = 1000;

export function watchCommand(cli: Cli): Command {
  const command = new Command('watch')
    .description('Follow every change as it happens, until Ctrl-C')
    .option('--after <revision>', 'also what came after this revision; else from now on', wholeNumber)
    .option('--kind <kinds>', 'only these kinds, with commas, such as host,operation')
    .option('--limit <count>', 'end after so many commits', wholeNumber);
  addExamples(
    command,
    ['hosts only', 'muster watch --kind host'],
    ['from the beginning, a JSON object a line', 'muster watch --after 0 --output json'],
  );
  return withAction<WatchOptions>(cli, command, (session, { options }) => new WatchFollower(session, options).run());
}

export class WatchFollower {
  readonly #session: Session;
  readonly #options: WatchOptions;
  readonly #interrupted: AbortSignal;
  readonly #progress: ProgressNote;
  #lastId: string | undefined;
  #shown = 0;
  /** The newest revision when the stream began: what comes up to it is caught up with. Older servers do not say it. */
  #head = 0;

  constructor(session: Session, options: WatchOptions) {
    this.#session = session;
    this.#options = options;
    this.#progress = new ProgressNote(session);
    this.#interrupted = session.terminal.interruptSignal();
  }

  async run(): Promise<ExitCode> {
    for (let broken = 0; ;) {
      try {
        for await (const event of this.#events()) {
          broken = 0;
          if (await this.#show(event)) return EXIT.ok;
        }
      } catch (error) {
        if (!this.#interrupted.aborted) this.#demandRetryable(error, broken);
      }
      if (this.#interrupted.aborted) return EXIT.interrupted;
      broken += 1;
      await sleep(RECONNECT_MS, undefined, { signal: this.#interrupted }).catch(() => undefined);
    }
  }

  async *#events(): AsyncGenerator<ServerSentEvent, void> {
    const { kind, after } = this.#options;
    const stream = await this.#session.client.stream('/api/v1/watch', {
      query: { kind, after: this.#lastId === undefined ? after : undefined },
      headers: { accept: 'text/event-stream', ...(this.#lastId !== undefined && { 'last-event-id': this.#lastId }) },
      signal: this.#interrupted,
    });
    yield* eventsIn(stream);
  }

  /** A server that says no says it again; one that is away may come back, if it was ever there. */
  #demandRetryable(error: unknown, broken: number): void {
    const refused = error instanceof ApiRefusal && error.status !== 503;
    if (refused || (error instanceof CommandFailure && !(error instanceof ApiRefusal))) throw error;
    if (this.#lastId === undefined || broken >= RECONNECTS_MAX) {
      throw error instanceof ApiRefusal ? error : unreachableFailure(this.#session.client.server, error);
    }
    if (broken === 0) this.#session.note('The connection broke. Trying to resume the watch.');
  }

  /** True when the limit is reached. */
  async #show({ event, data, id }: ServerSentEvent): Promise<boolean> {
    this.#lastId = id ?? this.#lastId;
    if (event === 'gone' || event === 'diverged') throw new CommandFailure(EXIT.refused, LOST_PLACES[event]);
    if (event === 'open') this.#head = headIn(data) ?? this.#head;
    if (event === 'commit') await this.#write(data);
    this.#reportCatchUp();
    return event === 'commit' && this.#shown === this.#options.limit;
  }

  /** What comes as it happens is no progress towards anything. */
  #reportCatchUp(): void {
    const revision = this.#lastId === undefined ? this.#head : revisionIn(this.#lastId);
    if (revision >= this.#head) return;
    this.#progress.report(() => `${this.#shown} commits so far, at revision ${revision} of ${this.#head}`);
  }

  async #write(data: string): Promise<void> {
    const commit = JSON.parse(data) as Commit;
    if (this.#session.output === 'table') {
      const when = new Date(commit.atMs).toLocaleTimeString('en-GB');
      this.#session.terminal.out(`${commitLines(commit, this.#session.paint, when).join('\n')}\n`);
    } else await this.#session.writeEvent(commit);
    this.#shown += 1;
  }
}

/** Why the watch cannot resume from the last commit that was shown. */
const LOST_PLACES = {
  gone: 'The changes after the last one shown are no longer kept. Start again without --after.',
  diverged:
    'The journal is not the one that was watched: it was restored from a backup, or a database that lagged behind took over. What was shown last may not have happened in it. List the resources anew, and start again without --after.',
} as const;

/** An event id is a revision and the id of its commit. */
function revisionIn(eventId: string): number {
  return Number.parseInt(eventId, 10);
}

function headIn(data: string): number | undefined {
  const head = (JSON.parse(data) as { readonly head?: unknown } | null)?.head;
  return typeof head === 'number' ? head : undefined;
}
