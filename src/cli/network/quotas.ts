// muster quotas: the limits of projects, and their usage.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { NothingSaid } from '../exit-code.ts';
import { wholeNumber } from '../input/input-file.ts';
import {
  listChangedFacts,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import { memoryMiB } from '../output/size.ts';
import type { TableColumn } from '../output/table.ts';
import type { Quota } from '../client/representations.ts';

const QUOTA_RESOURCES = ['instances', 'vcpus', 'memoryMiB', 'ports'] as const;
type QuotaResource = (typeof QUOTA_RESOURCES)[number];

const TITLES: Readonly<Record<QuotaResource, string>> = {
  instances: 'Instances',
  vcpus: 'Vcpus',
  memoryMiB: 'Memory, MiB',
  ports: 'Ports',
};

/** `3 of 10`, or `3, no limit`. */
function limitText({ used, ...quota }: Quota, what: QuotaResource): string {
  const limit = quota[what];
  if (used === undefined) return limit === undefined ? 'no limit' : String(limit);
  return limit === undefined ? `${used[what]}, no limit` : `${used[what]} of ${limit}`;
}

const QUOTAS: ResourceSpec<Quota> = {
  command: 'quotas',
  kind: 'quota',
  path: '/api/v1/quotas',
  sample: 'shop',
  columns: () => [
    { title: 'project', of: (quota) => quota.project, colour: 'bold' },
    ...QUOTA_RESOURCES.map((what): TableColumn<Quota> => ({
      title: TITLES[what],
      of: (quota) => limitText(quota, what),
      align: 'right',
    })),
  ],
  facts: (quota, nowMs) => [
    ['Project', quota.project],
    ...QUOTA_RESOURCES.map((what) => [TITLES[what], limitText(quota, what)] as const),
    ...listChangedFacts(quota, nowMs),
  ],
};

export function quotasCommand(cli: Cli): Command {
  return commandGroup(
    'quotas',
    'What projects may have at most',
    listCommand(cli, QUOTAS, { empty: 'No quotas: every project may have as much as fits.' }),
    showCommand(cli, QUOTAS),
    setQuota(cli),
    deleteCommand(cli, QUOTAS, 'Take the quotas of projects away: they may have as much as fits'),
  );
}

type Limit = number | 'none';

interface SetOptions {
  readonly instances?: Limit;
  readonly vcpus?: Limit;
  readonly memory?: Limit;
  readonly ports?: Limit;
}

function setQuota(cli: Cli): Command {
  const command = new Command('set')
    .description('Say what a project may have; what is not named stays as it is')
    .argument('<project>')
    .option('--instances <count>', 'instances at most; as of the others, "none" for no limit', limitOf(wholeNumber))
    .option('--vcpus <count>', 'processors of all its instances at most', limitOf(wholeNumber))
    .option(
      '--memory <size>',
      'memory of all its instances at most, such as 64GiB; a number alone is in MiB',
      limitOf(memoryMiB),
    )
    .option('--ports <count>', 'ports at most', limitOf(wholeNumber));
  addExamples(
    command,
    ['a small project', 'muster quotas set shop --instances 10 --vcpus 40'],
    ['ports without limit', 'muster quotas set shop --ports none'],
  );
  return withAction<SetOptions>(cli, command, async (session, { args: [project = ''], options }) => {
    const { instances, vcpus, memory, ports } = options;
    const said = { instances, vcpus, memoryMiB: memory, ports };
    if (QUOTA_RESOURCES.every((what) => said[what] === undefined)) throw new NothingSaid('limit');
    const path = resourcePath(QUOTAS, project);
    // A quota is said as a whole: what is not named is taken from what is there, if that is still there then.
    const before = await session.client.find<Quota>(path);
    const body: Partial<Record<QuotaResource, number>> = {};
    for (const what of QUOTA_RESOURCES) {
      const limit = said[what] ?? before?.[what];
      if (limit !== undefined && limit !== 'none') body[what] = limit;
    }
    const headers = before === undefined ? {} : { 'if-match': `"${before.revision}"` };
    const quota = await session.client.write<Quota>('PUT', path, { body, headers });
    await session.writeOne(quota, QUOTAS.facts(quota, session.nowMs()));
    return undefined;
  });
}

function limitOf(parse: (text: string) => number): (text: string) => Limit {
  return (text) => (text === 'none' ? text : parse(text));
}
