// muster groups: instances that are to be on one host, or on different ones.
import { Command, Option } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { usage } from '../exit-code.ts';
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
import type { ServerGroup } from '../client/representations.ts';

const POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'];

const GROUPS: ResourceSpec<ServerGroup> = {
  command: 'groups',
  kind: 'server group',
  path: '/api/v1/groups',
  sample: 'web',
  columns: () => [
    { title: 'name', of: (one) => one.name, colour: 'bold' },
    { title: 'policy', of: (one) => one.policy },
    { title: 'project', of: (one) => one.project },
  ],
  facts: (one, nowMs) => [
    ['Name', one.name],
    ['Policy', one.policy],
    ['Project', one.project],
    ...(one.movesAtOnce === undefined ? [] : [['Moves at once', String(one.movesAtOnce)] as [string, string]]),
    ...listChangedFacts(one, nowMs),
  ],
};

export function groupsCommand(cli: Cli): Command {
  return commandGroup(
    'groups',
    'Server groups: instances that are to be together or apart',
    listCommand(cli, GROUPS, {
      filters: [
        ['--project <name>', 'only of this project'],
        ['--policy <policy>', `only of this policy: ${POLICIES.join(', ')}`],
      ],
      empty: 'No server groups.',
    }),
    showCommand(cli, GROUPS),
    createGroup(cli),
    limitGroup(cli),
    deleteCommand(cli, GROUPS, 'Delete server groups that have no instances'),
  );
}

interface CreateOptions extends LimitOptions {
  readonly policy: string;
  readonly project?: string;
}

interface LimitOptions {
  readonly movesAtOnce?: number;
  readonly none?: true;
}

function createGroup(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a server group; its policy never changes')
    .argument('<name>')
    .addOption(
      new Option('--policy <policy>', 'on one host or on different ones; soft: as far as it goes')
        .choices(POLICIES)
        .makeOptionMandatory(),
    )
    .option('--project <name>', 'whose it is; "default" if none is named')
    .option('--moves-at-once <count>', 'no more of it leave their hosts at once by scale-in', wholeNumber);
  addExamples(
    command,
    ['never two on one host', 'muster groups create web --policy anti-affinity'],
    ['near each other if possible', 'muster groups create cache --policy soft-affinity'],
  );
  return withAction<CreateOptions>(cli, command, (session, invocation) => {
    const { policy, project, movesAtOnce } = invocation.options;
    return createOne(session, GROUPS, {
      body: omitUndefined({ name: invocation.args[0], policy, project, movesAtOnce }),
      sentence: (made) => `Server group ${made.name} is created: ${made.policy}.`,
    });
  });
}

function limitGroup(cli: Cli): Command {
  const command = new Command('limit')
    .description('Limit how many instances of a server group leave their hosts at once by scale-in')
    .argument('<name>')
    .addOption(new Option('--moves-at-once <count>', 'so many').argParser(wholeNumber).conflicts('none'))
    .option('--none', 'as many as there are');
  addExamples(command, ['one after the other', 'muster groups limit web --moves-at-once 1']);
  return withAction<LimitOptions>(cli, command, async (session, { args, options }) => {
    const { movesAtOnce, none } = options;
    if (movesAtOnce === undefined && none === undefined)
      throw usage('Say how many: --moves-at-once <count>, or --none.');
    const path = `${GROUPS.path}/${encodeURIComponent(args[0] ?? '')}`;
    const limited = await session.client.write<ServerGroup>('PATCH', path, {
      body: { movesAtOnce: movesAtOnce ?? null },
    });
    const many = limited.movesAtOnce === undefined ? 'as many as there are' : `at most ${limited.movesAtOnce}`;
    await session.reportDone(limited, `Server group ${limited.name}: ${many} leave their hosts at once.`);
    return undefined;
  });
}
