// muster baremetal capacity: how many nodes are free, in use, being cleaned or out of service.
import { Command } from 'commander';
import { addExamples, withAction, type Cli } from '../command.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { relativeTime } from '../output/duration.ts';
import type { TableColumn } from '../output/table.ts';
import type { Capacity } from '../client/representations.ts';

interface CapacityOptions {
  readonly site?: string;
  readonly resourceClass?: string;
}

interface CapacityRow extends Pick<Capacity, 'total' | 'buckets'> {
  readonly of: string;
}

const COLUMNS: readonly TableColumn<CapacityRow>[] = [
  { title: 'nodes', of: (row) => row.of, colour: 'bold' },
  { title: 'total', of: (row) => row.total, align: 'right' },
  ...(['free', 'reserved', 'deploying', 'active', 'cleaning', 'unavailable'] as const).map(
    (bucket): TableColumn<CapacityRow> => ({ title: bucket, of: (row) => row.buckets[bucket], align: 'right' }),
  ),
];

export function showCapacity(cli: Cli): Command {
  const command = new Command('capacity')
    .description('Show how many nodes are free, in use, being cleaned or unavailable')
    .option('--site <name>', 'only nodes of this site')
    .option('--resource-class <class>', 'only nodes of this class');
  addExamples(
    command,
    ['the whole fleet', 'muster baremetal capacity'],
    ['one class', 'muster baremetal capacity --resource-class baremetal.with-GPU'],
  );
  return withAction<CapacityOptions>(cli, command, async (session, { options: { site, resourceClass } }) => {
    const capacity = await session.client.get<Capacity>('/api/v1/capacity', omitUndefined({ site, resourceClass }));
    if (session.output !== 'table') {
      await session.writeValue(capacity);
      return undefined;
    }
    await session.writeList(rowsOf(capacity), COLUMNS, '');
    for (const note of notesOf(capacity, session.nowMs())) session.note(note);
    return undefined;
  });
}

/** All of them; then by site and by class, where there is more than one. */
function rowsOf({ total, buckets, sites, resourceClasses }: Capacity): CapacityRow[] {
  return [
    { of: 'all', total, buckets },
    ...sites.map(({ site, ...row }) => ({ of: site === undefined ? 'in no site' : `in site ${site}`, ...row })),
    ...resourceClasses.map(({ resourceClass, ...row }) => ({
      of: resourceClass === undefined ? 'without a class' : `of class ${resourceClass}`,
      ...row,
    })),
  ];
}

function notesOf({ stale, resourceClassesLeftOut }: Capacity, nowMs: number): string[] {
  const notes: string[] = [];
  if (stale !== undefined) {
    const names = stale.inventories.join(', ');
    notes.push(
      `Nodes of ${names} are counted as they were seen ${relativeTime(stale.sinceMs, nowMs)}: it does not answer.`,
    );
  }
  if (resourceClassesLeftOut !== undefined)
    notes.push(`${resourceClassesLeftOut} more classes are left out. Name one with --resource-class.`);
  return notes;
}
