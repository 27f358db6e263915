// Waits for an operation to end. It only reads: after Ctrl-C the operation continues, and a note says how to show it again.
import { Option, type Command } from 'commander';
import { parseTimeout } from '../output/duration.ts';
import { EXIT, CommandFailure, usage, type ExitCode } from '../exit-code.ts';
import { pollUntilDone, waitSignals, type WaitSignals } from '../output/poll-display.ts';
import {
  countsText,
  isFinished,
  PlainProgress,
  progressLines,
  sentenceOf,
  type OperationProgress,
} from './progress.ts';
import type { Session } from '../session.ts';
import type { Item, Operation } from '../client/representations.ts';

export interface WaitOptions {
  readonly wait?: boolean;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** Items that wait or failed, requested at each poll; more would not be read. */
const STUCK_ITEMS_MAX = 50;

export function withWait(command: Command): Command {
  return command
    .option('--wait', 'wait until the operation ends, and show its progress')
    .addOption(timeoutOption())
    .hook('preAction', () => {
      const { wait, timeout } = command.opts<WaitOptions>();
      if (timeout !== undefined && wait !== true) throw usage('--timeout says how long to wait. Say --wait too.');
    });
}

/** Parsed before the request is sent: a mistake must not be reported when the operation has already started. */
export function timeoutOption(): Option {
  return new Option(
    '--timeout <time>',
    'how long to wait, such as 30s or 10m; then exit with 5. Without it: until the end',
  ).argParser(parseTimeout);
}

export interface StartedOperation {
  readonly id: string;
  /** A short description. */
  readonly what: string;
  /** What the API answered, for programs. */
  readonly answer: object;
}

/** After a command that started an operation. */
export async function reportStarted(
  session: Session,
  started: StartedOperation,
  options: WaitOptions,
): Promise<ExitCode> {
  if (options.wait === true) return waitForEnd(session, started.id, options.timeout);
  await session.reportDone(started.answer, `${started.id}: ${started.what}.`);
  if (session.output === 'table') session.note(`Follow it with: muster operations wait ${started.id}`);
  return EXIT.ok;
}

/** After a command that started one operation for each thing that was named. */
export async function reportAllStarted(
  session: Session,
  started: readonly StartedOperation[],
  options: WaitOptions,
): Promise<ExitCode> {
  const [only, ...more] = started;
  if (only !== undefined && more.length === 0) return reportStarted(session, only, options);
  if (options.wait !== true) {
    await session.reportAllDone(
      started.map(({ answer }) => answer),
      started.map(({ id, what }) => `${id}: ${what}.`),
    );
    return EXIT.ok;
  }
  const patience = waitSignals(session, options.timeout);
  const ended: OperationProgress[] = [];
  for (const { id } of started) ended.push(await pollOperation(session, id, patience));
  await session.reportAllDone(
    ended.map(({ operation }) => operation),
    ended.map(endText),
  );
  return ended.find((one) => exitOf(one) !== EXIT.ok) === undefined ? EXIT.ok : EXIT.operationFailed;
}

export async function waitForEnd(session: Session, id: string, timeout: number | undefined): Promise<ExitCode> {
  return showEnd(session, await pollOperation(session, id, waitSignals(session, timeout)));
}

/** Reports how it ended; `more` is added to the operation in JSON and YAML. */
export async function showEnd(session: Session, watched: OperationProgress, more: object = {}): Promise<ExitCode> {
  const { operation, stuckItems } = watched;
  await session.reportDone({ ...operation, ...more }, endText(watched));
  if (operation.state !== 'succeeded' && stuckItems.length > 0 && session.output === 'table') {
    session.note(`See which and why with: muster operations show ${operation.id}`);
  }
  return exitOf(watched);
}

/** Shows an operation until it has ended. */
export function watchOperation(session: Session, id: string, { timeout }: WaitOptions): Promise<OperationProgress> {
  return pollOperation(session, id, waitSignals(session, timeout));
}

function exitOf({ operation }: OperationProgress): ExitCode {
  return operation.state === 'succeeded' ? EXIT.ok : EXIT.operationFailed;
}

function endText({ operation }: OperationProgress): string {
  const why = sentenceOf(operation);
  const summary = `${operation.id} ${operation.state}: ${operation.title}, ${countsText(operation.counts)}.`;
  return why === undefined ? summary : `${summary} ${why}`;
}

async function pollOperation(session: Session, id: string, patience: WaitSignals): Promise<OperationProgress> {
  const plain = new PlainProgress();
  const { paintNotes: paint, terminal } = session;
  const again = `Wait for it again with: muster operations wait ${id}`;
  const followed = {
    continues: `The operation ${id} continues. ${again}`,
    poll: () => fetchProgress(session, id),
    isDone: ({ operation }: OperationProgress) => isFinished(operation),
    render: (seen: OperationProgress) =>
      progressLines(seen, { paint, nowMs: session.nowMs(), columns: terminal.columns() }),
    changedLines: (seen: OperationProgress) => plain.lines(seen),
  };
  const watched = await pollUntilDone(session, followed, patience);
  if (isFinished(watched.operation)) return watched;
  if (patience.interrupted.aborted) throw new CommandFailure(EXIT.interrupted, followed.continues);
  throw new CommandFailure(
    EXIT.timeout,
    `The operation ${id} is still ${watched.operation.state} and continues. ${again}`,
  );
}

async function fetchProgress({ client }: Session, id: string): Promise<OperationProgress> {
  const path = `/api/v1/operations/${encodeURIComponent(id)}`;
  const operation = await client.get<Operation>(path);
  const { waiting, failed } = operation.counts;
  const listItems = (state: string, count: number): Promise<Item[]> =>
    count === 0 ? Promise.resolve([]) : client.list<Item>(`${path}/items`, { state }, STUCK_ITEMS_MAX);
  const [failedItems, waitingItems] = await Promise.all([listItems('failed', failed), listItems('waiting', waiting)]);
  return { operation, stuckItems: [...failedItems, ...waitingItems] };
}
