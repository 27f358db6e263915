// muster transport-zones: which hosts have tunnels with each other.
import { Command, Option } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import {
  listChangedFacts,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { TransportZone } from '../client/representations.ts';

const MESHES = ['full', 'needed'] as const;

const MESH_TEXTS: Readonly<Record<TransportZone['mesh'], string>> = {
  full: 'each host has tunnels with all others',
  needed: 'each host has tunnels with those that it shares a network or a router with',
};

const ZONES: ResourceSpec<TransportZone> = {
  command: 'transport-zones',
  kind: 'transport zone',
  path: '/api/v1/transport-zones',
  sample: 'default',
  columns: () => [
    { title: 'name', of: (zone) => zone.name, colour: 'bold' },
    { title: 'mesh', of: (zone) => zone.mesh },
    { title: 'by', of: (zone) => zone.changedBy },
  ],
  facts: (zone, nowMs) => [
    ['Name', zone.name],
    ['Mesh', `${zone.mesh}: ${MESH_TEXTS[zone.mesh]}`],
    ...listChangedFacts(zone, nowMs),
  ],
};

export function transportZonesCommand(cli: Cli): Command {
  return commandGroup(
    'transport-zones',
    'Transport zones: hosts of one have tunnels with each other',
    listCommand(cli, ZONES, {
      filters: [['--mesh <kind>', `only of this kind: ${MESHES.join(', ')}`]],
      empty: 'No transport zones, so no host has tunnels. Make one with: muster transport-zones create default',
    }),
    showCommand(cli, ZONES),
    createZone(cli),
    editZone(cli),
    deleteCommand(cli, ZONES, 'Delete transport zones that no host is in'),
  );
}

interface MeshOptions {
  readonly mesh?: string;
}

function createZone(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a transport zone; hosts that name it are in it at once')
    .argument('<name>')
    .addOption(new Option('--mesh <kind>', 'with all of its hosts, or with those that are needed').choices(MESHES));
  addExamples(
    command,
    ['tunnels where they are needed', 'muster transport-zones create large'],
    ['tunnels between all its hosts', 'muster transport-zones create rack-a --mesh full'],
  );
  return withAction<MeshOptions>(cli, command, async (session, { args: [name], options: { mesh } }) => {
    const body = { name, ...(mesh !== undefined && { mesh }) };
    const zone = await session.client.write<TransportZone>('POST', ZONES.path, { body });
    await session.reportDone(zone, `Transport zone ${zone.name} is created: ${MESH_TEXTS[zone.mesh]}.`);
    return undefined;
  });
}

function editZone(cli: Cli): Command {
  const command = new Command('edit')
    .description('Change which hosts of a zone have tunnels with each other')
    .argument('<name>')
    .addOption(
      new Option('--mesh <kind>', 'with all of its hosts, or with those that are needed')
        .choices(MESHES)
        .makeOptionMandatory(),
    );
  addExamples(command, ['only where they are needed', 'muster transport-zones edit default --mesh needed']);
  return withAction<MeshOptions>(cli, command, async (session, { args: [name = ''], options: { mesh } }) => {
    const zone = await session.client.write<TransportZone>('PATCH', resourcePath(ZONES, name), { body: { mesh } });
    await session.writeOne(zone, ZONES.facts(zone, session.nowMs()));
    return undefined;
  });
}
