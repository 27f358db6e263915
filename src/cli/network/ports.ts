// muster ports: the connections of instances to networks.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { usage } from '../exit-code.ts';
import { ipAddress, wholeNumber, parseWords } from '../input/input-file.ts';
import { addressesText, bindingText } from './port-text.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  editOne,
  listCommand,
  showCommand,
  listText,
  type ResourceSpec,
} from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import type { Port } from '../client/representations.ts';

const PORTS: ResourceSpec<Port> = {
  command: 'ports',
  kind: 'port',
  path: '/api/v1/ports',
  by: 'id',
  sample: 'port-01jd8x2k9v7q3f5w2m1a',
  columns: () => [
    { title: 'id', of: (port) => port.id, colour: 'bold' },
    { title: 'name', of: (port) => port.name },
    { title: 'network', of: (port) => port.network },
    { title: 'addresses', of: addressesText },
    { title: 'mac', of: (port) => port.mac },
    { title: 'instance', of: attachmentText },
    { title: 'bound', of: bindingText },
    { title: 'made by', of: madeText },
  ],
  facts: (port, nowMs) => [
    ['Port', port.id],
    ['Name', port.name],
    ['Network', port.network],
    ['Project', port.project],
    ['Made by', port.createdBy],
    ['State', port.state],
    ['MAC', port.mac],
    [
      'Addresses',
      listText(port.addresses.map(({ ip, subnet, chosenBy }) => `${ip} (subnet ${subnet}, by ${chosenBy})`)),
    ],
    ['Allocation', port.ipAllocation],
    ['Instance', attachmentText(port)],
    ['Tag', port.tag],
    ['Used by', port.usedBy === undefined ? undefined : usedText(port.usedBy)],
    ['Bound', bindingText(port)],
    ['Binding', port.binding === undefined ? undefined : `${port.binding.type}, number ${port.binding.serial}`],
    ['Port security', port.portSecurity ? 'on' : 'off'],
    ['Security groups', listText(port.securityGroups)],
    ['QoS policy', port.qosPolicy],
    ['Bandwidth', port.minBandwidthKbps === undefined ? undefined : `${port.minBandwidthKbps} kbit/s`],
    ['PCI request', port.pciRequest],
    ['DNS name', port.dnsName],
    ...listChangedFacts(port, nowMs),
  ],
};

/** `router edge`. */
function usedText({ kind, id }: NonNullable<Port['usedBy']>): string {
  return `${kind.replaceAll('-', ' ')} ${id}`;
}

/** `user`, or `muster, for router edge`. */
function madeText({ createdBy, usedBy }: Port): string {
  return usedBy === undefined ? createdBy : `${createdBy}, for ${usedText(usedBy)}`;
}

/** `web-1, NIC 0`. */
function attachmentText({ instance, nic }: Port): string | undefined {
  return instance === undefined || nic === undefined ? instance : `${instance}, NIC ${nic}`;
}

export function portsCommand(cli: Cli): Command {
  return commandGroup(
    'ports',
    'Ports: what instances are connected to networks by',
    listCommand(cli, PORTS, {
      filters: [
        ['--network <name>', 'only on this network'],
        ['--instance <name>', 'only of this instance'],
        ['--host <name>', 'only bound to this host'],
        ['--project <name>', 'only of this project'],
        ['--created-by <who>', 'only made by a user, or by muster'],
        ['--state <state>', 'only in this state: wanted, made or releasing'],
        ['--attached <flag>', 'only those of instances (true), or only others (false)'],
        ['--mac <address>', 'the one with this MAC'],
        ['--address <address>', 'the one with this IP address'],
      ],
      empty: 'No ports.',
      examples: [
        ['of one instance', 'muster ports list --instance web-1'],
        ['who has an address', 'muster ports list --address 10.0.0.9'],
      ],
    }),
    showCommand(cli, PORTS),
    createPort(cli),
    editPort(cli),
    deleteCommand(cli, PORTS, 'Delete ports that no instance has'),
  );
}

interface CreateOptions {
  readonly network: string;
  readonly project?: string;
  readonly fixedIp?: readonly string[];
  readonly subnet?: readonly string[];
  readonly address: boolean;
  readonly mac?: string;
  readonly securityGroup?: readonly string[];
  readonly portSecurity: boolean;
  readonly qosPolicy?: string;
  readonly minBandwidth?: number;
  readonly pciRequest?: string;
  readonly dnsName?: string;
}

function createPort(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a port of your own: it stays when the instance that has it goes')
    .argument('[name]', 'what to call it; commands take its id, which is shown when it is created')
    .requiredOption('--network <name>', 'the network')
    .option('--project <name>', 'whose it is; "default" if none is named')
    .option('--fixed-ip <addresses>', 'these addresses; several with commas', ipAddresses)
    .option('--subnet <names>', 'an address of each of these subnets; several with commas', parseWords)
    .option('--no-address', 'no address, now or later')
    .option('--mac <address>', 'this MAC; else one is made')
    .option('--security-group <names>', 'its security groups; several with commas', parseWords)
    .option('--no-port-security', 'security groups do not apply to it')
    .option('--qos-policy <name>', 'its QoS policy')
    .option('--min-bandwidth <kbit/s>', 'what it needs at least', wholeNumber)
    .option('--pci-request <name>', 'the PCI device that it needs')
    .option('--dns-name <name>', 'must be the name of the instance that takes it');
  addExamples(
    command,
    ['a port with an address to keep', 'muster ports create vip --network lan --fixed-ip 10.0.0.9'],
    ['one without addresses', 'muster ports create tap --network lan --no-address'],
  );
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) =>
    createOne(session, PORTS, {
      body: bodyOf(name, options),
      sentence: (port) => `Port ${port.id} on network ${port.network} is created: ${addressesOf(port)}.`,
    }),
  );
}

function ipAddresses(text: string, before: readonly string[] = []): string[] {
  return parseWords(text, before).map(ipAddress);
}

/** What it has, or when it gets it. */
function addressesOf(port: Port): string {
  const { addresses, ipAllocation } = port;
  if (addresses.length > 0) return addresses.map(({ ip }) => ip).join(', ');
  return ipAllocation === 'none' ? 'it never has an address' : 'it gets its address when an instance takes it';
}

function bodyOf(name: string | undefined, options: CreateOptions): object {
  const { network, project, mac, securityGroup, portSecurity, qosPolicy, minBandwidth, pciRequest, dnsName } = options;
  return omitUndefined({
    name,
    network,
    project,
    fixedIps: fixedIpsOf(options),
    mac,
    securityGroups: securityGroup,
    portSecurity: portSecurity ? undefined : false,
    qosPolicy,
    minBandwidthKbps: minBandwidth,
    pciRequest,
    dnsName,
  });
}

/** An empty list is a port that never has an address; none at all leaves it to the network. */
function fixedIpsOf({ fixedIp = [], subnet = [], address }: CreateOptions): object[] | undefined {
  const wanted = [...fixedIp.map((ip) => ({ ip })), ...subnet.map((one) => ({ subnet: one }))];
  if (!address && wanted.length > 0) throw usage('--no-address excludes --fixed-ip and --subnet.');
  return address && wanted.length === 0 ? undefined : wanted;
}

interface EditOptions {
  readonly name?: string;
  readonly securityGroup?: readonly string[];
  readonly qosPolicy?: string;
  readonly dnsName?: string;
}

function editPort(cli: Cli): Command {
  const command = new Command('edit')
    .description('Change what is said of a port; what is not named stays as it is')
    .argument('<id>')
    .option('--name <name>', 'what to call it; "" for nothing')
    .option('--security-group <names>', 'all its security groups, with commas; "" for none', parseWords)
    .option('--qos-policy <name>', 'its QoS policy; "" for none')
    .option('--dns-name <name>', '"" for none');
  addExamples(command, ['another security group', `muster ports edit ${PORTS.sample} --security-group web,ssh`]);
  return withAction<EditOptions>(cli, command, (session, { args: [id = ''], options }) => {
    const { name, securityGroup, qosPolicy, dnsName } = options;
    const body = omitUndefined({
      name: orNone(name),
      securityGroups: securityGroup,
      qosPolicy: orNone(qosPolicy),
      dnsName: orNone(dnsName),
    });
    return editOne(session, PORTS, { name: id, body });
  });
}

function orNone(text: string | undefined): string | null | undefined {
  return text === '' ? null : text;
}
