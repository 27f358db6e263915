// muster hosts join, join-token: bringing hosts into service.
import { Command } from 'commander';
import { resourceCounts } from '../output/amounts.ts';
import { withAction, addExamples, type Cli } from '../command.ts';
import { parseDuration } from '../output/duration.ts';
import { usage, type ExitCode } from '../exit-code.ts';
import { addressOrNone, readInput, wholeNumber, parseWords } from '../input/input-file.ts';
import { joinTokenCommand } from '../join-token.ts';
import { hostPath, HOSTS_PATH } from './host-text.ts';
import { reportStarted, withWait, type WaitOptions } from '../operations/wait.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import type { Session } from '../session.ts';
import { diskGiB, memoryMiB, sizesOf, type SizeOptions } from '../output/size.ts';
import type { JoiningHosts } from '../client/representations.ts';

export interface JoinOptions extends WaitOptions, SizeOptions {
  readonly file?: string;
  readonly site?: string;
  readonly zone?: string;
  readonly transportZone?: string;
  readonly tunnelAddress?: string;
  readonly trait?: readonly string[];
  readonly resource?: Readonly<Record<string, number>>;
  readonly physicalNetwork?: readonly string[];
  readonly deadline?: number;
  readonly reason?: string;
}

/** How hosts that come in are described. */
export function withHostOptions(command: Command): Command {
  return command
    .argument('[names...]', 'hosts to join')
    .option('-f, --file <path>', 'hosts from a YAML or JSON file, or - for standard input')
    .option('--site <name>', 'their site; central if none is named')
    .option('--zone <name>', 'their availability zone')
    .option('--transport-zone <name>', 'the zone of the hosts that they have tunnels with; "default" if none is named')
    .option('--tunnel-address <address>', 'IPv4 or IPv6, where tunnels of one host end', addressOrNone)
    .option('--vcpus <count>', 'processors of each; without sizes nothing is placed there', wholeNumber)
    .option('--memory <size>', 'memory of each, such as 64GiB; a number alone is in MiB', memoryMiB)
    .option('--disk <size>', 'disk of each, such as 2TiB; a number alone is in GiB', diskGiB)
    .option('--trait <names>', 'what each can do; several with commas', parseWords)
    .option('--resource <name=count>', 'a further resource of each, such as gpu=4; may be repeated', resourceCounts)
    .option('--physical-network <names>', 'what each is connected to; several with commas', parseWords)
    .option('--deadline <time>', 'how long their agents have, such as 10m; 1h if not said', parseDuration)
    .option('--reason <text>', 'why, for the history');
}

export function hostJoin(cli: Cli): Command {
  const command = withWait(
    withHostOptions(
      new Command('join').description('Bring hosts into service: register them, and wait for their agents'),
    ),
  );
  addExamples(
    command,
    ['two hosts, and wait for them', 'muster hosts join compute-1 compute-2 --vcpus 32 --memory 128GiB --wait'],
    ['a list of hosts', 'muster hosts join -f hosts.yaml'],
    ['from a pipe', 'echo "hosts: [{name: c9, zone: b}]" | muster hosts join -f -'],
  );
  return withAction<JoinOptions>(cli, command, (session, { args, options }) =>
    joinHosts(session, { path: HOSTS_PATH, verb: 'join', names: args }, options),
  );
}

interface HostsToJoin {
  readonly path: string;
  /** For sentences: `one host joins`. */
  readonly verb: string;
  readonly names: readonly string[];
  /** Further fields of the request. */
  readonly more?: object;
}

/** Submits the join of hosts, and with --wait follows it. */
export async function joinHosts(session: Session, request: HostsToJoin, options: JoinOptions): Promise<ExitCode> {
  const { path, verb, names, more = {} } = request;
  const hosts = await readSpecs(session, names, options);
  const body = { hosts, ...more, ...omitUndefined({ deadlineMs: options.deadline, reason: options.reason }) };
  const joining = await session.client.write<JoiningHosts>('POST', path, { body });
  warnOfNoSize(session, hosts as readonly Spec[]);
  const what = joining.count === 1 ? `one host ${verb}s` : `${joining.count} hosts ${verb}`;
  return reportStarted(session, { id: joining.operation, what, answer: joining }, options);
}

/** Options of the command line apply to every host of the file that does not set the field itself. */
async function readSpecs({ terminal }: Session, names: readonly string[], options: JoinOptions): Promise<unknown[]> {
  const listed = options.file === undefined ? [] : parseHosts(await readInput(terminal, options.file), options.file);
  if (names.length + listed.length === 0) throw usage('Name the hosts to join, or give a list of them with -f.');
  if (options.tunnelAddress !== undefined && names.length + listed.length > 1)
    throw usage('--tunnel-address is for one host: join it alone, or say "tunnelAddress" for each in a list with -f.');
  const common = commonFields(options);
  const { capacity } = common;
  return [...names.map((name) => ({ name })), ...listed].map((host) => {
    if (typeof host !== 'object' || host === null) return host;
    const own = (host as { readonly capacity?: object }).capacity;
    return { ...common, ...host, ...((capacity ?? own) !== undefined && { capacity: { ...capacity, ...own } }) };
  });
}

/** As the server has taken it. */
interface Spec {
  readonly name: string;
  readonly capacity?: { readonly vcpus?: number; readonly memoryMiB?: number };
}

/** Names said in a warning: the rest are as many, and can be listed. */
const NAMES_MAX = 5;

function warnOfNoSize(session: Session, hosts: readonly Spec[]): void {
  const none = hosts.filter(({ capacity = {} }) => (capacity.vcpus ?? 0) === 0 || (capacity.memoryMiB ?? 0) === 0);
  const [first] = none;
  if (first === undefined) return;
  const more = none.length > NAMES_MAX ? ` and ${none.length - NAMES_MAX} more` : '';
  const names = none.slice(0, NAMES_MAX).map(({ name }) => name);
  const says = none.length === 1 ? 'has no vcpus or no memory' : 'have no vcpus or no memory';
  session.note(`Warning: ${names.join(', ')}${more} ${says}: nothing can be placed there.`);
  session.note(`Give sizes with: muster hosts edit ${first.name} --vcpus 32 --memory 128GiB --disk 1TiB`);
}

function commonFields(options: JoinOptions): { readonly capacity?: object } {
  const { site, zone, transportZone, tunnelAddress, trait, resource, physicalNetwork, ...sizes } = options;
  const capacity = sizesOf(sizes);
  return omitUndefined({
    site,
    zone,
    transportZone,
    tunnelAddress: tunnelAddress === '' ? undefined : tunnelAddress,
    traits: trait,
    resources: resource,
    physicalNetworks: physicalNetwork,
    capacity: Object.keys(capacity).length > 0 ? capacity : undefined,
  });
}

/** A list, or an object with one under `hosts`; a host may be written as its name alone. */
function parseHosts(value: unknown, file: string): unknown[] {
  const list = Array.isArray(value) ? value : (value as { readonly hosts?: unknown } | null)?.hosts;
  if (!Array.isArray(list)) {
    throw usage(
      `${file === '-' ? 'Standard input' : file} holds no list of hosts. Write "hosts:" and one "- name: ..." a host.`,
    );
  }
  return list.map((host: unknown) => (typeof host === 'string' ? { name: host } : host));
}

/** An agent does not start without it; this is where Debian and others have it. */
const AGENT_SWITCH = '--ovs unix:/run/openvswitch/db.sock';

export function hostJoinToken(cli: Cli): Command {
  return joinTokenCommand(cli, {
    about: "Make a token with which a host's agent joins, once",
    whom: 'the host',
    example: ['and start the agent with it', 'muster hosts join-token compute-1'],
    pathOf: hostPath,
    where: 'On the host',
    start: (_name, server) => `muster agent --server ${server} ${AGENT_SWITCH}`,
    notes: ['Its switch is where Open vSwitch listens; with --simulate instead of --ovs it is pretended.'],
  });
}
