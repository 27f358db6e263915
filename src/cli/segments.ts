// muster segments: the parts of a routed network, each reached by some hosts only, and how many addresses are left there.
import { Command, Option } from 'commander';
import { act, examples, group, type Cli } from './command.ts';
import { wholeNumber } from './input-file.ts';
import {
  changedFacts,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  type Changed,
  type Resource,
} from './resource-commands.ts';
import type { Column } from './table.ts';

interface Segment extends Changed {
  readonly name: string;
  readonly network: string;
  readonly type: string;
  readonly physicalNetwork?: string;
  readonly segmentationId?: number;
  readonly dynamic: boolean;
}

const TYPES = ['flat', 'vlan', 'vxlan', 'gre', 'geneve'];

export const SEGMENTS: Resource<Segment> = {
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
    ...changedFacts(segment, nowMs),
  ],
};

/** `vlan 100`. */
function typeText({ type, segmentationId }: Segment): string {
  return segmentationId === undefined ? type : `${type} ${segmentationId}`;
}

export function segmentsCommand(cli: Cli): Command {
  return group(
    'segments',
    'Segments of routed networks: which hosts reach them, and what addresses are left',
    listCommand(cli, SEGMENTS, {
      filters: [
        ['--network <name>', 'only of this network'],
        ['--physical-network <name>', 'only on this physical network'],
      ],
      empty: 'No segments.',
    }),
    showCommand(cli, SEGMENTS),
    createSegment(cli),
    segmentStock(cli),
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
    .option('--physical-network <name>', 'hosts that report it reach the segment; else every host does')
    .option('--segmentation-id <number>', 'the VLAN or tunnel number', wholeNumber);
  examples(command, [
    'a rack with its own VLAN',
    'muster segments create rack-a --network lan --type vlan --segmentation-id 100 --physical-network rack-a',
  ]);
  return act<CreateOptions>(cli, command, async (session, { args: [name], options }) => {
    const { network, type, physicalNetwork, segmentationId } = options;
    const body = {
      name,
      network,
      type,
      ...(physicalNetwork !== undefined && { physicalNetwork }),
      ...(segmentationId !== undefined && { segmentationId }),
    };
    const segment = await session.client.write<Segment>('POST', SEGMENTS.path, { body });
    await session.done(segment, `Segment ${segment.name} of network ${segment.network} is created.`);
    return undefined;
  });
}

/** Figures may exceed what a number holds exactly, so they are text: a /64 has 2^64 addresses. */
export interface StockFigures {
  readonly version: number;
  readonly total: string;
  readonly held: string;
  readonly claimed: string;
  readonly free: string;
}

const STOCK_COLUMNS: readonly Column<StockFigures>[] = [
  { title: 'version', of: (one) => `IPv${one.version}`, colour: 'bold' },
  { title: 'total', of: (one) => one.total, align: 'right' },
  { title: 'held', of: (one) => one.held, align: 'right' },
  { title: 'claimed', of: (one) => one.claimed, align: 'right' },
  { title: 'free', of: (one) => one.free, align: 'right' },
];

function segmentStock(cli: Cli): Command {
  const command = new Command('stock')
    .description('Show how many addresses a segment has, holds, has promised, and has left')
    .argument('<name>');
  examples(command, ['what is left in a rack', 'muster segments stock rack-a']);
  return act(cli, command, async (session, { args: [name = ''] }) => {
    const stock = await session.client.get<{ readonly versions: readonly StockFigures[] }>(
      `${resourcePath(SEGMENTS, name)}/stock`,
    );
    if (session.output !== 'table') await session.value(stock);
    else await session.list(stock.versions, STOCK_COLUMNS, `Segment ${name} has no subnet, and so no addresses.`);
    return undefined;
  });
}
