// muster serve, demo, agent, manager: programs that run until they are stopped. Only their options are here.
import { Command, InvalidArgumentError, Option } from 'commander';
import { addExamples, type Cli } from './command.ts';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];
/** More than this in one process is a benchmark, not a demonstration. */
const DEMO_HOSTS_MAX = 10_000;
const SMALL_DEMO = 3;
const IRONIC_CREDENTIALS = 'its user and password, or its token, in YAML or JSON; read again when the file changes';

function withServerOptions(command: Command, demo: { readonly fallback: string; readonly logLevel: string }): Command {
  return command
    .option('--listen <address>', 'host:port, or a port on 127.0.0.1', '127.0.0.1:7070')
    .option(
      '--store <store>',
      'sqlite, or the URL of a PostgreSQL database, postgres://a,b,c/name (env MUSTER_STORE; else sqlite)',
    )
    .option('--advertise <url>', 'where other servers and agents reach this one, if not where it listens')
    .option('--tls-cert <path>', 'certificate, in PEM form')
    .option('--tls-key <path>', 'its private key, in PEM form')
    .option('--keys <folder>', 'where the keys of the control plane are; else the data folder')
    .addOption(
      new Option(
        '--agent-certificates <policy>',
        'over TLS, issue certificates to agents: off; optional: those that are shown are checked; required: agents without are refused',
      )
        .choices(['off', 'optional', 'required'])
        .default('optional'),
    )
    .addOption(
      new Option(
        '--manager-certificates <policy>',
        'the same for managers of bare-metal nodes: off; optional; required: managers without are refused',
      )
        .choices(['off', 'optional', 'required'])
        .default('optional'),
    )
    .option('--insecure', 'listen beyond this machine without TLS')
    .option('--network-credentials <path>', 'credentials of network back ends that need some, in YAML or JSON')
    .option('--secret-key <path>', 'keys that secrets of the fleet are sealed by; with sqlite, else in the data folder')
    .option('--new-admin-token', 'make a new admin token in the data folder, for when the old one is lost')
    .addOption(
      new Option(
        '--accept-loss <revision>',
        'start although the store is damaged or lost commits: the revision that the refusal named',
      ).argParser(parseRevision),
    )
    .addOption(
      new Option('--demo <hosts>', 'simulated hosts: none, small, or how many')
        .argParser(parseDemoHosts)
        .default(demo.fallback),
    )
    .option('--manager <name>', 'run a manager of bare-metal nodes inside the server, under this name')
    .option('--ironic <url>', 'know the bare-metal nodes of this Ironic, too, such as http://10.0.0.2:6385')
    .option('--ironic-credentials <path>', IRONIC_CREDENTIALS)
    .option('--simulated-agents', 'every host that joins gets a simulated agent in this process, also with --demo none')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LEVELS).default(demo.logLevel));
}

function parseRevision(text: string): string {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Say the revision that the refusal named.');
  return text;
}

function parseDemoHosts(text: string): string {
  const count = text === 'none' ? 0 : text === 'small' ? SMALL_DEMO : /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (count < 0 || count > DEMO_HOSTS_MAX) {
    throw new InvalidArgumentError(`Say none, small, or a number up to ${DEMO_HOSTS_MAX}.`);
  }
  return String(count);
}

export function serveCommand(cli: Cli): Command {
  const command = withServerOptions(new Command('serve').description('Run a control plane server, until Ctrl-C'), {
    fallback: 'none',
    logLevel: 'info',
  });
  addExamples(
    command,
    ['on the embedded store, in ./data', 'muster serve'],
    ['one of several servers', 'muster serve --store postgres://muster@db/muster --advertise https://m1:7070'],
    ['for others, with TLS', 'muster serve --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem'],
  );
  return withStarter(cli, command, 'serve');
}

export function demoCommand(cli: Cli): Command {
  const command = withServerOptions(
    new Command('demo').description('Run a server with a simulated fleet, to look around and try things, until Ctrl-C'),
    { fallback: '12', logLevel: 'warn' },
  );
  addExamples(
    command,
    ['twelve hosts in two sites', 'muster demo'],
    ['start with an empty fleet', 'muster demo --demo none'],
    ['an empty fleet whose hosts come up by themselves', 'muster demo --demo none --simulated-agents'],
  );
  return withStarter(cli, command, 'demo');
}

export function agentCommand(cli: Cli): Command {
  const command = new Command('agent')
    .description('Run the agent of a host, on that host, until it is stopped')
    .option('--host <name>', 'the host that it is; else whatever the join token says')
    .option('--state <folder>', 'where it keeps its credential and its last view', './agent-data')
    .option('--join-token-file <path>', 'the join token from a file (env MUSTER_JOIN_TOKEN); needed once')
    .option('--ca <path>', 'certificates that the server is trusted by, in PEM form, instead of the usual ones')
    .option(
      '--server-fingerprint <fingerprint>',
      'sha256:... of a key or certificate that a server is known by, for servers without an authority; once for each server',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    )
    .option('--insecure', 'speak plain HTTP to other machines: tokens cross the network in clear text')
    .option('--simulate', 'only pretend to have a machine and a switch, instead of --ovs')
    .option('--ovs <address>', 'drive Open vSwitch: where its database listens, such as unix:/run/openvswitch/db.sock');
  withSwitchOptions(command)
    .option('--netns <name>', 'make instances as network namespaces, plugged in from this one; for labs')
    .option('--recover-instances', 'once, after its record of instances was lost: adopt what really runs there')
    .addOption(
      new Option('--service-version <n>', 'pretend to be an older agent, to try fleets of several versions').argParser(
        parseServiceVersion,
      ),
    )
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LEVELS).default('info'));
  addExamples(
    command,
    [
      'the first time, with a token of "muster hosts join-token"',
      'MUSTER_JOIN_TOKEN=... muster agent --server https://m1:7070 --state /var/lib/muster-agent --ovs unix:/run/openvswitch/db.sock --external br-ex',
    ],
    ['without a switch', 'MUSTER_JOIN_TOKEN=... muster agent --simulate'],
  );
  return withStarter(cli, command, 'agent');
}

export function managerCommand(cli: Cli): Command {
  const command = new Command('manager')
    .description('Run a manager of bare-metal nodes, which acts on their machines, until it is stopped')
    .requiredOption('--name <name>', 'the manager that it is; upper and lower case are the same')
    .option('--state <folder>', 'where it keeps its credential and its certificate; needed for a join token')
    .option('--join-token-file <path>', 'the join token from a file (env MUSTER_JOIN_TOKEN); needed once')
    .option('--host <name>', 'the host that it runs on: scaling that in has its nodes taken over first')
    .option('--site <name>', 'the site that it is in; else that of its host')
    .option('--ironic <url>', 'act on the machines of this Ironic, too, such as http://10.0.0.2:6385')
    .option('--ironic-credentials <path>', IRONIC_CREDENTIALS)
    .option('--ca <path>', 'certificates that the server is trusted by, in PEM form, instead of the usual ones')
    .option(
      '--server-fingerprint <fingerprint>',
      'sha256:... of a key or certificate that a server is known by, for servers without an authority; once for each server',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    )
    .option('--insecure', 'speak plain HTTP to other machines: tokens cross the network in clear text')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LEVELS).default('info'));
  addExamples(
    command,
    [
      'the first time, with a token of "muster baremetal managers join-token"',
      'MUSTER_JOIN_TOKEN=... muster manager --name m1 --server https://c1:7070,https://c2:7070 --state /var/lib/muster-manager',
    ],
    [
      'with a token of "muster token create m1 --role manager --manager m1"',
      'muster manager --name m1 --server https://c1:7070,https://c2:7070 --token-file /etc/muster/m1-token',
    ],
  );
  return withStarter(cli, command, 'manager');
}

/** The options that name the switch of an agent, besides its database; the tools that inspect the switch have the same ones. */
export function withSwitchOptions(command: Command): Command {
  return command
    .option('--ovs-openflow <address>', 'where the bridge speaks OpenFlow; else <bridge>.mgmt beside the database')
    .option('--ovs-control <address>', 'the control socket of ovs-vswitchd; else the one beside the database')
    .option('--bridge <name>', 'the integration bridge; an agent makes it if it is not there', 'br-int')
    .option('--external <name>', 'the interface or the bridge that leads outside')
    .addOption(
      new Option('--datapath <type>', 'of a bridge that is made: in the kernel, or in user space')
        .choices(['system', 'netdev'])
        .default('system'),
    );
}

function parseServiceVersion(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Say a number from 1 up.');
  return Number(text);
}

function withStarter(cli: Cli, command: Command, what: keyof Cli['starters']): Command {
  return command.action(async (_options: object, called: Command) => {
    cli.exitCode = await cli.starters[what](called.optsWithGlobals());
  });
}
