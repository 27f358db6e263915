// muster hosts edit: changes the fields of a host that operators set.
import { Command } from 'commander';
import { resourceCounts } from '../output/amounts.ts';
import { withAction, addExamples, type Cli } from '../command.ts';
import { NothingSaid } from '../exit-code.ts';
import { hostFacts, hostPath } from './host-text.ts';
import { addressOrNone, wholeNumber, parseWords } from '../input/input-file.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { diskGiB, memoryMiB, sizesOf, type SizeOptions } from '../output/size.ts';
import type { Host } from '../client/representations.ts';

interface EditOptions extends SizeOptions {
  readonly zone?: string;
  readonly aggregate?: readonly string[];
  readonly trait?: readonly string[];
  readonly resource?: Readonly<Record<string, number>>;
  readonly physicalNetwork?: readonly string[];
  readonly tunnelAddress?: string;
  readonly transportZone?: string;
  readonly baseWeight?: number;
  readonly ifRevision?: number;
}

export function hostEdit(cli: Cli): Command {
  const command = new Command('edit')
    .description('Change what is said of a host; what is not named stays as it is')
    .argument('<name>')
    .option('--zone <name>', 'availability zone')
    .option('--aggregate <names>', 'all its aggregates, with commas; "" for none', parseWords)
    .option('--trait <names>', 'all its traits, with commas; "" for none', parseWords)
    .option('--resource <name=count>', 'all its further resources, such as gpu=4; may be repeated', resourceCounts)
    .option('--physical-network <names>', 'all its physical networks, with commas; "" for none', parseWords)
    .option('--tunnel-address <address>', 'IPv4 or IPv6; "" takes it away', addressOrNone)
    .option('--transport-zone <name>', 'the zone of the hosts that it has tunnels with; "" for "default"')
    .option(
      '--base-weight <number>',
      'so many services fewer are counted for it in elections: the higher, the more it gets',
      wholeNumber,
    )
    .option('--vcpus <count>', 'processors', wholeNumber)
    .option('--memory <size>', 'memory, such as 64GiB; a number alone is in MiB', memoryMiB)
    .option('--disk <size>', 'disk, such as 2TiB; a number alone is in GiB', diskGiB)
    .option('--if-revision <number>', 'only if it has not changed since this revision', wholeNumber);
  addExamples(
    command,
    ['another zone', 'muster hosts edit compute-1 --zone b'],
    ['more memory, two traits', 'muster hosts edit compute-1 --memory 256GiB --trait gpu,nvme'],
  );
  return withAction<EditOptions>(cli, command, async (session, { args: [name = ''], options }) => {
    const edit: { capacity?: object } = editOf(options);
    const sizes = sizesOf(options);
    if (Object.keys(edit).length + Object.keys(sizes).length === 0) throw new NothingSaid('change');
    let revision = options.ifRevision;
    if (Object.keys(sizes).length > 0) {
      // A capacity is changed as a whole: the rest of it is taken from what is there, if that is still there then.
      const before = await session.client.get<Host>(hostPath(name));
      edit.capacity = { ...before.capacity, ...sizes };
      revision ??= before.revision;
    }
    const headers = revision === undefined ? {} : { 'if-match': `"${revision}"` };
    const host = await session.client.write<Host>('PATCH', hostPath(name), { body: edit, headers });
    await session.writeOne(host, hostFacts(host, session.nowMs()));
    return undefined;
  });
}

function editOf(options: EditOptions): object {
  const { zone, aggregate, trait, resource, physicalNetwork, tunnelAddress, transportZone, baseWeight } = options;
  return omitUndefined({
    zone,
    aggregates: aggregate,
    traits: trait,
    resources: resource,
    physicalNetworks: physicalNetwork,
    tunnelAddress: tunnelAddress === '' ? null : tunnelAddress,
    transportZone: transportZone === '' ? null : transportZone,
    baseWeight,
  });
}
