// muster baremetal managers: the programs that act on machines, what each has, and taking one out of service.
import { Command } from 'commander';
import { addExamples, commandGroup, withAction, type Cli } from '../command.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { joinTokenCommand } from '../join-token.ts';
import { relativeTime } from '../output/duration.ts';
import { reportStarted, withWait, type WaitOptions } from '../operations/wait.ts';
import {
  listChangedFacts,
  forEachName,
  listCommand,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import type { Manager } from '../client/representations.ts';

const MANAGERS: ResourceSpec<Manager> = {
  command: 'baremetal managers',
  kind: 'manager',
  path: '/api/v1/managers',
  sample: 'm1',
  columns: (nowMs) => [
    { title: 'name', of: (one) => one.name, colour: 'bold' },
    { title: 'state', of: (one) => one.state },
    { title: 'since', of: (one) => relativeTime(one.sinceMs, nowMs) },
    { title: 'host', of: (one) => one.host },
    { title: 'site', of: (one) => one.site },
    { title: 'used here', of: (one) => one.usedHere, align: 'right' },
    { title: 'free', of: (one) => one.free, align: 'right' },
    { title: 'total', of: (one) => one.total, align: 'right' },
    { title: 'version', of: (one) => one.version },
    { title: 'note', of: (one) => noteOf(one, nowMs) },
  ],
  facts,
};

/** Its figures are of the whole inventory. */
function noteOf({ paused, staleSinceMs }: Manager, nowMs: number): string {
  const notes = [
    ...(paused === undefined ? [] : ['paused']),
    ...(staleSinceMs === undefined ? [] : [`figures as seen ${relativeTime(staleSinceMs, nowMs)}`]),
  ];
  return notes.join('; ');
}

function facts(one: Manager, nowMs: number): LabelledFacts {
  const { draining } = one;
  return [
    ['Name', one.name],
    ['State', `${one.state}, since ${relativeTime(one.sinceMs, nowMs)}`],
    ['Drain', draining && `requested by ${draining.by} ${relativeTime(draining.atMs, nowMs)}`],
    ['Empty', draining?.emptyAtMs === undefined ? undefined : `since ${relativeTime(draining.emptyAtMs, nowMs)}`],
    ['Paused', one.paused && `by ${one.paused.by} ${relativeTime(one.paused.atMs, nowMs)}`],
    ['Runs', one.embedded === true ? 'inside a server' : 'as a program of its own'],
    ['Host', one.host],
    ['Site', one.site],
    ['Nodes', `${one.usedHere ?? 0} of its own; ${one.free ?? 0} free of ${one.total ?? 0} in all`],
    [
      'Figures',
      one.staleSinceMs === undefined
        ? undefined
        : `as seen ${relativeTime(one.staleSinceMs, nowMs)}: an inventory does not answer`,
    ],
    ['Lease epoch', String(one.leaseEpoch)],
    ['Version', one.version],
    ...listChangedFacts(one, nowMs),
  ];
}

function managerJoinToken(cli: Cli): Command {
  return joinTokenCommand(cli, {
    about: 'Make a token with which a manager joins, once; for administrators',
    whom: 'the manager',
    example: ['and start the manager with it', 'muster baremetal managers join-token m1'],
    pathOf: (name) => resourcePath(MANAGERS, name),
    where: 'On its machine',
    start: (name, server) => `muster manager --name ${name} --server ${server} --state /var/lib/muster-manager`,
  });
}

export function managerCommands(cli: Cli): Command {
  return commandGroup(
    'managers',
    'The programs that act on machines: what each has, and taking one out of service',
    listCommand(cli, MANAGERS, {
      empty: 'No managers. Start one with: muster manager --name m1',
      filters: [
        ['--state <state>', 'only those that are live, draining, lost or stopped'],
        ['--site <name>', 'only managers of this site'],
        ['--host <name>', 'only managers on this host'],
      ],
      examples: [['those that are lost', 'muster baremetal managers list --state lost']],
    }),
    showCommand(cli, MANAGERS),
    managerJoinToken(cli),
    drainManager(cli),
    undrainManager(cli),
    rebalanceManagers(cli),
    pauseManager(cli),
    resumeManager(cli),
    forgetManager(cli),
  );
}

interface DrainOptions extends WaitOptions {
  readonly reason?: string;
}

function drainManager(cli: Cli): Command {
  const command = new Command('drain')
    .description('Have a manager give its nodes to the others; no machine is touched for that')
    .argument('<name>')
    .option('--reason <text>', 'why, for the history');
  withWait(command);
  addExamples(command, ['before its machine is upgraded', 'muster baremetal managers drain m1 --wait']);
  return withAction<DrainOptions>(cli, command, async (session, { args: [name = ''], options }) => {
    const body = omitUndefined({ reason: options.reason });
    const path = `${resourcePath(MANAGERS, name)}/drain`;
    const started = await session.client.write<{ readonly operation: string }>('POST', path, { body });
    return reportStarted(session, { id: started.operation, what: `drain manager ${name}`, answer: started }, options);
  });
}

function rebalanceManagers(cli: Cli): Command {
  const command = new Command('rebalance')
    .description('Have managers with more nodes than an even share give them to the others; no machine is touched')
    .option('--reason <text>', 'why, for the history');
  withWait(command);
  addExamples(command, ['once another manager has been started', 'muster baremetal managers rebalance --wait']);
  return withAction<DrainOptions>(cli, command, async (session, { options }) => {
    const body = omitUndefined({ reason: options.reason });
    const path = `${MANAGERS.path}/rebalance`;
    const started = await session.client.write<{ readonly operation: string }>('POST', path, { body });
    return reportStarted(session, { id: started.operation, what: 'rebalance managers', answer: started }, options);
  });
}

function undrainManager(cli: Cli): Command {
  const command = new Command('undrain')
    .description('Have a manager take nodes again; those that others have taken over stay with them')
    .argument('<name>');
  addExamples(command, ['after its machine was upgraded', 'muster baremetal managers undrain m1']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const one = await session.client.write<Manager>('POST', `${resourcePath(MANAGERS, name)}/undrain`);
    await session.reportDone(one, `Manager ${one.name} takes nodes again.`);
    return undefined;
  });
}

function pauseManager(cli: Cli): Command {
  const command = new Command('pause')
    .description('Halt managers that run inside a server, to see what the loss of one costs')
    .argument('<names...>');
  addExamples(command, ['the others take its nodes over within 20 seconds', 'muster baremetal managers pause m1']);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (name) => {
      const value = await session.client.write<Manager>('POST', `${resourcePath(MANAGERS, name)}/pause`);
      return { value, sentence: `Manager ${name} is paused: it renews nothing and acts on nothing.` };
    }),
  );
}

function resumeManager(cli: Cli): Command {
  const command = new Command('resume').description('Resume paused managers').argument('<names...>');
  addExamples(command, ['one that was paused', 'muster baremetal managers resume m1']);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (name) => {
      const value = await session.client.write<Manager>('POST', `${resourcePath(MANAGERS, name)}/resume`);
      return { value, sentence: `Manager ${name} is resumed.` };
    }),
  );
}

function forgetManager(cli: Cli): Command {
  const command = new Command('forget')
    .description('Forget managers that are lost or stopped and have no nodes left')
    .argument('<names...>');
  addExamples(command, ['one that will not come back', 'muster baremetal managers forget m1']);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (name) => {
      const value = await session.client.write<Manager>('DELETE', resourcePath(MANAGERS, name));
      return { value, sentence: `Manager ${name} is forgotten.` };
    }),
  );
}
