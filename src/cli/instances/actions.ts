// muster instances move, shelve, unshelve, rebuild, power, delete: actions on existing instances.
import { Argument, Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { parseDuration } from '../output/duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { INSTANCES } from './instance-text.ts';
import { reportAllStarted, withWait, type StartedOperation, type WaitOptions } from '../operations/wait.ts';
import { ApiRefusal } from '../client/problem.ts';
import { resourcePath } from '../resource-commands.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import type { Session } from '../session.ts';
import type { InstanceOperation } from '../client/representations.ts';

export function instanceActions(cli: Cli): Command[] {
  return [
    moveInstances(cli),
    actionCommandOf(cli, {
      verb: 'shelve',
      about:
        'Take instances off their hosts and keep them, with their ports and addresses; what is on their disks is lost',
      doing: 'is being shelved',
      example: 'make room for a while',
      force: true,
    }),
    actionCommandOf(cli, {
      verb: 'unshelve',
      about: 'Find shelved instances a host and build them there',
      doing: 'is being brought back',
      example: 'bring it back',
    }),
    actionCommandOf(cli, {
      verb: 'rebuild',
      about:
        'Build instances elsewhere with the same ports, when their host is forced down; what is on their disks is lost',
      doing: 'is being built elsewhere',
      example: 'its host has burnt down',
    }),
    switchPower(cli),
    deleteInstances(cli),
  ];
}

interface ActionOptions extends WaitOptions {
  readonly deadline?: number;
  readonly reason?: string;
  readonly force?: true;
}

function bodyOf({ deadline, reason, force }: ActionOptions): object {
  return omitUndefined({ deadlineMs: deadline, reason, force });
}

function actionCommand(verb: string, about: string): Command {
  return withWait(new Command(verb).description(about).argument('<names...>'))
    .option('--deadline <time>', 'how long it may take, such as 10m; 1h if not said', parseDuration)
    .option('--reason <text>', 'why, for the history');
}

function withForce(command: Command): Command {
  return command.option('--force', 'also where this cuts off what runs on the instance, such as a worker of a cluster');
}

interface InstanceCommand {
  readonly verb: string;
  readonly about: string;
  /** What is done to one: `is being shelved`. */
  readonly doing: string;
  readonly example: string;
  readonly force?: true;
}

function actionCommandOf(cli: Cli, { verb, about, doing, example, force }: InstanceCommand): Command {
  const command = force === true ? withForce(actionCommand(verb, about)) : actionCommand(verb, about);
  addExamples(command, [example, `muster instances ${verb} ${INSTANCES.sample} --wait`]);
  return withAction<ActionOptions>(cli, command, (session, { args, options }) =>
    startEach(session, { names: args, doing, request: postVerb(session, verb, bodyOf(options)) }, options),
  );
}

interface MoveOptions extends ActionOptions {
  readonly cold?: boolean;
  readonly host?: string;
}

function moveInstances(cli: Cli): Command {
  const command = withForce(actionCommand('move', 'Move instances to other hosts, with their ports and addresses'))
    .option('--cold', 'stop them for the move; else they run on')
    .option('--host <name>', 'where to; else the scheduler chooses');
  addExamples(
    command,
    ['wherever there is room', 'muster instances move web-1 --wait'],
    ['to one host, stopped', 'muster instances move web-1 --cold --host compute-2 --wait'],
  );
  return withAction<MoveOptions>(cli, command, (session, { args, options }) => {
    const { cold, host } = options;
    const body = { kind: cold === true ? 'cold' : 'live', ...omitUndefined({ host }), ...bodyOf(options) };
    return startEach(
      session,
      { names: args, doing: 'is being moved', request: postVerb(session, 'move', body) },
      options,
    );
  });
}

const POWER_DOING: Readonly<Record<string, string>> = {
  on: 'is being switched on',
  off: 'is being switched off',
  reboot: 'is being rebooted',
};

function switchPower(cli: Cli): Command {
  const command = withWait(
    new Command('power')
      .description('Switch instances on bare-metal nodes on or off, or off and on again')
      .addArgument(new Argument('<power>', 'what to do').choices(Object.keys(POWER_DOING)))
      .argument('<names...>'),
  )
    .option('--deadline <time>', 'how long it may take, such as 10m; 1h if not said', parseDuration)
    .option('--reason <text>', 'why, for the history');
  withForce(command);
  addExamples(
    command,
    ['off for the night', 'muster instances power off db-1 --wait'],
    ['off and on again', 'muster instances power reboot db-1 db-2 --wait'],
  );
  return withAction<ActionOptions>(cli, command, (session, { args: [power = '', ...names], options }) => {
    const request = postVerb(session, 'power', { power, ...bodyOf(options) });
    return startEach(session, { names, doing: POWER_DOING[power] ?? power, request }, options);
  });
}

function deleteInstances(cli: Cli): Command {
  const command = withWait(
    new Command('delete')
      .description(
        'Delete instances and what is on their disks; ports that were made for them go, ports of your own stay',
      )
      .argument('<names...>'),
  );
  withForce(command);
  addExamples(command, ['two of them', 'muster instances delete web-1 web-2 --wait']);
  return withAction<ActionOptions>(cli, command, (session, { args, options }) => {
    const query = options.force === true ? '?force=true' : '';
    const request = (path: string): Promise<InstanceOperation> =>
      session.client.write<InstanceOperation>('DELETE', `${path}${query}`);
    return startEach(session, { names: args, doing: 'is being deleted', request }, options);
  });
}

function postVerb({ client }: Session, verb: string, body: object): (path: string) => Promise<InstanceOperation> {
  return (path) => client.write<InstanceOperation>('POST', `${path}/${verb}`, { body });
}

interface EachAction {
  readonly names: readonly string[];
  readonly doing: string;
  readonly request: (path: string) => Promise<InstanceOperation>;
}

/** Starts one operation for each name; a refusal for one does not stop the others. */
async function startEach(
  session: Session,
  { names, doing, request: ask }: EachAction,
  options: WaitOptions,
): Promise<ExitCode> {
  const started: StartedOperation[] = [];
  for (const name of names) {
    try {
      const answer = await ask(resourcePath(INSTANCES, name));
      started.push({ id: answer.operation, what: `${name} ${doing}`, answer: { instance: name, ...answer } });
    } catch (error) {
      if (!(error instanceof ApiRefusal) || names.length === 1) throw error;
      session.note(error.message);
    }
  }
  const code = await reportAllStarted(session, started, options);
  return code === EXIT.ok && started.length < names.length ? EXIT.refused : code;
}
