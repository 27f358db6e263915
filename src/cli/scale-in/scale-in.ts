// muster scale-in: take hosts out of service, see how far it is, remove them, bring them back.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { parseDuration, relativeTime } from '../output/duration.ts';
import { EXIT, usage, type ExitCode } from '../exit-code.ts';
import { withWait, type WaitOptions } from '../operations/wait.ts';
import { fetchStatus, type FullStatus } from './status-query.ts';
import { explainRefusal, SCALE_IN_PATH } from './submit.ts';
import { scaleInPreview } from './preview.ts';
import {
  blockedLines,
  cleanUpLines,
  isRefused,
  leftText,
  resultLines,
  straysLines,
  undrainedLines,
  type HostProgress,
  type ScaleInSubcommand,
  type VerbAnswer,
} from './scale-in-text.ts';
import { waitForHosts } from './wait.ts';
import type { Session } from '../session.ts';
import { renderTable, type TableColumn } from '../output/table.ts';

export function scaleInCommand(cli: Cli): Command {
  return commandGroup(
    'scale-in',
    'Take hosts out of service: preview, start, follow, end, or bring them back',
    scaleInPreview(cli),
    start(cli),
    status(cli),
    end(cli),
    recover(cli),
  );
}

interface ScaleInStartOptions extends WaitOptions {
  readonly drain: boolean;
  readonly plan?: string;
  readonly deadline?: number;
  readonly reason?: string;
}

function start(cli: Cli): Command {
  const command = withWait(
    new Command('start')
      .description('Take hosts out of service: nothing new comes to them, and everything moves off them')
      .argument('<hosts...>', 'names, or any other id of a host; all of them, or none')
      .option('--no-drain', 'leave instances where they are; services move all the same')
      .option('--plan <plan>', 'only if the plan is still the one that a preview showed')
      .option('--deadline <time>', 'for how long moves are begun, such as 2h; 4h if not said', parseDuration)
      .option('--reason <text>', 'why, for the history'),
  );
  addExamples(
    command,
    ['and wait until they are empty', 'muster scale-in start c1 c2 c3 --wait'],
    [
      'exactly what a preview showed',
      'muster scale-in start c1 --plan "$(muster scale-in preview c1 -o json | jq -r .plan)"',
    ],
    ['move instances by other means', 'muster scale-in start c1 --no-drain --reason "rack 4 moves"'],
  );
  return withAction<ScaleInStartOptions>(cli, command, (session, { args, options }) => {
    const { drain, plan, deadline, reason } = options;
    const body = {
      hosts: args,
      ...(!drain && { drain }),
      ...(plan !== undefined && { plan }),
      ...(deadline !== undefined && { deadlineMs: deadline }),
      ...(reason !== undefined && { reason }),
    };
    return submitVerb(session, { verb: 'start', body }, options);
  });
}

interface ScaleInEndOptions extends WaitOptions {
  readonly disconnect?: boolean;
  readonly force?: boolean;
  readonly reason?: string;
}

function end(cli: Cli): Command {
  const command = withWait(
    new Command('end')
      .description('Remove hosts that are proven empty and disconnected; each is assessed on its own')
      .argument('<hosts...>', 'names, or any other id of a host')
      .option('--disconnect', 'order hosts that are still connected to leave first')
      .option('--force', 'remove them whatever lives there; needs --reason')
      .option('--reason <text>', 'why, for the history; kept with a host that is forced'),
  );
  addExamples(
    command,
    ['those that are empty', 'muster scale-in end c1 c3 --disconnect --wait'],
    ['a host that will never come back', 'muster scale-in end c2 --force --reason "burnt"'],
  );
  return withAction<ScaleInEndOptions>(cli, command, (session, { args, options }) => {
    const { disconnect = false, force = false, reason } = options;
    if (force && reason === undefined) throw usage('--force needs --reason: it is kept with the removed host.');
    const body = {
      hosts: args,
      ...(disconnect && { disconnect }),
      ...(force && { force: { reason } }),
      ...(reason !== undefined && { reason }),
    };
    return submitVerb(session, { verb: 'end', body }, options);
  });
}

interface RecoverOptions extends WaitOptions {
  readonly failBack?: boolean;
  readonly reason?: string;
}

function recover(cli: Cli): Command {
  const command = withWait(
    new Command('recover')
      .description('Bring hosts back that were being taken out of service; each is assessed on its own')
      .argument('<hosts...>', 'names, or any other id of a host')
      .option('--fail-back', 'services that left them come back too')
      .option('--reason <text>', 'why, for the history'),
  );
  addExamples(
    command,
    ['one that could not be emptied', 'muster scale-in recover c2 --wait'],
    ['exactly as it was', 'muster scale-in recover c2 --fail-back'],
  );
  return withAction<RecoverOptions>(cli, command, (session, { args, options }) => {
    const { failBack = false, reason } = options;
    const body = { hosts: args, ...(failBack && { failBack }), ...(reason !== undefined && { reason }) };
    return submitVerb(session, { verb: 'recover', body }, options);
  });
}

interface VerbRequest {
  readonly verb: ScaleInSubcommand;
  readonly body: { readonly hosts: readonly string[] };
}

/** Submits the request, reports the result for each host, and with --wait follows the hosts for which an operation was started. */
async function submitVerb(session: Session, { verb, body }: VerbRequest, options: WaitOptions): Promise<ExitCode> {
  const answer = await explainRefusal(() =>
    session.client.write<VerbAnswer>('POST', `${SCALE_IN_PATH}/${verb}`, { body }),
  );
  const { hosts = [], note } = answer;
  const bad = hosts.some(isRefused);
  const lines = [...hosts.flatMap((one) => resultLines(verb, one)), ...(note === undefined ? [] : [note])];
  if (options.wait === true) {
    for (const line of lines) session.note(line);
    const code = await waitForHosts(session, { verb, answer }, options);
    return code === EXIT.ok && bad ? EXIT.refused : code;
  }
  if (session.output === 'table') {
    for (const line of lines) session.terminal.out(`${line}\n`);
    if (answer.operation !== undefined) session.note(`Follow it with: muster operations wait ${answer.operation}`);
  } else await session.writeValue(answer);
  return bad ? EXIT.refused : EXIT.ok;
}

function status(cli: Cli): Command {
  const command = new Command('status')
    .description('Show the hosts that are on their way out of service or back, and why each of them waits')
    .argument('[hosts...]', 'only these; names, or any other id of a host')
    .option('--site <name>', 'only hosts of this site');
  addExamples(
    command,
    ['all of them', 'muster scale-in status'],
    [
      'those that are empty, for a script',
      `muster scale-in status -o json | jq -r '.hosts[] | select(.state=="drained").host'`,
    ],
  );
  return withAction<{ readonly site?: string }>(cli, command, async (session, { args, options: { site } }) => {
    const shown = await fetchStatus(session, args, site);
    if (session.output === 'table') showStatus(session, shown, args.length > 0 ? 'None of them' : 'No host');
    else await session.writeValue(shown);
    return undefined;
  });
}

const COLUMNS = (nowMs: number): readonly TableColumn<HostProgress>[] => [
  { title: 'host', of: ({ host }) => host, colour: 'bold' },
  { title: 'state', of: ({ state }) => state, colour: 'state' },
  { title: 'connection', of: ({ connection }) => connection, colour: 'state' },
  { title: 'left', of: ({ left }) => leftText(left) },
  { title: 'on the way', of: ({ underWay }) => underWay, align: 'right' },
  { title: 'since', of: ({ sinceMs }) => (sinceMs === undefined ? undefined : relativeTime(sinceMs, nowMs)) },
  { title: 'by', of: ({ by }) => by },
  { title: 'note', of: noteOf },
];

function noteOf({ sentence, drain, forced, why }: HostProgress): string {
  return [
    ...(sentence === undefined ? [] : [sentence]),
    ...(forced === undefined ? [] : [`forced: ${forced}`]),
    ...(drain ? [] : ['not drained by Muster']),
    ...(why === undefined ? [] : [`(${why})`]),
  ].join(' ');
}

/** `none` is said when there is none. */
function showStatus(session: Session, shown: FullStatus, none: string): void {
  const { hosts, blocked, blockedCount, pendingCleanUps, pendingCleanUpCount: inAll, count } = shown;
  const { terminal, paint } = session;
  const nowMs = session.nowMs();
  if (hosts.length === 0) session.note(`${none} is on its way out of service or back.`);
  else terminal.out(renderTable(hosts, COLUMNS(nowMs), paint));
  if (count > hosts.length && hosts.length > 0) session.note(`These are ${hosts.length} of ${count}.`);
  for (const line of straysLines(hosts)) terminal.out(`${line}\n`);
  for (const line of blockedLines(blocked, blockedCount)) terminal.out(`${line}\n`);
  for (const line of undrainedLines(hosts)) terminal.out(`${line}\n`);
  for (const line of cleanUpLines({ pending: pendingCleanUps, inAll }, nowMs)) terminal.out(`${line}\n`);
}
