// muster instances: create, show, move, shelve and delete them.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { instanceActions } from './actions.ts';
import { requestBody, withRequest, type InstanceRequestOptions } from './request.ts';
import { INSTANCES, instanceTables, nodeStagesText, placeText, reportText } from './instance-text.ts';
import { showEnd, reportStarted, watchOperation, withWait, type WaitOptions } from '../operations/wait.ts';
import { addressesText } from '../network/port-text.ts';
import { listCommand, resourcePath } from '../resource-commands.ts';
import type { Session } from '../session.ts';
import { renderTable, type TableColumn } from '../output/table.ts';
import type { CreatedInstances, Instance, Placement } from '../client/representations.ts';

export function instancesCommand(cli: Cli): Command {
  return commandGroup(
    'instances',
    'Create instances, show, move, shelve and delete them',
    listInstances(cli),
    showInstance(cli),
    createInstances(cli),
    previewInstances(cli),
    ...instanceActions(cli),
  );
}

function listInstances(cli: Cli): Command {
  return listCommand(cli, INSTANCES, {
    filters: [
      [
        '--state <state>',
        'only in this state: building, active, moving, rebuilding, shelving, shelved, deleting or error',
      ],
      ['--degraded', 'only those that run and are not connected'],
      ['--host <name>', 'only on this host'],
      ['--site <name>', 'only in this site'],
      ['--project <name>', 'only of this project'],
      ['--flavor <name>', 'only of this flavor'],
      ['--group <name>', 'only of this server group'],
    ],
    empty: 'No instances. Create one with: muster instances create <name> --flavor <flavor>',
    examples: [
      ['what went wrong', 'muster instances list --state error'],
      ['what runs and is not connected', 'muster instances list --degraded'],
      ['what is on a host', 'muster instances list --host compute-1'],
    ],
  });
}

function showInstance(cli: Cli): Command {
  const command = new Command('show')
    .description('Show an instance: its ports, what was tried for it, and why when no host was found')
    .argument('<name>');
  addExamples(command, ['one instance', 'muster instances show web-1']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const one = await session.client.get<Instance>(resourcePath(INSTANCES, name));
    await session.writeOne(one, INSTANCES.facts(one, session.nowMs()));
    if (session.output === 'table') session.terminal.out(instanceTables(one, session.paint, session.nowMs()));
    return undefined;
  });
}

function createInstances(cli: Cli): Command {
  const command = withWait(
    withRequest(
      new Command('create')
        .description('Request instances: ports are taken or made, hosts are found, and the hosts build them')
        .argument('[name]', 'what to call them; made from the flavor if none is given'),
    ),
  );
  addExamples(
    command,
    ['three, and wait for them', 'muster instances create web --flavor small --network lan --count 3 --wait'],
    ['a fixed address', "muster instances create db --flavor large --nic 'network=lan,fixed-ip=10.0.0.9,tag=mgmt'"],
    ['a port of your own', 'muster instances create vpn --flavor small --nic port=port-01jd8x2k9v7q3f5w2m1a'],
    ['apart from each other', 'muster instances create etcd --flavor small --count 3 --group etcd'],
  );
  return withAction<InstanceRequestOptions & WaitOptions>(cli, command, async (session, { args: [name], options }) => {
    const created = await session.client.write<CreatedInstances>('POST', INSTANCES.path, {
      body: requestBody(name, options),
    });
    const { operation: id, instances } = created;
    const { count = 1 } = options;
    if (instances.length < count) {
      session.note(`Only ${instances.length} of ${count} find a place; "muster instances preview" says why.`);
    }
    if (options.wait === true) return waitForBuild(session, created, options);
    return reportStarted(session, { id, what: `${countText(instances)} being built`, answer: created }, options);
  });
}

function countText(names: readonly string[]): string {
  return names.length === 1 ? `${names[0]} is` : `${names.length} instances are`;
}

/** Instances that are shown one by one after a build; more are better read with `instances list`. */
const SHOWN_MAX = 20;

async function waitForBuild(
  session: Session,
  { operation, instances }: CreatedInstances,
  options: WaitOptions,
): Promise<ExitCode> {
  const ended = await watchOperation(session, operation, options);
  const code = await showEnd(session, ended, { instances });
  if (session.output !== 'table') return code;
  if (instances.length > SHOWN_MAX) session.note('See them with: muster instances list');
  else session.terminal.out(`\n${renderTable(await findInstances(session, instances), BUILT_COLUMNS, session.paint)}`);
  return code;
}

interface BuiltInstance {
  readonly name: string;
  readonly instance?: Instance;
}

const BUILT_COLUMNS: readonly TableColumn<BuiltInstance>[] = [
  { title: 'name', of: ({ name }) => name, colour: 'bold' },
  { title: 'state', of: ({ instance }) => instance?.state ?? 'gone', colour: 'state' },
  { title: 'host', of: ({ instance }) => instance && placeText(instance) },
  { title: 'addresses', of: ({ instance }) => instance?.ports?.map((port) => addressesText(port) ?? '-').join('; ') },
  { title: 'fault', of: ({ instance }) => instance?.fault?.message },
];

/** One that was abandoned together with others no longer exists. */
function findInstances({ client }: Session, names: readonly string[]): Promise<BuiltInstance[]> {
  return Promise.all(
    names.map(async (name) => {
      const found = await client.find<Instance>(resourcePath(INSTANCES, name));
      return { name, ...(found !== undefined && { instance: found }) };
    }),
  );
}

type Place = NonNullable<Placement['places']>[number];

const PLACE_COLUMNS: readonly TableColumn<Place>[] = [
  { title: 'name', of: (place) => place.name, colour: 'bold' },
  { title: 'host', of: (place) => place.host ?? `a node, by ${place.manager}` },
  { title: 'pools', of: (place) => place.pools.join(', ') },
];

function previewInstances(cli: Cli): Command {
  const command = withRequest(
    new Command('preview')
      .description('Show where instances would go, or why they would not; nothing is made')
      .argument('[name]', 'what they would be called'),
  );
  addExamples(command, ['would ten fit', 'muster instances preview --flavor large --network lan --count 10']);
  return withAction<InstanceRequestOptions>(cli, command, async (session, { args: [name], options }) => {
    const body = requestBody(name, options);
    const preview = await session.client.write<Placement>('POST', `${INSTANCES.path}/preview`, { body });
    const { count, placed, places, report, nodes } = preview;
    const what = nodes === undefined ? 'host' : 'node';
    await session.reportDone(preview, `${placed} of ${count} would find a ${what}.`);
    if (session.output === 'table') {
      if (places === undefined) session.note('Only operators are shown the hosts.');
      else if (places.length > 0) session.terminal.out(`\n${renderTable(places, PLACE_COLUMNS, session.paint)}`);
      if (report !== undefined) session.terminal.out(`\n${reportText(report, session.paint)}`);
      if (nodes !== undefined && placed < count) session.terminal.out(`\n${nodeStagesText(nodes, session.paint)}`);
    }
    return placed < (options.minCount ?? count) ? EXIT.refused : EXIT.ok;
  });
}
