// Waits for hosts that leave service or come back, and shows the progress of each and why it waits. It only reads: after Ctrl-C the
// operations continue, and a note says how to show them again.
import { EXIT, CommandFailure, type ExitCode } from '../exit-code.ts';
import { pollUntilDone, waitSignals } from '../output/poll-display.ts';
import { countsText, isFinished, sentenceOf } from '../operations/progress.ts';
import type { WaitOptions } from '../operations/wait.ts';
import { SCALE_IN_PATH } from './submit.ts';
import {
  emptyText,
  renderProgress,
  ScaleInChanges,
  straysLines,
  type HostProgress,
  type ScaleInSubcommand,
  type VerbAnswer,
} from './scale-in-text.ts';
import type { Session } from '../session.ts';
import type { Operation } from '../client/representations.ts';

interface ScaleInWait {
  readonly verb: ScaleInSubcommand;
  readonly answer: VerbAnswer;
}

interface PolledProgress {
  readonly operations: readonly Operation[];
  readonly hosts: readonly HostProgress[];
  readonly startedMs: number;
}

export async function waitForHosts(session: Session, waiting: ScaleInWait, options: WaitOptions): Promise<ExitCode> {
  const { answer, verb } = waiting;
  const ids = operationsIn(answer);
  if (ids.length === 0) {
    if (session.output !== 'table') await session.writeValue(answer);
    return EXIT.ok;
  }
  const patience = waitSignals(session, options.timeout);
  const news = new ScaleInChanges();
  const { paintNotes: paint, terminal } = session;
  const names = new Set((answer.hosts ?? []).map(({ host, name }) => name ?? host));
  const startedMs = session.nowMs();
  const again = `Show it with: muster scale-in status. Wait for it with: muster operations wait ${ids.join(' ')}`;
  const continues = `${ids.join(', ')} ${ids.length === 1 ? 'continues' : 'continue'} without this command. ${again}`;
  const seen = await pollUntilDone<PolledProgress>(
    session,
    {
      continues,
      poll: () => fetchProgress(session, { ids, names, startedMs }),
      isDone: ({ operations }) => operations.every(isFinished),
      render: (now) => renderProgress(now, { paint, nowMs: session.nowMs(), columns: terminal.columns() }),
      changedLines: (now) => news.lines(now),
    },
    patience,
  );
  if (seen.operations.every(isFinished)) return reportEnd(session, waiting, seen);
  if (patience.interrupted.aborted) throw new CommandFailure(EXIT.interrupted, continues);
  throw new CommandFailure(EXIT.timeout, `The ${verb} takes longer: ${continues}`);
}

function operationsIn({ operation, hosts = [] }: VerbAnswer): string[] {
  const all = [operation, ...hosts.map((host) => host.operation)];
  return [...new Set(all.filter((id) => id !== undefined))];
}

interface PollQuery {
  readonly ids: readonly string[];
  readonly names: ReadonlySet<string>;
  readonly startedMs: number;
}

async function fetchProgress({ client }: Session, { ids, names, startedMs }: PollQuery): Promise<PolledProgress> {
  const [status, ...operations] = await Promise.all([
    client.get<{ readonly hosts: readonly HostProgress[] }>(SCALE_IN_PATH),
    ...ids.map((id) => client.get<Operation>(`/api/v1/operations/${encodeURIComponent(id)}`)),
  ] as const);
  return { operations, hosts: status.hosts.filter(({ host }) => names.has(host)), startedMs };
}

async function reportEnd(
  session: Session,
  { verb, answer }: ScaleInWait,
  { operations, hosts }: PolledProgress,
): Promise<ExitCode> {
  const failed = operations.filter(({ state }) => state !== 'succeeded');
  if (session.output !== 'table') await session.writeValue({ ...answer, operations });
  else {
    for (const operation of operations) session.terminal.out(`${endText(operation)}\n`);
    for (const { id } of failed) session.note(`See which and why with: muster operations show ${id}`);
    const empty = verb === 'start' && failed.length === 0 ? emptyText(hosts) : undefined;
    if (empty !== undefined) session.note(empty);
    if (verb === 'start') for (const line of straysLines(hosts)) session.note(line);
  }
  return failed.length === 0 ? EXIT.ok : EXIT.operationFailed;
}

function endText(operation: Operation): string {
  const why = sentenceOf(operation);
  const summary = `${operation.id} ${operation.state}: ${operation.title}, ${countsText(operation.counts)}.`;
  return why === undefined ? summary : `${summary} ${why}`;
}
