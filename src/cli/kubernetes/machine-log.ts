// muster workers log: what the script on the machine of a worker wrote last.
import { Command } from 'commander';
import { addExamples, withAction, type Cli } from '../command.ts';
import type { MachineLog } from '../client/representations.ts';
import { relativeTime } from '../output/duration.ts';

export function showMachineLog(cli: Cli): Command {
  const command = new Command('log')
    .description('Show what the script on the machine of a worker wrote last: 16 KiB at most, secrets masked')
    .argument('<name>', 'the worker, as muster workers list names it');
  addExamples(command, ['after a join that failed', 'muster workers log edge.edge-k3m9x2q1']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const log = await session.client.get<MachineLog>(`/api/v1/workers/${encodeURIComponent(name)}/log`);
    if (session.output !== 'table') await session.writeValue(log);
    else {
      session.note(describeEnd(log, session.nowMs()));
      session.terminal.out(log.text.endsWith('\n') || log.text === '' ? log.text : `${log.text}\n`);
    }
    return undefined;
  });
}

function describeEnd({ exitCode, isCut, atMs, operation }: MachineLog, nowMs: number): string {
  const end = exitCode === undefined ? 'It was cut off' : `It ended with exit code ${exitCode}`;
  const cut = isCut ? '; only the last of it was kept' : '';
  return `${end} ${relativeTime(atMs, nowMs)}, for operation ${operation}${cut}.`;
}
