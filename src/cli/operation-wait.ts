// Waiting for an operation to end. It only looks: Ctrl-C leaves the operation running and says how to look again.
import { Option, type Command } from 'commander';
import { parsePatience } from './duration.ts';
import { EXIT, Failure, usage, type ExitCode } from './exit-code.ts';
import { follow, patienceOf, type Patience } from './following.ts';
import {
  countsText,
  isFinished,
  PlainProgress,
  progressLines,
  sentenceOf,
  type Item,
  type Operation,
  type Watched,
} from './operation-progress.ts';
import type { Session } from './session.ts';

export interface WaitOptions {
  readonly wait?: boolean;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** Troubled items asked for at each look: as many as anybody reads. */
const TROUBLED_MAX = 50;

export function withWait(command: Command): Command {
  return command
    .option('--wait', 'wait until the operation ends, and show its progress')
    .addOption(timeoutOption())
    .hook('preAction', () => {
      const { wait, timeout } = command.opts<WaitOptions>();
      if (timeout !== undefined && wait !== true) throw usage('--timeout says how long to wait. Say --wait too.');
    });
}

/** Read before anything is asked of the server: what is wrong with it must not be told when the operation is under way. */
export function timeoutOption(): Option {
  return new Option('--timeout <time>', 'how long to wait, such as 30s or 10m; then exit with 5').argParser(
    parsePatience,
  );
}

export interface Started {
  readonly id: string;
  /** A few words for people. */
  readonly what: string;
  /** What the API answered, for programs. */
  readonly answer: object;
}

/** After a command that started an operation. */
export async function startedOperation(session: Session, begun: Started, options: WaitOptions): Promise<ExitCode> {
  if (options.wait === true) return waitFor(session, begun.id, options.timeout);
  await session.done(begun.answer, `${begun.id}: ${begun.what}.`);
  if (session.output === 'table') session.note(`Follow it with: muster operations wait ${begun.id}`);
  return EXIT.ok;
}

/** After a command that started one operation for each thing that was named. */
export async function startedOperations(
  session: Session,
  begun: readonly Started[],
  options: WaitOptions,
): Promise<ExitCode> {
  const [only, ...more] = begun;
  if (only !== undefined && more.length === 0) return startedOperation(session, only, options);
  if (options.wait !== true) {
    await session.said(
      begun.map(({ answer }) => answer),
      begun.map(({ id, what }) => `${id}: ${what}.`),
    );
    return EXIT.ok;
  }
  const patience = patienceOf(session, options.timeout);
  const ended: Watched[] = [];
  for (const { id } of begun) ended.push(await watch(session, id, patience));
  await session.said(
    ended.map(({ operation }) => operation),
    ended.map(endText),
  );
  return ended.find((one) => exitOf(one) !== EXIT.ok) === undefined ? EXIT.ok : EXIT.operationFailed;
}

export async function waitFor(session: Session, id: string, timeout: number | undefined): Promise<ExitCode> {
  return showEnd(session, await watch(session, id, patienceOf(session, timeout)));
}

/** Says how it ended; `more` goes with the operation for programs. */
export async function showEnd(session: Session, watched: Watched, more: object = {}): Promise<ExitCode> {
  const { operation, troubled } = watched;
  await session.done({ ...operation, ...more }, endText(watched));
  if (operation.state !== 'succeeded' && troubled.length > 0 && session.output === 'table') {
    session.note(`See which and why with: muster operations show ${operation.id}`);
  }
  return exitOf(watched);
}

/** Shows an operation until it has ended. */
export function watchOperation(session: Session, id: string, { timeout }: WaitOptions): Promise<Watched> {
  return watch(session, id, patienceOf(session, timeout));
}

function exitOf({ operation }: Watched): ExitCode {
  return operation.state === 'succeeded' ? EXIT.ok : EXIT.operationFailed;
}

function endText({ operation }: Watched): string {
  const why = sentenceOf(operation);
  const summary = `${operation.id} ${operation.state}: ${operation.title}, ${countsText(operation.counts)}.`;
  return why === undefined ? summary : `${summary} ${why}`;
}

async function watch(session: Session, id: string, patience: Patience): Promise<Watched> {
  const plain = new PlainProgress();
  const { paintNotes: paint, terminal } = session;
  const followed = {
    look: () => look(session, id),
    isOver: ({ operation }: Watched) => isFinished(operation),
    picture: (seen: Watched) => progressLines(seen, { paint, nowMs: session.nowMs(), columns: terminal.columns() }),
    news: (seen: Watched) => plain.lines(seen),
  };
  const watched = await follow(session, followed, patience);
  if (isFinished(watched.operation)) return watched;
  const again = `Look at it again with: muster operations wait ${id}`;
  if (patience.interrupted.aborted) throw new Failure(EXIT.interrupted, `The operation ${id} goes on. ${again}`);
  throw new Failure(EXIT.timeout, `The operation ${id} is still ${watched.operation.state} and goes on. ${again}`);
}

async function look({ client }: Session, id: string): Promise<Watched> {
  const path = `/api/v1/operations/${encodeURIComponent(id)}`;
  const operation = await client.get<Operation>(path);
  const { waiting, failed } = operation.counts;
  const of = (state: string, count: number): Promise<Item[]> =>
    count === 0 ? Promise.resolve([]) : client.list<Item>(`${path}/items`, { state }, TROUBLED_MAX);
  const [failedItems, waitingItems] = await Promise.all([of('failed', failed), of('waiting', waiting)]);
  return { operation, troubled: [...failedItems, ...waitingItems] };
}
