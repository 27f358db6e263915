// muster baremetal nodes: enrol machines, describe them, take them out of service.
import { Command } from 'commander';
import { addExamples, commandGroup, withAction, type Cli } from '../command.ts';
import { NothingSaid, usage } from '../exit-code.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { parseWords, wholeNumber } from '../input/input-file.ts';
import { diskGiB, memoryMiB } from '../output/size.ts';
import { createOne, deleteCommand, forEachName, listCommand, resourcePath, showCommand } from '../resource-commands.ts';
import type { Node } from '../client/representations.ts';
import { nodeImport } from './import.ts';
import { NODES } from './node-text.ts';

export function nodeCommands(cli: Cli): Command {
  return commandGroup(
    'nodes',
    'Enrol machines, describe them, take them out of service',
    listCommand(cli, NODES, {
      empty: 'No nodes. Enrol some with: muster baremetal nodes import <file>',
      filters: [
        ['--site <name>', 'only nodes of this site'],
        ['--state <state>', 'only nodes in this state, such as available, active, clean-failed or removed'],
        ['--bucket <bucket>', 'only nodes that count as free, reserved, deploying, active, cleaning or unavailable'],
        ['--resource-class <class>', 'only nodes of this class'],
        ['--trait <name>', 'only nodes with this trait'],
        ['--manager <name>', 'only nodes that this manager acts on'],
        ['--instance <name>', 'the node of this instance'],
        ['--inventory <name>', 'only nodes of this inventory: simulated or ironic'],
        ['--maintenance <yes>', 'only nodes in maintenance (true), or not (false)'],
      ],
      examples: [['those that need an operator', 'muster baremetal nodes list --state clean-failed']],
    }),
    showCommand(cli, NODES),
    createNode(cli),
    nodeImport(cli),
    editNode(cli),
    maintenance(cli),
    confirmClean(cli),
    deleteCommand(cli, NODES, 'Delete nodes that no instance has; their names and epochs are kept'),
  );
}

interface FactOptions {
  readonly resourceClass?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly arch?: string;
  readonly trait?: readonly string[];
  readonly capabilities?: string;
  readonly site?: string;
  readonly physicalNetwork?: readonly string[];
  readonly owner?: string;
  readonly lessee?: string;
}

/** `none`: what an empty text means. */
function withFacts(command: Command, none: string): Command {
  return command
    .option('--resource-class <class>', `what sort of machine it is${none}`)
    .option('--cpus <count>', 'processors', wholeNumber)
    .option('--memory <size>', 'memory, such as 64GiB; a number alone is in MiB', memoryMiB)
    .option('--disk <size>', 'local disk, such as 2TiB; a number alone is in GiB', diskGiB)
    .option('--arch <name>', `architecture of its processors${none}`)
    .option('--trait <names>', 'all its traits, with commas', parseWords)
    .option('--capabilities <text>', `as name:value, with commas${none}`)
    .option('--site <name>', `where it is${none}`)
    .option('--physical-network <names>', 'all networks that it is wired to, with commas', parseWords)
    .option('--owner <project>', `only this project and the lessee get it${none}`)
    .option('--lessee <project>', `who gets it instead of its owner${none}`);
}

function factsOf(options: FactOptions) {
  const { resourceClass, cpus, memory, disk, arch, trait, capabilities, site, physicalNetwork } = options;
  const { owner, lessee } = options;
  return omitUndefined({
    ...{ resourceClass, cpus, memoryMiB: memory, localGiB: disk, cpuArch: arch, traits: trait, capabilities, site },
    ...{ physicalNetworks: physicalNetwork, owner, lessee },
  });
}

function createNode(cli: Cli): Command {
  const command = withFacts(
    new Command('create').description('Enrol a machine; it is free from then on').argument('<name>'),
    '',
  );
  addExamples(command, [
    'a machine',
    'muster baremetal nodes create rack1-u07 --resource-class baremetal.small --cpus 8 --memory 64GiB --disk 480GiB',
  ]);
  return withAction<FactOptions>(cli, command, (session, { args: [name], options }) =>
    createOne(session, NODES, { body: { name, ...factsOf(options) }, sentence: ({ id }) => `Node ${id} is enrolled.` }),
  );
}

function editNode(cli: Cli): Command {
  const command = withFacts(
    new Command('edit')
      .description('Change what is said of a node; what is not named stays as it is')
      .argument('<name>'),
    '; "" for none',
  ).option('--if-revision <number>', 'only if it has not changed since this revision', wholeNumber);
  addExamples(command, ['another class', 'muster baremetal nodes edit rack1-u07 --resource-class baremetal.large']);
  return withAction<FactOptions & { readonly ifRevision?: number }>(
    cli,
    command,
    async (session, { args: [name = ''], options }) => {
      const said = Object.entries(factsOf(options));
      if (said.length === 0) throw new NothingSaid('change');
      const body = Object.fromEntries(said.map(([field, value]) => [field, value === '' ? null : value]));
      const headers = options.ifRevision === undefined ? {} : { 'if-match': `"${options.ifRevision}"` };
      const node = await session.client.write<Node>('PATCH', resourcePath(NODES, name), { body, headers });
      await session.writeOne(node, NODES.facts(node, session.nowMs()));
      return undefined;
    },
  );
}

interface MaintenanceOptions {
  readonly reason?: string;
  readonly end?: boolean;
}

function maintenance(cli: Cli): Command {
  const command = new Command('maintenance')
    .description('Take nodes into maintenance, or out of it: they are not offered meanwhile; instances on them stay')
    .argument('<names...>')
    .option('--reason <text>', 'why, for the history')
    .option('--end', 'take them out of it');
  addExamples(
    command,
    ['before a repair', 'muster baremetal nodes maintenance rack1-u07 --reason "new fan"'],
    ['after it', 'muster baremetal nodes maintenance rack1-u07 --end'],
  );
  return withAction<MaintenanceOptions>(cli, command, (session, { args, options: { reason, end } }) => {
    if ((reason === undefined) === (end !== true)) throw usage('Say why with --reason, or end it with --end.');
    return forEachName(session, args, async (name) => {
      const path = `${resourcePath(NODES, name)}/maintenance`;
      if (reason === undefined) {
        const value = await session.client.write<Node>('DELETE', path);
        return { value, sentence: `${name} is in service again.` };
      }
      const value = await session.client.write<Node>('PUT', path, { body: { reason } });
      return { value, sentence: `${name} is in maintenance: ${reason}` };
    });
  });
}

function confirmClean(cli: Cli): Command {
  const command = new Command('confirm-clean')
    .description('State that there is no data on nodes that could not be cleaned: they are free then, so be certain')
    .argument('<names...>')
    .requiredOption('--reason <text>', 'how you know, for the history');
  addExamples(command, [
    'its disks are new',
    'muster baremetal nodes confirm-clean rack1-u07 --reason "disks replaced"',
  ]);
  return withAction<{ readonly reason: string }>(cli, command, (session, { args, options: { reason } }) =>
    forEachName(session, args, async (name) => {
      const path = `${resourcePath(NODES, name)}/confirm-clean`;
      const value = await session.client.write<Node>('POST', path, { body: { reason } });
      return { value, sentence: `${name} is ${value.state}.` };
    }),
  );
}
