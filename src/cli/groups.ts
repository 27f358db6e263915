// muster groups: instances that are to be on one host, or on different ones.
import { Command, Option } from 'commander';
import { act, examples, group, type Cli } from './command.ts';
import {
  changedFacts,
  createOne,
  deleteCommand,
  listCommand,
  showCommand,
  type Changed,
  type Resource,
} from './resource-commands.ts';
import { said } from './said.ts';

interface Group extends Changed {
  readonly name: string;
  readonly project: string;
  readonly policy: string;
}

const POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'];

const GROUPS: Resource<Group> = {
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
    ...changedFacts(one, nowMs),
  ],
};

export function groupsCommand(cli: Cli): Command {
  return group(
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
    deleteCommand(cli, GROUPS, 'Delete server groups that have no instances'),
  );
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
    .option('--project <name>', 'whose it is; "default" if none is named');
  examples(
    command,
    ['never two on one host', 'muster groups create web --policy anti-affinity'],
    ['near each other if possible', 'muster groups create cache --policy soft-affinity'],
  );
  return act<{ readonly policy: string; readonly project?: string }>(cli, command, (session, given) => {
    const { policy, project } = given.options;
    return createOne(session, GROUPS, {
      body: said({ name: given.args[0], policy, project }),
      sentence: (made) => `Server group ${made.name} is created: ${made.policy}.`,
    });
  });
}
