// muster ports: the ends of networks that instances have.
import { Command } from 'commander';
import { act, examples, group, type Cli } from './command.ts';
import { usage } from './exit-code.ts';
import { words } from './input-file.ts';
import { addressesText, bindingText, type Port } from './port-view.ts';
import { changedFacts, deleteCommand, listCommand, showCommand, some, type Resource } from './resource-commands.ts';

const PORTS: Resource<Port> = {
  command: 'ports',
  kind: 'port',
  path: '/api/v1/ports',
  sample: 'port-01jd8x2k9v7q3f5w2m1a',
  columns: () => [
    { title: 'id', of: (port) => port.id, colour: 'bold' },
    { title: 'name', of: (port) => port.name },
    { title: 'network', of: (port) => port.network },
    { title: 'addresses', of: addressesText },
    { title: 'mac', of: (port) => port.mac },
    { title: 'instance', of: attachmentText },
    { title: 'bound', of: bindingText },
    { title: 'made by', of: (port) => port.createdBy },
  ],
  facts: (port, nowMs) => [
    ['Port', port.id],
    ['Name', port.name],
    ['Network', port.network],
    ['Project', port.project],
    ['Made by', port.createdBy],
    ['State', port.state],
    ['MAC', port.mac],
    ['Addresses', some(port.addresses.map(({ ip, subnet, chosenBy }) => `${ip} (subnet ${subnet}, by ${chosenBy})`))],
    ['Allocation', port.ipAllocation],
    ['Instance', attachmentText(port)],
    ['Tag', port.tag],
    ['Bound', bindingText(port)],
    ['Binding', port.binding === undefined ? undefined : `${port.binding.type}, number ${port.binding.serial}`],
    ['Port security', port.portSecurity ? 'on' : 'off'],
    ['Security groups', some(port.securityGroups)],
    ['QoS policy', port.qosPolicy],
    ['Bandwidth', port.minBandwidthKbps === undefined ? undefined : `${port.minBandwidthKbps} kbit/s`],
    ['PCI request', port.pciRequest],
    ['DNS name', port.dnsName],
    ...changedFacts(port, nowMs),
  ],
};

/** `web-1, NIC 0`. */
function attachmentText({ instance, nic }: Port): string | undefined {
  return instance === undefined || nic === undefined ? instance : `${instance}, NIC ${nic}`;
}

export function portsCommand(cli: Cli): Command {
  return group(
    'ports',
    'Ports: what instances are connected to networks by',
    listCommand(cli, PORTS, {
      filters: [
        ['--network <name>', 'only on this network'],
        ['--instance <name>', 'only of this instance'],
        ['--host <name>', 'only bound to this host'],
        ['--project <name>', 'only of this project'],
        ['--created-by <who>', 'only made by a user, or by muster'],
      ],
      empty: 'No ports.',
      examples: [['of one instance', 'muster ports list --instance web-1']],
    }),
    showCommand(cli, PORTS),
    createPort(cli),
    deleteCommand(cli, PORTS, 'Delete ports that no instance has'),
  );
}

interface CreateOptions {
  readonly network: string;
  readonly project?: string;
  readonly fixedIp?: readonly string[];
  readonly address: boolean;
  readonly mac?: string;
  readonly securityGroup?: readonly string[];
  readonly portSecurity: boolean;
  readonly dnsName?: string;
}

function createPort(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a port of your own: it stays when the instance that has it goes')
    .argument('[name]', 'what to call it')
    .requiredOption('--network <name>', 'the network')
    .option('--project <name>', 'whose it is; "default" if none is named')
    .option('--fixed-ip <addresses>', 'these addresses; several with commas', words)
    .option('--no-address', 'no address, now or later')
    .option('--mac <address>', 'this MAC; else one is made')
    .option('--security-group <names>', 'its security groups; several with commas', words)
    .option('--no-port-security', 'security groups do not apply to it')
    .option('--dns-name <name>', 'must be the name of the instance that takes it');
  examples(
    command,
    ['a port with an address to keep', 'muster ports create vip --network lan --fixed-ip 10.0.0.9'],
    ['one without addresses', 'muster ports create tap --network lan --no-address'],
  );
  return act<CreateOptions>(cli, command, async (session, { args: [name], options }) => {
    const port = await session.client.write<Port>('POST', PORTS.path, { body: bodyOf(name, options) });
    await session.done(
      port,
      `Port ${port.id} on network ${port.network} is created: ${addressesText(port) ?? 'no address'}.`,
    );
    return undefined;
  });
}

function bodyOf(name: string | undefined, options: CreateOptions): object {
  const { network, project, fixedIp, mac, securityGroup, dnsName } = options;
  if (!options.address && fixedIp !== undefined) throw usage('--no-address and --fixed-ip exclude each other.');
  return {
    ...(name !== undefined && { name }),
    network,
    ...(project !== undefined && { project }),
    ...(fixedIp !== undefined && { fixedIps: fixedIp }),
    ...(!options.address && { fixedIps: [] }),
    ...(mac !== undefined && { mac }),
    ...(securityGroup !== undefined && { securityGroups: securityGroup }),
    ...(!options.portSecurity && { portSecurity: false }),
    ...(dnsName !== undefined && { dnsName }),
  };
}
