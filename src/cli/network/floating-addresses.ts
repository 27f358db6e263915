// muster floating-addresses: external addresses that are associated with a port, and can be moved to another.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import {
  listChangedFacts,
  deleteCommand,
  forEachName,
  listCommand,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { FloatingAddress } from '../client/representations.ts';

const FLOATING: ResourceSpec<FloatingAddress> = {
  command: 'floating-addresses',
  kind: 'floating address',
  path: '/api/v1/floating-addresses',
  by: 'id',
  sample: 'floating-01jd8x2k9v7q3f5w2m1a',
  columns: () => [
    { title: 'id', of: (floating) => floating.id, colour: 'bold' },
    { title: 'address', of: (floating) => floating.outside.ip },
    { title: 'network', of: (floating) => floating.network },
    { title: 'project', of: (floating) => floating.project },
    { title: 'leads to', of: (floating) => floating.inside?.ip },
    { title: 'port', of: (floating) => floating.inside?.port },
    { title: 'router', of: (floating) => floating.inside?.router },
  ],
  facts: (floating, nowMs) => [
    ['Floating address', floating.id],
    ['Address', `${floating.outside.ip} (port ${floating.outside.port})`],
    ['Network', floating.network],
    ['Project', floating.project],
    ['Leads to', targetText(floating)],
    ...listChangedFacts(floating, nowMs),
  ],
};

function targetText({ inside }: FloatingAddress): string {
  return inside === undefined ? 'nothing' : `${inside.ip} of port ${inside.port}, through router ${inside.router}`;
}

function floatingSentence(floating: FloatingAddress): string {
  return `${floating.outside.ip} leads to ${targetText(floating)}.`;
}

export function floatingAddressesCommand(cli: Cli): Command {
  return commandGroup(
    'floating-addresses',
    'Floating addresses: addresses outside that lead to ports inside',
    listCommand(cli, FLOATING, {
      filters: [
        ['--project <name>', 'only of this project'],
        ['--network <name>', 'only of this external network'],
        ['--router <name>', 'only those that lead through this router'],
        ['--port <id>', 'only those that lead to this port'],
        ['--address <address>', 'only this one'],
        ['--associated <flag>', 'only those that lead somewhere (true), or nowhere (false)'],
      ],
      empty: 'No floating addresses.',
      examples: [['those that are not used', 'muster floating-addresses list --associated false']],
    }),
    showCommand(cli, FLOATING),
    createFloatingAddress(cli),
    associate(cli),
    disassociate(cli),
    deleteCommand(cli, FLOATING, 'Delete floating addresses that are not associated: others can have them then'),
  );
}

interface CreateOptions {
  readonly network: string;
  readonly project?: string;
  readonly address?: string;
  readonly port?: string;
  readonly portIp?: string;
}

function createFloatingAddress(cli: Cli): Command {
  const command = new Command('create')
    .description('Take an address of an external network')
    .requiredOption('--network <name>', 'the external network')
    .option('--project <name>', 'whose it is; "default" if none is named')
    .option('--address <address>', 'this one; else the lowest that is free')
    .option('--port <id>', 'the port inside that it leads to from the start')
    .option('--port-ip <address>', 'which address of the port, if it has more than one');
  addExamples(
    command,
    ['one to use later', 'muster floating-addresses create --network uplink'],
    ['one for a port', 'muster floating-addresses create --network uplink --port port-01jd8x2k9v7q3f5w2m1a'],
  );
  return withAction<CreateOptions>(cli, command, async (session, { options }) => {
    const { network, project, address, port, portIp } = options;
    const body = {
      network,
      ...(project !== undefined && { project }),
      ...(address !== undefined && { ip: address }),
      ...(port !== undefined && { port }),
      ...(portIp !== undefined && { portIp }),
    };
    const floating = await session.client.write<FloatingAddress>('POST', FLOATING.path, { body });
    await session.reportDone(floating, `Floating address ${floating.id} is created: ${floatingSentence(floating)}`);
    return undefined;
  });
}

interface AssociateOptions {
  readonly port: string;
  readonly portIp?: string;
}

function associate(cli: Cli): Command {
  const command = new Command('associate')
    .description('Let a floating address lead to a port; it leads nowhere else from then on')
    .argument('<id>')
    .requiredOption('--port <id>', 'the port inside')
    .option('--port-ip <address>', 'which address of the port, if it has more than one');
  addExamples(command, [
    'to a port',
    `muster floating-addresses associate ${FLOATING.sample} --port port-01jd8x2k9v7q3f5w2m1b`,
  ]);
  return withAction<AssociateOptions>(cli, command, async (session, { args: [id = ''], options }) => {
    const { port, portIp } = options;
    const body = { port, ...(portIp !== undefined && { portIp }) };
    const path = `${resourcePath(FLOATING, id)}/associate`;
    const floating = await session.client.write<FloatingAddress>('POST', path, { body });
    await session.reportDone(floating, floatingSentence(floating));
    return undefined;
  });
}

function disassociate(cli: Cli): Command {
  const command = new Command('disassociate')
    .description('Let floating addresses lead nowhere; they stay with their project')
    .argument('<ids...>');
  addExamples(command, ['one of them', `muster floating-addresses disassociate ${FLOATING.sample}`]);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (id) => {
      const path = `${resourcePath(FLOATING, id)}/disassociate`;
      const value = await session.client.write<FloatingAddress>('POST', path);
      return { value, sentence: floatingSentence(value) };
    }),
  );
}
