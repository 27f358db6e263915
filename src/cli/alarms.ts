// muster alarms: what needs the attention of an operator.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from './command.ts';
import { relativeTime } from './output/duration.ts';
import { sentenceOf } from './operations/progress.ts';
import type { TableColumn } from './output/table.ts';
import type { Alarm } from './client/representations.ts';

export function alarmsCommand(cli: Cli): Command {
  const command = new Command('alarms')
    .description('Show what needs the attention of an operator')
    .option('--site <name>', 'only of this site')
    .option('--severity <severity>', 'only warning or critical ones');
  command.addCommand(acknowledge(cli));
  addExamples(command, ['everything that is wrong', 'muster alarms']);
  return withAction<{ site?: string; severity?: string }>(
    cli,
    command,
    async (session, { options: { site, severity } }) => {
      const alarms = await session.client.list<Alarm>('/api/v1/alarms', { site, severity });
      const nowMs = session.nowMs();
      const columns: readonly TableColumn<Alarm>[] = [
        { title: 'severity', of: (alarm) => alarm.severity, colour: 'state' },
        { title: 'site', of: (alarm) => alarm.site },
        { title: 'since', of: (alarm) => relativeTime(alarm.sinceMs, nowMs) },
        { title: 'what', of: (alarm) => sentenceOf(alarm) },
      ];
      await session.writeList(alarms, columns, 'No alarms.');
      return undefined;
    },
  );
}

function acknowledge(cli: Cli): Command {
  const command = new Command('acknowledge')
    .description(
      'Acknowledge an alarm whose cause does not clear by itself; retention resumes after a jump of the clock',
    )
    .argument('<alarm>', 'its id, as "muster alarms --output json" shows it');
  addExamples(command, ['the clock is right', 'muster alarms acknowledge clock-jumped:127.0.0.1:7070']);
  return withAction(cli, command, async (session, { args: [id = ''] }) => {
    const alarm = await session.client.write<Alarm>('DELETE', `/api/v1/alarms/${encodeURIComponent(id)}`);
    await session.reportDone(alarm, `The alarm ${id} is acknowledged.`);
    return undefined;
  });
}
