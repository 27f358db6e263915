// muster flavors: the sizes that instances come in.
import { Command } from 'commander';
import { resourceCounts, resourcesText } from '../output/amounts.ts';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { decimal, wholeNumber, parseWords } from '../input/input-file.ts';
import { namedValues } from '../input/pairs.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  listCommand,
  showCommand,
  listText,
  type ResourceSpec,
} from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { diskGiB, gib, memoryMiB, sizesOf, type SizeOptions } from '../output/size.ts';
import type { LabelledFacts } from '../session.ts';
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
    { title: 'built on', of: (flavor) => (flavor.bareMetal === undefined ? 'hosts' : 'nodes') },
  ],
  facts: (flavor, nowMs) => [
    ['Name', flavor.name],
    ['Vcpus', String(flavor.vcpus)],
    ['Memory', gib(flavor.memoryMiB / 1024)],
    ['Disk', gib(flavor.diskGiB)],
    ['Resources', resourcesText(flavor.resources)],
    ['Needs traits', listText(flavor.requiredTraits)],
    ['Avoids traits', listText(flavor.forbiddenTraits)],
    ...bareMetalFacts(flavor),
    ...listChangedFacts(flavor, nowMs),
  ],
};

function bareMetalFacts({ bareMetal }: Flavor): LabelledFacts {
  if (bareMetal === undefined) return [];
  const { ephemeralGiB, swapMiB, rxtxFactor, extraSpecs = {} } = bareMetal;
  return [
    ['Built on', 'bare-metal nodes'],
    ['Ephemeral disk', ephemeralGiB === undefined ? undefined : gib(ephemeralGiB)],
    ['Swap', swapMiB === undefined ? undefined : `${swapMiB} MiB`],
    ['Rxtx factor', rxtxFactor === undefined ? undefined : String(rxtxFactor)],
    ['Extra specs', listText(Object.entries(extraSpecs).map(([name, value]) => `${name}=${value}`))],
  ];
}

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
  readonly bareMetal?: true;
  readonly ephemeral?: number;
  readonly swap?: number;
  readonly rxtxFactor?: number;
  readonly extraSpec?: Readonly<Record<string, string>>;
}

/** One of its options says that it is bare-metal, too. */
function bareMetalOf(options: CreateOptions): object | undefined {
  const { bareMetal, ephemeral: ephemeralGiB, swap: swapMiB, rxtxFactor, extraSpec: extraSpecs } = options;
  const extraAmounts = omitUndefined({ ephemeralGiB, swapMiB, rxtxFactor, extraSpecs });
  return bareMetal === true || Object.keys(extraAmounts).length > 0 ? extraAmounts : undefined;
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
    .option('--forbidden-trait <names>', 'what the host must not have; several with commas', parseWords)
    .option('--bare-metal', 'each instance gets a bare-metal node; the sizes are what the node has at least')
    .option('--ephemeral <size>', 'of a node: further disk, such as 100GiB; a number alone is in GiB', diskGiB)
    .option('--swap <size>', 'of a node: swap space, such as 2GiB; a number alone is in MiB', memoryMiB)
    .option('--rxtx-factor <number>', 'of a node: kept with the flavor, and matched with nothing', decimal)
    .option(
      '--extra-spec <name=value>',
      'of a node: its class, a trait or a capability, such as resources:CUSTOM_GPU=1; may be repeated',
      namedValues,
    );
  addExamples(
    command,
    ['a small one', 'muster flavors create small --vcpus 2 --memory 4GiB --disk 20GiB'],
    ['with a graphics card', 'muster flavors create render --vcpus 16 --memory 64GiB --resource gpu=1 --trait nvme'],
    [
      'a machine of its own',
      'muster flavors create metal-gpu --vcpus 8 --memory 64GiB --bare-metal --extra-spec resources:CUSTOM_GPU=1',
    ],
  );
  return withAction<CreateOptions>(cli, command, (session, { args: [name], options }) => {
    const { resource: resources, trait: requiredTraits, forbiddenTrait: forbiddenTraits } = options;
    const bareMetal = bareMetalOf(options);
    const body = {
      name,
      ...sizesOf(options),
      ...omitUndefined({ resources, requiredTraits, forbiddenTraits, bareMetal }),
    };
    return createOne(session, FLAVORS, { body, sentence: (flavor) => `Flavor ${flavor.name} is created.` });
  });
}
