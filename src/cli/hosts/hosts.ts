// muster hosts: the hosts of the fleet, bringing them into service, and maintenance.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { certificateText, hostFacts, hostPath, HOSTS_PATH, quarantineReason, straysText } from './host-text.ts';
import { hostEdit } from './edit.ts';
import { hostJoin, hostJoinToken } from './join.ts';
import { hostSegments } from './segments.ts';
import { hostTenants } from './tenants.ts';
import { wholeNumber } from '../input/input-file.ts';
import { showPages } from '../output/list-output.ts';
import { sentenceOf } from '../operations/progress.ts';
import { ApiRefusal } from '../client/problem.ts';
import { forEachName, isFiltered, noneMatch } from '../resource-commands.ts';
import type { LabelledFacts, Session } from '../session.ts';
import { gib } from '../output/size.ts';
import type { TableColumn } from '../output/table.ts';
import type { AgentCertificate, Host, Item } from '../client/representations.ts';

export function hostsCommand(cli: Cli): Command {
  return commandGroup(
    'hosts',
    'Show hosts, bring them into service, put them into maintenance',
    listHosts(cli),
    showHost(cli),
    hostTenants(cli),
    hostSegments(cli),
    hostJoin(cli),
    hostJoinToken(cli),
    hostEdit(cli),
    disable(cli),
    enable(cli),
    forceDown(cli),
    clearForceDown(cli),
    reAdmit(cli),
  );
}

const COLUMNS: readonly TableColumn<Host>[] = [
  { title: 'name', of: (host) => host.name, colour: 'bold' },
  { title: 'site', of: (host) => host.site },
  { title: 'zone', of: (host) => host.zone },
  { title: 'state', of: (host) => host.state, colour: 'state' },
  { title: 'connection', of: (host) => host.connection.state, colour: 'state' },
  { title: 'vcpus', of: (host) => host.capacity.vcpus, align: 'right' },
  { title: 'memory', of: (host) => gib(host.capacity.memoryMiB / 1024), align: 'right' },
  { title: 'disk', of: (host) => gib(host.capacity.diskGiB), align: 'right' },
  { title: 'note', of: noteOf },
];

function noteOf(host: Host): string {
  const { disabled, forcedDown, leaving, degraded = [] } = host;
  const quarantine = quarantineReason(host);
  const notes = [
    ...(quarantine === undefined ? [] : [`quarantined: ${quarantine}`]),
    ...degraded.map(({ sentence }) => `degraded: ${sentence}`),
    ...(host.strays === undefined ? [] : [`strays: ${straysText(host)}`]),
    ...(leaving?.why === undefined ? [] : [`leaving: ${leaving.why}`]),
    ...(leaving?.forced === undefined ? [] : [`forced out: ${leaving.forced.reason}`]),
    ...(forcedDown === undefined ? [] : [`forced down: ${forcedDown.reason}`]),
    ...(disabled === undefined ? [] : [`disabled: ${disabled.reason}`]),
  ];
  return notes.join('; ');
}

interface HostListOptions {
  readonly site?: string;
  readonly state?: string;
  readonly connection?: string;
  readonly zone?: string;
  readonly trait?: string;
  readonly transportZone?: string;
  readonly quarantined?: boolean;
  readonly degraded?: boolean;
  readonly agentVersion?: number;
  readonly all?: boolean;
  readonly sort?: string;
}

function listHosts(cli: Cli): Command {
  const command = new Command('list')
    .alias('ls')
    .description('List hosts')
    .option('--site <name>', 'only hosts of this site')
    .option(
      '--state <state>',
      'only hosts in this state: joining, active, draining, drained, recovering, finalizing or removed',
    )
    .option('--connection <state>', 'only hosts whose agent is up, suspect, down or unknown')
    .option('--zone <name>', 'only hosts of this availability zone')
    .option('--trait <name>', 'only hosts with this trait')
    .option('--transport-zone <name>', 'only hosts of this transport zone')
    .option('--quarantined', 'only hosts that are not trusted')
    .option('--degraded', 'only hosts that report something failing')
    .option('--all', 'removed hosts too')
    .option('--agent-version <number>', 'only hosts whose agent has this version; see muster gates', wholeNumber)
    .option('--sort <field>', 'by this field; a leading - turns the order round');
  addExamples(
    command,
    ['every host', 'muster hosts list'],
    ['the silent ones of a site', 'muster hosts list --site central --connection down'],
    ['names only, for a script', "muster hosts list --output json | jq -r '.[].name'"],
  );
  return withAction<HostListOptions>(cli, command, async (session, { options }) => {
    const { agentVersion: serviceVersion, site, state, connection, zone, trait, sort } = options;
    const { transportZone, quarantined, degraded, all } = options;
    const own = { transportZone, quarantined, degraded, serviceVersion, all, sort };
    const query = { site, state, connection, zone, trait, ...own };
    const listed = { columns: COLUMNS, empty: emptyText(query), what: 'hosts' };
    await showPages(session, session.client.pages<Host>(HOSTS_PATH, query), listed);
    return undefined;
  });
}

function emptyText({ all: _, ...query }: Readonly<Record<string, unknown>>): string {
  const { quarantined, ...others } = query;
  if (isFiltered(others)) return noneMatch('hosts');
  if (quarantined === true) return 'No host is in quarantine.';
  return 'No hosts. Bring some into service with: muster hosts join <name>';
}

function showHost(cli: Cli): Command {
  const command = new Command('show').description('Show everything known of a host').argument('<name>');
  addExamples(command, ['one host', 'muster hosts show compute-1']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const host = await session.client.get<Host>(hostPath(name));
    const facts = hostFacts(host, session.nowMs());
    await session.writeOne(host, [
      ...facts,
      ...(await certificateFacts(session, host)),
      ...(await openItemFacts(session, host)),
    ]);
    return undefined;
  });
}

/** Until when the certificate of its agent is good. A server of the version before does not report it. Programs request it themselves. */
async function certificateFacts(session: Session, { id }: Host): Promise<LabelledFacts> {
  if (session.output !== 'table') return [];
  try {
    const shown = await session.client.get<AgentCertificate>(`${hostPath(id)}/agent-certificate`);
    return [['Certificate', certificateText(shown, session.nowMs())]];
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    return error.status === 404 ? [] : [['Certificate', 'not known: no server holds the lease now']];
  }
}

/** Operations that have something left to do for it, and why they wait. Programs request them themselves. */
async function openItemFacts({ client, output }: Session, { id }: Host): Promise<LabelledFacts> {
  if (output !== 'table') return [];
  const items = await client.list<Item>('/api/v1/operation-items', { target: `host/${id}` });
  return items.map((item) => ['Under way', `${item.operation} ${item.state}: ${sentenceOf(item) ?? item.step}`]);
}

interface ReasonOption {
  readonly reason: string;
}

interface EachAction {
  readonly action: string;
  readonly body?: object;
  readonly sentence: (name: string) => string;
  /** Of what takes something back: why there is nothing to take back. */
  readonly needless?: (host: Host) => string | undefined;
}

function postToEach(session: Session, names: readonly string[], request: EachAction): Promise<ExitCode> {
  const { action, body = {}, sentence, needless } = request;
  const { client } = session;
  return forEachName(session, names, async (name) => {
    const before = needless === undefined ? undefined : await client.get<Host>(hostPath(name));
    const value = await client.write<Host>('POST', `${hostPath(name)}/${action}`, { body });
    const why = before?.revision === value.revision ? needless?.(value) : undefined;
    return { value, sentence: why === undefined ? sentence(name) : `Nothing was changed: ${name} ${why}.` };
  });
}

function disable(cli: Cli): Command {
  const command = new Command('disable')
    .description('Take hosts into maintenance: they take nothing new, what runs on them stays')
    .argument('<names...>')
    .requiredOption('--reason <text>', 'why, for the history');
  addExamples(command, ['before a repair', 'muster hosts disable compute-1 --reason "fan replacement"']);
  return withAction<ReasonOption>(cli, command, (session, { args, options: { reason } }) =>
    postToEach(session, args, {
      action: 'disable',
      body: { reason },
      sentence: (name) => `${name} is disabled: ${reason}`,
    }),
  );
}

function enable(cli: Cli): Command {
  const command = new Command('enable').description('Take hosts out of maintenance').argument('<names...>');
  addExamples(command, ['after a repair', 'muster hosts enable compute-1']);
  return withAction(cli, command, (session, { args }) =>
    postToEach(session, args, {
      action: 'enable',
      sentence: (name) => `${name} is enabled.`,
      needless: ({ disabled }) => (disabled === undefined ? 'is enabled already' : undefined),
    }),
  );
}

function forceDown(cli: Cli): Command {
  const command = new Command('force-down')
    .description(
      'Declare hosts off (fenced), even while their heartbeats arrive: what runs there may then run elsewhere too, so be certain',
    )
    .argument('<names...>')
    .requiredOption('--reason <text>', 'how you know that they are off');
  addExamples(command, ['its power is off', 'muster hosts force-down compute-1 --reason "power unplugged"']);
  return withAction<ReasonOption>(cli, command, (session, { args, options: { reason } }) =>
    postToEach(session, args, {
      action: 'force-down',
      body: { reason },
      sentence: (name) => `${name} is forced down: ${reason}`,
    }),
  );
}

function clearForceDown(cli: Cli): Command {
  const command = new Command('clear-force-down')
    .description('Take a force-down back: the heartbeats of the hosts count again')
    .argument('<names...>');
  addExamples(command, ['it is switched on again', 'muster hosts clear-force-down compute-1']);
  return withAction(cli, command, (session, { args }) =>
    postToEach(session, args, {
      action: 'clear-force-down',
      sentence: (name) => `${name} is no longer forced down.`,
      needless: ({ forcedDown }) => (forcedDown === undefined ? 'is not forced down' : undefined),
    }),
  );
}

function reAdmit(cli: Cli): Command {
  const command = new Command('re-admit')
    .description('Trust hosts again that were put into quarantine; a removed one is joined instead')
    .argument('<names...>')
    .requiredOption('--reason <text>', 'why it can be trusted');
  addExamples(command, ['it was reinstalled', 'muster hosts re-admit compute-1 --reason "reinstalled"']);
  return withAction<ReasonOption>(cli, command, (session, { args, options: { reason } }) =>
    postToEach(session, args, {
      action: 're-admit',
      body: { reason },
      sentence: (name) => `${name} is trusted again: ${reason}`,
      needless: ({ quarantined }) => (quarantined === undefined ? 'is not in quarantine' : undefined),
    }),
  );
}
