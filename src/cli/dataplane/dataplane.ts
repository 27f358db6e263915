// muster dataplane: what should be on the switch of a host and why; on a compute node, what really is there.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { dataplaneDiff, dataplaneTrace } from './node.ts';
import { hostPath } from '../hosts/host-text.ts';
import { wholeNumber } from '../input/input-file.ts';
import type { Paint } from '../output/paint.ts';
import { sanitizeLine } from '../output/text-width.ts';
import type { Dataplane } from '../client/representations.ts';

export function dataplaneCommand(cli: Cli): Command {
  return commandGroup(
    'dataplane',
    'Show the flows on the switches of hosts, the expected ones, and why',
    showDataplane(cli),
    dataplaneDiff(cli),
    dataplaneTrace(cli),
  );
}

type Flow = Dataplane['flows'][number];

interface ShowOptions {
  readonly table?: string;
  readonly owner?: string;
  readonly text?: string;
  readonly limit: number;
}

function showDataplane(cli: Cli): Command {
  const command = new Command('show')
    .description('Show what should be on the switch of a host, table by table, and why')
    .argument('<host>')
    .option('--table <table>', 'only flows of this table, by number or by name, such as 15 or route')
    .option('--owner <owner>', 'only what is there for this, such as service/nat:edge or only nat:edge')
    .option('--text <text>', 'only flows that contain this text in the flow, the owner or the sentence')
    .option('--limit <count>', 'at most so many flows', wholeNumber, 1000);
  addExamples(
    command,
    ['one host', 'muster dataplane show compute-1'],
    ['what a service wants there', 'muster dataplane show compute-1 --owner nat:edge'],
    ['where packets are routed', 'muster dataplane show compute-1 --table route'],
  );
  return withAction<ShowOptions>(cli, command, async (session, { args: [host = ''], options }) => {
    const { table, owner, text, limit } = options;
    const query = { table, owner, text, limit };
    const shown = await session.client.get<Dataplane>(`${hostPath(host)}/dataplane`, query);
    if (session.output !== 'table') {
      await session.writeValue(shown);
      return undefined;
    }
    const isWhole = table === undefined && owner === undefined && text === undefined;
    const blocks = [
      ...tableBlocks(shown.flows, session.paint),
      ...otherBlocks(shown, { isWhole, paint: session.paint }),
    ];
    session.terminal.out(blocks.map((lines) => lines.map((line) => `${line}\n`).join('')).join('\n'));
    if (shown.excluded) session.note(`${host} is removed or not trusted: nothing of Muster should be on its switch.`);
    else if (shown.count === 0) session.note(`No such flow should be on the switch of ${host}.`);
    if (shown.count > shown.flows.length) {
      session.note(`These are the first ${shown.flows.length} of ${shown.count} flows; --limit shows more.`);
    }
    return undefined;
  });
}

/** A line a flow: what it matches, what it does, whose it is and why. */
function tableBlocks(flows: readonly Flow[], paint: Paint): string[][] {
  const tables = Map.groupBy(flows, ({ table }) => table);
  return [...tables].map(([table, those]) => {
    const title = `Table ${table} ${those[0]?.tableName ?? ''}`;
    const lines = those.map(({ priority, match, actions, owner, sentence }) => {
      const flow = `  ${String(priority).padStart(3)}  ${match === '' ? 'everything' : match} -> ${actions}`;
      return `${sanitizeLine(flow)}  ${paint('dim', `# ${sanitizeLine(`${owner.kind} ${owner.id}`)}: ${sentence}`)}`;
    });
    return [paint('bold', title), ...lines];
  });
}

function otherBlocks(
  { groups, tunnels, externalIds, gaps }: Dataplane,
  { isWhole, paint }: { readonly isWhole: boolean; readonly paint: Paint },
): string[][] {
  const groupLines = groups.map(({ id, type, buckets, owner }) => {
    const whose = paint('dim', `# ${sanitizeLine(`${owner.kind} ${owner.id}`)}`);
    return `  ${id} ${type} ${buckets.map((bucket) => `[${sanitizeLine(bucket)}]`).join(' ')}  ${whose}`;
  });
  const tunnelLines = isWhole ? tunnels.map(({ peer, address }) => `  ${sanitizeLine(peer)} at ${address}`) : [];
  const idLines = isWhole
    ? Object.entries(externalIds).map(([key, value]) => `  ${sanitizeLine(`${key}=${value}`)}`)
    : [];
  const gapLines = gaps.map(({ sentence }) => `  ${sanitizeLine(sentence)}`);
  return [
    ...titledBlock('Groups', groupLines, paint),
    ...titledBlock('Tunnels', tunnelLines, paint),
    ...titledBlock('External ids', idLines, paint),
    ...titledBlock('Wanted, and not to be had', gapLines, paint),
  ];
}

function titledBlock(title: string, lines: readonly string[], paint: Paint): string[][] {
  return lines.length === 0 ? [] : [[paint('bold', title), ...lines]];
}
