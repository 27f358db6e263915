// muster segments: the parts of a routed network, each reached by some hosts only, and how many addresses are left there.
import { Command, Option } from 'commander';
import { stockCommand } from './address-stock.ts';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { wholeNumber } from '../input/input-file.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  listCommand,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import type { Segment } from '../client/representations.ts';

const TYPES = ['flat', 'vlan', 'vxlan', 'gre', 'geneve'];

const SEGMENTS: ResourceSpec<Segment> = {
  command: 'segments',
  kind: 'segment',
  path: '/api/v1/segments',
  sample: 'rack-a',
  columns: () => [
    { title: 'name', of: (segment) => segment.name, colour: 'bold' },
    { title: 'network', of: (segment) => segment.network },
    { title: 'type', of: typeText },
    { title: 'physical network', of: (segment) => segment.physicalNetwork },
  ],
  facts: (segment, nowMs) => [
    ['Name', segment.name],
    ['Network', segment.network],
    ['Type', typeText(segment)],
    ['Physical network', segment.physicalNetwork ?? 'none: every host reaches it'],
    ['Dynamic', segment.dynamic ? 'made by the network for itself' : undefined],
    ...listChangedFacts(segment, nowMs),
  ],
};

/** `vlan 100`. */
function typeText({ type, segmentationId }: Segment): string {
  return segmentationId === undefined ? type : `${type} ${segmentationId}`;
}

export function segmentsCommand(cli: Cli): Command {
  return commandGroup(
    'segments',
    'Segments of routed networks: which hosts reach them, and what addresses are left',
    listCommand(cli, SEGMENTS, {
      filters: [
        ['--network <name>', 'only of this network'],
        ['--type <type>', `only of this type: ${TYPES.join(', ')}`],
        ['--physical-network <name>', 'only on this physical network'],
      ],
      empty: 'No segments.',
    }),
    showCommand(cli, SEGMENTS),
    createSegment(cli),
    stockCommand(cli, SEGMENTS),
    deleteCommand(cli, SEGMENTS, 'Delete segments that have no subnets'),
  );
}

interface CreateOptions {
  readonly network: string;
  readonly type: string;
  readonly physicalNetwork?: string;
  readonly segmentationId?: number;
}

function createSegment(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a segment of a network; hosts with its physical network reach it')
    .argument('<name>')
    .requiredOption('--network <name>', 'the network it is a part of')
    .addOption(new Option('--type <type>', 'how it is carried').choices(TYPES).default('vlan'))
    .option(
      '--physical-network <name>',
      'needed for flat and vlan: hosts that report it reach the segment. Others have none, and every host reaches them',
    )
    .option(
      '--segmentation-id <number>',
      'the VLAN (1 to 4094) or the number of the tunnel (1 to 16777215)',
      wholeNumber,
    );
  addExamples(command, [
    'a rack with its own VLAN',
    'muster segments create rack-a --network lan --type vlan --segmentation-id 100 --physical-network rack-a',
  ]);
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) => {
    const { network, type, physicalNetwork, segmentationId } = options;
    return createOne(session, SEGMENTS, {
      body: omitUndefined({ name, network, type, physicalNetwork, segmentationId }),
      sentence: (segment) => `Segment ${segment.name} of network ${segment.network} is created.`,
    });
  });
}
