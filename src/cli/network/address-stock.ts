// muster networks stock, segments stock: how many addresses are left, and where.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { resourcePath, type ResourceSpec } from '../resource-commands.ts';
import type { TableColumn } from '../output/table.ts';
import type { NetworkStock } from '../client/representations.ts';

type PoolStock = NetworkStock['stock'][number];

const STOCK_COLUMNS: readonly TableColumn<PoolStock>[] = [
  { title: 'segment', of: (one) => one.segment, colour: 'bold' },
  { title: 'version', of: (one) => `IPv${one.version}` },
  { title: 'total', of: (one) => one.total, align: 'right' },
  { title: 'held', of: (one) => one.held, align: 'right' },
  { title: 'claimed', of: (one) => one.claimed, align: 'right' },
  { title: 'free', of: (one) => one.free, align: 'right' },
];

export function stockCommand<R>(cli: Cli, resource: ResourceSpec<R>): Command {
  const { command: word, kind, sample } = resource;
  const command = new Command('stock')
    .description(`Show how many addresses a ${kind} has, holds, has promised, and has left`)
    .argument('<name>');
  addExamples(command, ['what is left', `muster ${word} stock ${sample}`]);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const path = `${resourcePath(resource, name)}/stock`;
    const answer = await session.client.get<{ readonly stock: readonly PoolStock[] }>(path);
    if (session.output !== 'table') await session.writeValue(answer);
    else
      await session.writeList(
        answer.stock,
        STOCK_COLUMNS,
        `There is no subnet, and so no address, in ${kind} ${name}.`,
      );
    return undefined;
  });
}
