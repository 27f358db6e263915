// muster hosts segments: which segments of routed networks a host reaches.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { hostPath } from './host-text.ts';
import type { TableColumn } from '../output/table.ts';
import type { HostSegment } from '../client/representations.ts';

const COLUMNS: readonly TableColumn<HostSegment>[] = [
  { title: 'segment', of: (one) => one.segment, colour: 'bold' },
  { title: 'network', of: (one) => one.network },
  { title: 'over', of: (one) => one.physicalNetwork ?? 'nothing: every host reaches it' },
];

export function hostSegments(cli: Cli): Command {
  const command = new Command('segments')
    .description('Show the segments that a host reaches: they follow from its physical networks')
    .argument('<name>');
  addExamples(command, ['one host', 'muster hosts segments compute-1']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const { items } = await session.client.get<{ readonly items: readonly HostSegment[] }>(
      `${hostPath(name)}/segments`,
    );
    await session.writeList(
      items,
      COLUMNS,
      `${name} reaches no segment; networks without segments are reached by every host.`,
    );
    return undefined;
  });
}
