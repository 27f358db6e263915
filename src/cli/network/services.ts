// muster services: network services (NAT, routes, DHCP), the host designated for each, and why.
import { Command, Option } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from '../command.ts';
import { parseDuration, relativeTime } from '../output/duration.ts';
import { EXIT, NothingSaid } from '../exit-code.ts';
import { wholeNumber } from '../input/input-file.ts';
import { reportStarted, withWait, type WaitOptions } from '../operations/wait.ts';
import { listChangedFacts, listCommand, resourcePath, showCommand, type ResourceSpec } from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import type { TableColumn } from '../output/table.ts';
import type { MovedService, RebalancedServices, Service, ServiceReasons } from '../client/representations.ts';

const SERVICES: ResourceSpec<Service> = {
  command: 'services',
  kind: 'service',
  path: '/api/v1/services',
  by: 'id',
  sample: 'nat:edge',
  columns: (nowMs) => [
    { title: 'service', of: (one) => one.id, colour: 'bold' },
    { title: 'host', of: (one) => one.designated?.host },
    {
      title: 'since',
      of: (one) => (one.designated === undefined ? undefined : relativeTime(one.designated.sinceMs, nowMs)),
    },
    { title: 'note', of: noteOf },
  ],
  facts,
};

function noteOf({ designated, handover }: Service): string | undefined {
  if (handover !== undefined) return `handover from ${handover.from} to ${handover.to}: ${handover.phase}`;
  if (designated === undefined) return 'not served';
  return designated.degraded === true ? 'degraded: its host is leaving, and no other can take it' : undefined;
}

function facts(one: Service, nowMs: number): LabelledFacts {
  const { designated, standby, handover, cameFrom } = one;
  return [
    ['Service', one.id],
    ['Type', one.type],
    ['Host', designated?.host ?? 'none'],
    ['Since', designated === undefined ? undefined : relativeTime(designated.sinceMs, nowMs)],
    ['Standby', standby],
    ['Degraded', designated?.degraded === true ? 'its host is leaving, and no other could take it' : undefined],
    ['Handover', handover && `from ${handover.from} to ${handover.to}, ${handover.phase}, by ${handover.operation}`],
    ['Came from', cameFrom && `${cameFrom.host}, by ${cameFrom.operation}`],
    ['Epoch', String(one.epoch)],
    ['Exclusion', one.exclusion],
    ['On control loss', one.onControlLoss],
    ...one.whySentences.map((sentence, nth) => [nth === 0 ? 'Why' : '', sentence] as const),
    ...listChangedFacts(one, nowMs),
  ];
}

export function servicesCommand(cli: Cli): Command {
  return commandGroup(
    'services',
    'Network services (NAT, subnet routes, DHCP) and the host designated for each: which, why, and handovers',
    listCommand(cli, SERVICES, {
      filters: [
        ['--type <type>', 'only of this type: nat, subnet-route, dhcp'],
        ['--subject <name>', 'only of this router or subnet'],
        ['--host <name>', 'only those that this host serves'],
        ['--designated <boolean>', 'only those with a designated host (true), or without one (false)'],
        [
          '--degraded <boolean>',
          'only those that stay on a leaving host because no other can take them (true), or the others (false)',
        ],
        ['--handover <boolean>', 'only those with a handover under way (true), or without one (false)'],
      ],
      empty: 'No services. They come with routers that lead outside, and with subnets that have DHCP.',
      examples: [
        ['those of a host', 'muster services list --host compute-1'],
        ['those that are not served', 'muster services list --designated false'],
      ],
    }),
    showCommand(cli, SERVICES),
    whyService(cli),
    editService(cli),
    moveService(cli),
    rebalance(cli),
  );
}

function whyService(cli: Cli): Command {
  const command = new Command('why')
    .description('Say why a service is where it is, who else could take it now, and who not')
    .argument('<id>');
  command.addHelpText(
    'after',
    '\nThe score of a host is the number of services it does, less its base weight. The lowest is chosen, then the first by name.\n',
  );
  addExamples(command, ['why there', 'muster services why nat:edge']);
  return withAction(cli, command, async (session, { args: [id = ''] }) => {
    const reasons = await session.client.get<ServiceReasons>(`${resourcePath(SERVICES, id)}/why`);
    await session.reportDone(reasons, reasons.sentences.join('\n'));
    return undefined;
  });
}

interface EditOptions {
  readonly exclusion?: string;
  readonly onControlLoss?: string;
  readonly ifRevision?: number;
}

function editService(cli: Cli): Command {
  const command = new Command('edit')
    .description('Change what happens to a service when its host leaves or falls silent')
    .argument('<id>')
    .addOption(
      new Option(
        '--exclusion <rule>',
        'soft: a leaving host keeps it when no other can take it; hard: it is withdrawn',
      ).choices(['soft', 'hard']),
    )
    .addOption(
      new Option(
        '--on-control-loss <rule>',
        'move: away from a silent host; hold: not while its BFD sessions are up',
      ).choices(['move', 'hold']),
    )
    .option('--if-revision <number>', 'only if it has not changed since this revision', wholeNumber);
  addExamples(command, ['rather nowhere than on a leaving host', 'muster services edit nat:edge --exclusion hard']);
  return withAction<EditOptions>(cli, command, async (session, { args: [id = ''], options }) => {
    const { exclusion, onControlLoss, ifRevision } = options;
    if (exclusion === undefined && onControlLoss === undefined) throw new NothingSaid('change');
    const body = {
      ...(exclusion !== undefined && { exclusion }),
      ...(onControlLoss !== undefined && { onControlLoss }),
    };
    const headers = ifRevision === undefined ? {} : { 'if-match': `"${ifRevision}"` };
    const service = await session.client.write<Service>('PATCH', resourcePath(SERVICES, id), { body, headers });
    await session.writeOne(service, facts(service, session.nowMs()));
    return undefined;
  });
}

interface MoveOptions extends WaitOptions {
  readonly host?: string;
  readonly deadline?: number;
  readonly reason?: string;
}

function moveFields({ deadline, reason }: MoveOptions): object {
  return {
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(reason !== undefined && { reason }),
  };
}

function withMoveOptions(command: Command): Command {
  return withWait(command)
    .option('--deadline <time>', 'how long it may take, such as 10m; 1h if not said', parseDuration)
    .option('--reason <text>', 'why, for the history');
}

function moveService(cli: Cli): Command {
  const command = withMoveOptions(
    new Command('move').description('Move a service to another host by a handover, without a gap').argument('<id>'),
  ).option('--host <name>', 'where to; else the best of the others');
  addExamples(
    command,
    ['away from where it is', 'muster services move nat:edge --wait'],
    ['to one host', 'muster services move nat:edge --host compute-2 --wait'],
  );
  return withAction<MoveOptions>(cli, command, async (session, { args: [id = ''], options }) => {
    const { host } = options;
    const body = { ...(host !== undefined && { host }), ...moveFields(options) };
    const moved = await session.client.write<MovedService>('POST', `${resourcePath(SERVICES, id)}/move`, { body });
    if (moved.operation !== undefined) {
      const what = `the handover of ${id} to ${moved.to} has begun`;
      return reportStarted(session, { id: moved.operation, what, answer: moved }, options);
    }
    await session.reportDone(moved, `${id} is at ${moved.to} already.`);
    return EXIT.ok;
  });
}

type Move = RebalancedServices['moves'][number];

const MOVES: readonly TableColumn<Move>[] = [
  { title: 'service', of: (move) => move.service, colour: 'bold' },
  { title: 'from', of: (move) => move.from },
  { title: 'to', of: (move) => move.to },
];

function rebalance(cli: Cli): Command {
  const command = withMoveOptions(
    new Command('rebalance').description('Even out what hosts do, with as few handovers as possible'),
  );
  addExamples(command, ['after hosts came in', 'muster services rebalance --wait']);
  return withAction<MoveOptions>(cli, command, async (session, { options }) => {
    const body = moveFields(options);
    const answer = await session.client.write<RebalancedServices>('POST', `${SERVICES.path}/rebalance`, { body });
    const { operation, moves, more } = answer;
    if (operation === undefined) {
      await session.reportDone(
        answer,
        more ? 'Handovers are under way. Run this again when they have ended.' : 'It is even already.',
      );
      return EXIT.ok;
    }
    if (session.output === 'table') await session.writeList(moves, MOVES, '');
    if (more) session.note('More can be moved when these are done: repeat the command then.');
    return reportStarted(session, { id: operation, what: `${moves.length} handovers have begun`, answer }, options);
  });
}
