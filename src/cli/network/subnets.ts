// muster subnets: the addresses of a network, or of one of its segments.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { usage } from '../exit-code.ts';
import { addressOrNone } from '../input/input-file.ts';
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
import type { Subnet } from '../client/representations.ts';

type Pool = Subnet['pools'][number];

const SUBNETS: ResourceSpec<Subnet> = {
  command: 'subnets',
  kind: 'subnet',
  path: '/api/v1/subnets',
  sample: 'rack-a-v4',
  columns: () => [
    { title: 'name', of: (subnet) => subnet.name, colour: 'bold' },
    { title: 'network', of: (subnet) => subnet.network },
    { title: 'segment', of: (subnet) => subnet.segment },
    { title: 'cidr', of: (subnet) => subnet.cidr },
    { title: 'gateway', of: (subnet) => subnet.gateway },
    { title: 'pools', of: poolsText },
    { title: 'dhcp', of: (subnet) => (subnet.dhcp ? 'on' : undefined) },
  ],
  facts: (subnet, nowMs) => [
    ['Name', subnet.name],
    ['Network', subnet.network],
    ['Segment', subnet.segment],
    ['CIDR', `${subnet.cidr} (IPv${subnet.version})`],
    ['Gateway', subnet.gateway ?? 'none'],
    ['Pools', poolsText(subnet)],
    ['DHCP', subnet.dhcp ? 'answered by a host with ports in it' : 'off'],
    ...listChangedFacts(subnet, nowMs),
  ],
};

function poolsText({ pools }: Subnet): string | undefined {
  return pools.length === 0 ? undefined : pools.map(({ first, last }) => `${first} to ${last}`).join(', ');
}

export function subnetsCommand(cli: Cli): Command {
  return commandGroup(
    'subnets',
    'Subnets: the addresses of networks and segments',
    listCommand(cli, SUBNETS, {
      filters: [
        ['--network <name>', 'only of this network'],
        ['--segment <name>', 'only of this segment'],
        ['--dhcp <flag>', 'only with DHCP (true), or without (false)'],
      ],
      empty: 'No subnets.',
    }),
    showCommand(cli, SUBNETS),
    createSubnet(cli),
    editSubnet(cli),
    deleteCommand(cli, SUBNETS, 'Delete subnets of which no port has an address and that are behind no router'),
  );
}

interface FormOptions {
  readonly segment?: string;
  readonly gateway?: string;
  readonly pool?: readonly Pool[];
  readonly dhcp?: boolean;
}

interface CreateOptions extends FormOptions {
  readonly network: string;
  readonly cidr: string;
}

function bodyOf({ segment, gateway, pool, dhcp }: FormOptions): object {
  return omitUndefined({ segment, gateway: gateway === '' ? null : gateway, pools: pool, dhcp });
}

function createSubnet(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a subnet: the addresses that ports get')
    .argument('<name>')
    .requiredOption('--network <name>', 'the network')
    .option('--segment <name>', 'the segment, on a routed network')
    .requiredOption('--cidr <prefix>', 'such as 10.0.1.0/24 or fd00:1::/64')
    .option('--gateway <address>', 'the first address unless said; "" for none', addressOrNone)
    .option(
      '--pool <first-last>',
      'where addresses are picked from, such as 10.0.0.100-10.0.0.199; may be repeated; else everywhere',
      parsePool,
    )
    .option('--dhcp', 'a host with ports in it answers DHCP (IPv4)');
  addExamples(
    command,
    ['a flat network', 'muster subnets create lan-v4 --network lan --cidr 10.0.0.0/24'],
    ['one rack of a routed one', 'muster subnets create rack-a-v4 --network lan --segment rack-a --cidr 10.0.1.0/24'],
    ['only some of it', 'muster subnets create small --network lan --cidr 10.0.0.0/24 --pool 10.0.0.100-10.0.0.199'],
  );
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) => {
    const { network, cidr } = options;
    return createOne(session, SUBNETS, {
      body: { name, network, cidr, ...bodyOf(options) },
      sentence: (subnet) => `Subnet ${subnet.name} of network ${subnet.network} is created: ${subnet.cidr}.`,
    });
  });
}

function editSubnet(cli: Cli): Command {
  const command = new Command('edit')
    .description(
      'Change the gateway, the pools and DHCP of a subnet, or set its segment; what is not named stays as it is',
    )
    .argument('<name>')
    .option('--segment <name>', 'its segment: makes a network with one segment and one subnet a routed one')
    .option('--gateway <address>', '"" for none', addressOrNone)
    .option('--pool <first-last>', 'all its pools, such as 10.0.0.100-10.0.0.199; may be repeated', parsePool)
    .option('--dhcp', 'a host with ports in it answers DHCP (IPv4)')
    .option('--no-dhcp', 'no host answers DHCP in it');
  addExamples(
    command,
    ['more to pick from', 'muster subnets edit small --pool 10.0.0.50-10.0.0.199'],
    ['with DHCP', 'muster subnets edit lan-v4 --dhcp'],
  );
  return withAction<FormOptions>(cli, command, (session, { args: [name = ''], options }) =>
    editOne(session, SUBNETS, { name, body: bodyOf(options) }),
  );
}

function parsePool(text: string, before: readonly Pool[] = []): Pool[] {
  const [, first, last] = /^([^-\s]+)-([^-\s]+)$/.exec(text) ?? [];
  if (first === undefined || last === undefined) {
    throw usage(`"${text}" is not of the form first-last, such as 10.0.0.100-10.0.0.199.`);
  }
  return [...before, { first, last }];
}
