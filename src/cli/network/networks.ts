// muster networks: what instances are connected to.
import { Command, Option } from 'commander';
import { stockCommand } from './address-stock.ts';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { wholeNumber } from '../input/input-file.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  editOne,
  listCommand,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import type { Network } from '../client/representations.ts';

const BACK_ENDS = ['embedded', 'host-local', 'simulated', 'simulated-single'];

const yes = (flag: boolean): string | undefined => (flag ? 'yes' : undefined);

const NETWORKS: ResourceSpec<Network> = {
  command: 'networks',
  kind: 'network',
  path: '/api/v1/networks',
  sample: 'lan',
  columns: () => [
    { title: 'name', of: (network) => network.name, colour: 'bold' },
    { title: 'project', of: (network) => network.project },
    { title: 'back end', of: (network) => network.backEnd },
    { title: 'shared', of: (network) => yes(network.shared) },
    { title: 'external', of: (network) => yes(network.external) },
    { title: 'bandwidth', of: bandwidth, align: 'right' },
  ],
  facts: (network, nowMs) => [
    ['Name', network.name],
    ['Project', network.project],
    ['Back end', network.backEnd],
    ['Shared', network.shared ? 'with every project' : undefined],
    ['External', network.external ? 'leads outside' : undefined],
    ['Port security', network.portSecurity ? 'on' : 'off'],
    ['QoS policy', network.qosPolicy],
    ['Bandwidth', bandwidth(network)],
    ...listChangedFacts(network, nowMs),
  ],
};

function bandwidth({ minBandwidthKbps }: Network): string | undefined {
  return minBandwidthKbps === undefined ? undefined : `${minBandwidthKbps} kbit/s a port`;
}

export function networksCommand(cli: Cli): Command {
  return commandGroup(
    'networks',
    'Networks that instances are connected to, flat or routed over segments',
    listCommand(cli, NETWORKS, {
      filters: [
        ['--project <name>', 'only of this project'],
        ['--back-end <name>', `only of this back end: ${BACK_ENDS.join(', ')}`],
        ['--shared <flag>', 'only shared ones (true), or only others (false)'],
        ['--external <flag>', 'only external ones (true), or only others (false)'],
      ],
      empty: 'No networks. Make one with: muster networks create <name>',
    }),
    showCommand(cli, NETWORKS),
    createNetwork(cli),
    editNetwork(cli),
    stockCommand(cli, NETWORKS),
    deleteCommand(cli, NETWORKS, 'Delete networks that have neither segments, subnets nor ports'),
  );
}

interface FactOptions {
  readonly shared?: boolean;
  readonly external?: boolean;
  readonly portSecurity?: boolean;
  readonly qosPolicy?: string;
  readonly minBandwidth?: number;
}

interface CreateOptions extends FactOptions {
  readonly project?: string;
  readonly backEnd?: string;
}

function createNetwork(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a network; it needs a subnet before instances get addresses on it')
    .argument('<name>')
    .option('--project <name>', 'whose it is; "default" if none is named')
    .addOption(new Option('--back-end <name>', 'who looks after its ports').choices(BACK_ENDS))
    .option('--shared', 'every project may use it')
    .option('--external', 'it leads outside')
    .option('--no-port-security', 'security groups do not apply to its ports')
    .option('--qos-policy <name>', 'of its ports')
    .option('--min-bandwidth <kbit/s>', 'what each port needs at least', wholeNumber);
  addExamples(
    command,
    ['a network of your own', 'muster networks create lan'],
    ['for all projects, with guaranteed bandwidth', 'muster networks create fast --shared --min-bandwidth 1000000'],
  );
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) => {
    const { project, backEnd, shared, external, qosPolicy, minBandwidth: minBandwidthKbps } = options;
    const portSecurity = options.portSecurity === false ? false : undefined;
    const body = omitUndefined({ name, project, backEnd, shared, external, portSecurity, qosPolicy, minBandwidthKbps });
    return createOne(session, NETWORKS, { body, sentence: (network) => `Network ${network.name} is created.` });
  });
}

/** What is empty is taken away. */
function editOf({ shared, external, portSecurity, qosPolicy, minBandwidth }: FactOptions): object {
  return omitUndefined({
    shared,
    external,
    portSecurity,
    qosPolicy: qosPolicy === '' ? null : qosPolicy,
    minBandwidthKbps: minBandwidth === 0 ? null : minBandwidth,
  });
}

function editNetwork(cli: Cli): Command {
  const command = new Command('edit')
    .description('Change what is said of a network; what is not named stays as it is')
    .argument('<name>')
    .option('--shared', 'every project may use it')
    .option('--no-shared', 'only its project may use it')
    .option('--external', 'it leads outside')
    .option('--no-external', 'it does not lead outside')
    .option('--port-security', 'security groups apply to ports that are made from now on')
    .option('--no-port-security', 'security groups do not apply to ports that are made from now on')
    .option('--qos-policy <name>', 'of ports that are made from now on; "" for none')
    .option('--min-bandwidth <kbit/s>', 'what ports that are made from now on need; 0 for nothing', wholeNumber);
  addExamples(command, ['share it with all projects', 'muster networks edit lan --shared']);
  return withAction<FactOptions>(cli, command, (session, { args: [name = ''], options }) =>
    editOne(session, NETWORKS, { name, body: editOf(options) }),
  );
}
