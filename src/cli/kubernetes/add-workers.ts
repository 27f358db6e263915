// muster workers add: instances are built and join a cluster.
import { Command } from 'commander';
import { addExamples, withAction, type Cli } from '../command.ts';
import { requestBody, withNics, type InstanceRequestOptions } from '../instances/request.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { parseWords, wholeNumber } from '../input/input-file.ts';
import { withWait, type WaitOptions } from '../operations/wait.ts';
import { parseDuration } from '../output/duration.ts';
import { startWork } from './start-work.ts';

interface AddOptions extends Omit<InstanceRequestOptions, 'deadline'>, WaitOptions {
  readonly name?: string;
  readonly joinDeadline?: number;
}

export function addWorkers(cli: Cli): Command {
  const command = new Command('add')
    .description('Build instances and have them join a cluster as workers, until each Node is Ready')
    .argument('<cluster>', 'the cluster that they join');
  withNics(command.requiredOption('--flavor <name>', 'how large each is; see muster flavors list'))
    .option('--count <number>', 'how many, 1 if not said', wholeNumber)
    .option('--name <text>', 'what the names of Nodes and instances begin with; that of the cluster if not said')
    .option('--image <name>', 'what they boot from')
    .option('--project <name>', 'whose instances they are; as the cluster has it if not said')
    .option('--site <name>', 'only in this site; that of the cluster if not said')
    .option('--zone <name>', 'only in this availability zone')
    .option('--trait <names>', 'only on hosts with all of these; several with commas', parseWords)
    .option('--group <name>', 'their server group')
    .option('--security-group <names>', 'of the ports that are made; several with commas', parseWords)
    .option(
      '--join-deadline <time>',
      'how long each may take to join, install included, such as 10m; 30m if not said',
      parseDuration,
    )
    .option('--reason <text>', 'why, for the history');
  withWait(command);
  addExamples(command, [
    'three of them, and wait',
    'muster workers add edge --count 3 --flavor m --network lan --wait',
  ]);
  return withAction<AddOptions>(cli, command, async (session, { args: [cluster = ''], options }) => {
    const { name, joinDeadline, ...instances } = options;
    const body = { ...requestBody(name, instances), ...omitUndefined({ joinDeadlineMs: joinDeadline }) };
    return startWork(session, { cluster, verb: 'add', body }, options);
  });
}
