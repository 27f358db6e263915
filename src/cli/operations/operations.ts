// muster operations: long-running work, what it waits for, and how to cancel or retry it.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { relativeTime, durationText } from '../output/duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { wholeNumber } from '../input/input-file.ts';
import { countsText, isFinished, sentenceOf } from './progress.ts';
import { reportStarted, timeoutOption, waitForEnd, withWait, type WaitOptions } from './wait.ts';
import type { LabelledFacts, Session } from '../session.ts';
import { renderTable, type TableColumn } from '../output/table.ts';
import type { Item, Operation } from '../client/representations.ts';

const OPERATIONS = '/api/v1/operations';
const operationPath = (id: string): string => `${OPERATIONS}/${encodeURIComponent(id)}`;

export function operationsCommand(cli: Cli): Command {
  return commandGroup(
    'operations',
    'Long work: what it does, what it waits for; cancel and retry it',
    listOperations(cli),
    showOperation(cli),
    waitForOperation(cli),
    cancelOperation(cli),
    retryOperation(cli),
  ).alias('ops');
}

function columns(nowMs: number): readonly TableColumn<Operation>[] {
  return [
    { title: 'id', of: (one) => one.id, colour: 'bold' },
    { title: 'what', of: (one) => one.title },
    { title: 'state', of: (one) => (one.stopped === true ? `${one.state} (stopped)` : one.state), colour: 'state' },
    { title: 'items', of: (one) => countsText(one.counts) },
    { title: 'started', of: (one) => relativeTime(one.createdAtMs, nowMs) },
    { title: 'by', of: (one) => one.by },
  ];
}

interface OperationListOptions {
  readonly state?: string;
  readonly kind?: string;
  readonly limit: number;
}

function listOperations(cli: Cli): Command {
  const command = new Command('list')
    .alias('ls')
    .description('List operations, newest first')
    .option('--state <state>', 'only running, cancelling, succeeded, failed or cancelled ones')
    .option('--kind <kind>', 'only of this kind, such as host-join')
    .option('--limit <count>', 'at most so many', wholeNumber, 50);
  addExamples(
    command,
    ['the latest', 'muster operations list'],
    ['what is under way', 'muster operations list --state running'],
  );
  return withAction<OperationListOptions>(cli, command, async (session, { options: { state, kind, limit } }) => {
    const found = await session.client.list<Operation>(OPERATIONS, { state, kind, sort: '-createdAtMs' }, limit);
    await session.writeList(found, columns(session.nowMs()), 'No operations.');
    return undefined;
  });
}

function facts(operation: Operation, nowMs: number): LabelledFacts {
  const { finishedAtMs, createdAtMs } = operation;
  const ended =
    finishedAtMs === undefined
      ? undefined
      : `${relativeTime(finishedAtMs, nowMs)}, after ${durationText(finishedAtMs - createdAtMs)}`;
  return [
    ['Operation', operation.id],
    ['What', `${operation.title} (${operation.kind})`],
    ['State', operation.stopped === true ? `${operation.state}, stopped` : operation.state],
    ['Items', countsText(operation.counts)],
    ['Reason', sentenceOf(operation)],
    ['Started', `${relativeTime(createdAtMs, nowMs)} by ${operation.by}`],
    ['Why', operation.why],
    ['Site', operation.site],
    ['Deadline', isFinished(operation) ? undefined : relativeTime(operation.deadlineAtMs, nowMs)],
    ['Ended', ended],
  ];
}

function itemColumns(nowMs: number): readonly TableColumn<Item>[] {
  return [
    { title: 'target', of: ({ target }) => `${target.kind}/${target.id}`, colour: 'bold' },
    { title: 'state', of: (item) => item.state, colour: 'state' },
    { title: 'step', of: (item) => item.step },
    { title: 'since', of: (item) => relativeTime(item.sinceMs, nowMs) },
    { title: 'reason', of: (item) => sentenceOf(item) },
  ];
}

function showOperation(cli: Cli): Command {
  const command = new Command('show')
    .description('Show an operation and its items, with the reason for each that waits or failed')
    .argument('<id>')
    .option('--state <state>', 'only items in this state: pending, running, waiting, done, failed or cancelled')
    .option('--limit <count>', 'at most so many items', wholeNumber, 1000);
  addExamples(
    command,
    ['one operation', 'muster operations show op-01jd8x2k9v7q3f5w2m1a'],
    ['what failed', 'muster operations show op-01jd8x2k9v7q3f5w2m1a --state failed'],
  );
  return withAction<OperationListOptions>(
    cli,
    command,
    async (session, { args: [id = ''], options: { state, limit } }) => {
      const operation = await session.client.get<Operation>(operationPath(id));
      const items = await session.client.list<Item>(`${operationPath(id)}/items`, { state }, limit);
      await session.writeOne({ ...operation, items }, facts(operation, session.nowMs()));
      if (session.output === 'table' && items.length > 0) {
        session.terminal.out(`\n${renderTable(items, itemColumns(session.nowMs()), session.paint)}`);
      }
      return undefined;
    },
  );
}

function waitForOperation(cli: Cli): Command {
  const command = new Command('wait')
    .description('Wait until an operation ends, and show its progress')
    .argument('<id>')
    .addOption(timeoutOption());
  addExamples(command, ['at most ten minutes', 'muster operations wait op-01jd8x2k9v7q3f5w2m1a --timeout 10m']);
  return withAction<WaitOptions>(cli, command, (session, { args: [id = ''], options }) =>
    waitForEnd(session, id, options.timeout),
  );
}

interface CommandOptions extends WaitOptions {
  readonly reason?: string;
}

function cancelOperation(cli: Cli): Command {
  const command = withWait(
    new Command('cancel')
      .description('Cancel an operation: what is not done yet is left or undone')
      .argument('<id>')
      .option('--reason <text>', 'why, for the history'),
  );
  addExamples(command, ['and wait for its end', 'muster operations cancel op-01jd8x2k9v7q3f5w2m1a --wait']);
  return withAction<CommandOptions>(cli, command, async (session, { args: [id = ''], options }) => {
    const code = await requestVerb(session, { id, verb: 'cancel' }, options);
    // After a cancel, a cancelled operation is a success.
    return code === EXIT.operationFailed ? EXIT.ok : code;
  });
}

function retryOperation(cli: Cli): Command {
  const command = withWait(
    new Command('retry')
      .description('Try the failed items of an operation again')
      .argument('<id>')
      .option('--reason <text>', 'why, for the history'),
  );
  addExamples(command, ['once more', 'muster operations retry op-01jd8x2k9v7q3f5w2m1a --wait']);
  return withAction<CommandOptions>(cli, command, (session, { args: [id = ''], options }) =>
    requestVerb(session, { id, verb: 'retry' }, options),
  );
}

async function requestVerb(
  session: Session,
  { id, verb }: { readonly id: string; readonly verb: 'cancel' | 'retry' },
  options: CommandOptions,
): Promise<ExitCode> {
  const body = options.reason === undefined ? {} : { reason: options.reason };
  const answer = await session.client.write<Operation>('POST', `${operationPath(id)}/${verb}`, { body });
  return reportStarted(session, { id, what: `${answer.title}, ${answer.state}`, answer }, options);
}
