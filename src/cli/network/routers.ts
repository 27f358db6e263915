// muster routers: connect subnets to each other and to external networks.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { NothingSaid } from '../exit-code.ts';
import { parseWords } from '../input/input-file.ts';
import {
  listChangedFacts,
  deleteCommand,
  listCommand,
  resourcePath,
  showCommand,
  listText,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { Router } from '../client/representations.ts';

const ROUTERS: ResourceSpec<Router> = {
  command: 'routers',
  kind: 'router',
  path: '/api/v1/routers',
  sample: 'edge',
  columns: () => [
    { title: 'name', of: (router) => router.name, colour: 'bold' },
    { title: 'project', of: (router) => router.project },
    { title: 'subnets', of: (router) => listText(router.subnets) },
    { title: 'external', of: (router) => router.externalNetwork },
    { title: 'address', of: (router) => router.nat?.ip },
  ],
  facts: (router, nowMs) => [
    ['Name', router.name],
    ['Project', router.project],
    ['Subnets', listText(router.subnets) ?? 'none'],
    ['External', router.externalNetwork ?? 'it does not lead outside'],
    ['Address', router.nat === undefined ? undefined : `${router.nat.ip} (port ${router.nat.port})`],
    ...listChangedFacts(router, nowMs),
  ],
};

export function routersCommand(cli: Cli): Command {
  return commandGroup(
    'routers',
    'Routers: the way from subnets to each other, and outside from one address',
    listCommand(cli, ROUTERS, {
      filters: [
        ['--project <name>', 'only of this project'],
        ['--subnet <name>', 'only the one in front of this subnet'],
        ['--external-network <name>', 'only those that lead to this network'],
      ],
      empty: 'No routers. Make one with: muster routers create <name>',
      examples: [['which one a subnet is behind', 'muster routers list --subnet lan-v4']],
    }),
    showCommand(cli, ROUTERS),
    createRouter(cli),
    editRouter(cli),
    deleteCommand(cli, ROUTERS, 'Delete routers that no floating address leads through'),
  );
}

interface CreateOptions {
  readonly project?: string;
  readonly subnet?: readonly string[];
  readonly externalNetwork?: string;
  readonly natAddress?: string;
}

function createRouter(cli: Cli): Command {
  const command = new Command('create')
    .description('Create a router in front of subnets')
    .argument('<name>')
    .option('--project <name>', 'whose it is; "default" if none is named')
    .option('--subnet <names>', 'the subnets behind it; several with commas', parseWords)
    .option('--external-network <name>', 'the network that it leads to outside')
    .option('--nat-address <address>', 'its address there; else the lowest that is free');
  addExamples(
    command,
    ['between two subnets', 'muster routers create core --subnet lan-v4,dmz-v4'],
    ['to the outside', 'muster routers create edge --subnet lan-v4 --external-network uplink'],
  );
  return withAction<CreateOptions>(cli, command, async (session, { args: [name], options }) => {
    const { project, subnet, externalNetwork, natAddress } = options;
    const body = {
      name,
      ...(project !== undefined && { project }),
      ...(subnet !== undefined && { subnets: subnet }),
      ...(externalNetwork !== undefined && { externalNetwork }),
      ...(natAddress !== undefined && { natAddress }),
    };
    const router = await session.client.write<Router>('POST', ROUTERS.path, { body });
    const out = router.nat === undefined ? '' : ` It leads to ${router.externalNetwork} from ${router.nat.ip}.`;
    await session.reportDone(router, `Router ${router.name} is created.${out}`);
    return undefined;
  });
}

interface EditOptions {
  readonly addSubnet?: readonly string[];
  readonly removeSubnet?: readonly string[];
  readonly externalNetwork?: string;
  readonly natAddress?: string;
}

function editRouter(cli: Cli): Command {
  const command = new Command('edit')
    .description('Put subnets behind a router, take them away, change its way out; what is not named stays as it is')
    .argument('<name>')
    .option('--add-subnet <names>', 'put these behind it; several with commas', parseWords)
    .option('--remove-subnet <names>', 'take these away; several with commas', parseWords)
    .option('--external-network <name>', 'the network that it leads to outside; "" for none')
    .option('--nat-address <address>', 'another address there');
  addExamples(
    command,
    ['one more subnet', 'muster routers edit edge --add-subnet dmz-v4'],
    ['not outside any more', 'muster routers edit edge --external-network ""'],
  );
  return withAction<EditOptions>(cli, command, async (session, { args: [name = ''], options }) => {
    const { addSubnet, removeSubnet, externalNetwork, natAddress } = options;
    const body = {
      ...(addSubnet !== undefined && { addSubnets: addSubnet }),
      ...(removeSubnet !== undefined && { removeSubnets: removeSubnet }),
      ...(externalNetwork !== undefined && { externalNetwork: externalNetwork === '' ? null : externalNetwork }),
      ...(natAddress !== undefined && { natAddress }),
    };
    if (Object.keys(body).length === 0) throw new NothingSaid('change');
    const router = await session.client.write<Router>('PATCH', resourcePath(ROUTERS, name), { body });
    await session.writeOne(router, ROUTERS.facts(router, session.nowMs()));
    return undefined;
  });
}
