// muster flavors: the sizes that instances come in.
import { Command } from 'commander';
import { resourceCounts, resourcesText } from '../output/amounts.ts';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { wholeNumber, parseWords } from '../input/input-file.ts';
import {
  changedFacts,
  createOne,
  deleteCommand,
  listCommand,
  showCommand,
  listText,
  type ResourceSpec,
} from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { diskGiB, gib, memoryMiB, sizesOf, type SizeOptions } from '../output/size.ts';
import type { Flavor } from '../client/representations.ts';

const FLAVORS: ResourceSpec<Flavor> = {
  command: 'flavors',
  kind: 'flavor',
  path: '/api/v1/flavors',
  sample: 'small',
  columns: () => [
    { title: 'name', of: (flavor) => flavor.name, colour: 'bold' },
    { title: 'vcpus', of: (flavor) => flavor.vcpus, align: 'right' },
    { title: 'memory', of: (flavor) => gib(flavor.memoryMiB / 1024), align: 'right' },
    { title: 'disk', of: (flavor) => gib(flavor.diskGiB), align: 'right' },
    { title: 'resources', of: (flavor) => resourcesText(flavor.resources) },
    { title: 'needs', of: (flavor) => listText(flavor.requiredTraits) },
    { title: 'avoids', of: (flavor) => listText(flavor.forbiddenTraits) },
  ],
  facts: (flavor, nowMs) => [
    ['Name', flavor.name],
    ['Vcpus', String(flavor.vcpus)],
    ['Memory', gib(flavor.memoryMiB / 1024)],
    ['Disk', gib(flavor.diskGiB)],
    ['Resources', resourcesText(flavor.resources)],
    ['Needs traits', listText(flavor.requiredTraits)],
    ['Avoids traits', listText(flavor.forbiddenTraits)],
    ...changedFacts(flavor, nowMs),
  ],
};

export function flavorsCommand(cli: Cli): Command {
  return commandGroup(
    'flavors',
    'Sizes that instances come in',
    listCommand(cli, FLAVORS, {
      empty: 'No flavors. Make one with: muster flavors create <name> --vcpus 2 --memory 4GiB',
    }),
    showCommand(cli, FLAVORS),
    createFlavor(cli),
    deleteCommand(cli, FLAVORS, 'Delete flavors that no instance uses'),
  );
}

interface CreateOptions extends SizeOptions {
  readonly resource?: Readonly<Record<string, number>>;
  readonly trait?: readonly string[];
  readonly forbiddenTrait?: readonly string[];
}

function createFlavor(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a flavor: what one instance of it takes, and what its host must have')
    .argument('<name>')
    .requiredOption('--vcpus <count>', 'processors', wholeNumber)
    .requiredOption('--memory <size>', 'memory, such as 4GiB; a number alone is in MiB', memoryMiB)
    .option('--disk <size>', 'disk, such as 20GiB; a number alone is in GiB', diskGiB, 0)
    .option('--resource <name=count>', 'a further resource, such as gpu=1; may be repeated', resourceCounts)
    .option('--trait <names>', 'what the host must be able to do; several with commas', parseWords)
    .option('--forbidden-trait <names>', 'what the host must not have; several with commas', parseWords);
  addExamples(
    command,
    ['a small one', 'muster flavors create small --vcpus 2 --memory 4GiB --disk 20GiB'],
    ['with a graphics card', 'muster flavors create render --vcpus 16 --memory 64GiB --resource gpu=1 --trait nvme'],
  );
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) => {
    const { resource: resources, trait: requiredTraits, forbiddenTrait: forbiddenTraits } = options;
    const body = { name, ...sizesOf(options), ...omitUndefined({ resources, requiredTraits, forbiddenTraits }) };
    return createOne(session, FLAVORS, { body, sentence: (flavor) => `Flavor ${flavor.name} is created.` });
  });
}
