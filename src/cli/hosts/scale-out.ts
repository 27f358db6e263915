// muster scale-out: bring hosts into service, new ones and removed ones, and spread services over them with --rebalance.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { joinHosts, withHostOptions, type JoinOptions } from './join.ts';
import { withWait } from '../operations/wait.ts';

interface ScaleOutOptions extends JoinOptions {
  readonly rebalance?: boolean;
}

export function scaleOutCommand(cli: Cli): Command {
  const command = withWait(
    withHostOptions(
      new Command('scale-out').description('Bring hosts into service, new ones and ones that were removed before'),
    ).option('--rebalance', 'spread services over all hosts again once these are in service'),
  );
  addExamples(
    command,
    ['two hosts, and wait for them', 'muster scale-out c8 c9 --vcpus 32 --memory 128GiB --wait'],
    ['a list of hosts, which take their share', 'muster scale-out -f hosts.yaml --rebalance'],
    ['one that was removed before', 'muster scale-out c1 --reason "repaired"'],
  );
  return withAction<ScaleOutOptions>(cli, command, (session, { args, options }) => {
    const more = options.rebalance === true ? { rebalance: true } : {};
    return joinHosts(session, { path: '/api/v1/scale-out', verb: 'join', names: args, more }, options);
  });
}
