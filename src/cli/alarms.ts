// muster alarms: what a person should look at now.
import { Command } from 'commander';
import { act, examples, type Cli } from './command.ts';
import { relative } from './duration.ts';
import { sentenceOf, type ShownReason } from './operation-progress.ts';
import type { Column } from './table.ts';

interface Alarm {
  readonly id: string;
  readonly severity: string;
  readonly site?: string;
  readonly reason: ShownReason;
  readonly sentence?: string;
  readonly sinceMs: number;
}

export function alarmsCommand(cli: Cli): Command {
  const command = new Command('alarms')
    .description('Show what a person should look at now')
    .option('--site <name>', 'only of this site')
    .option('--severity <severity>', 'only warning or critical ones');
  examples(command, ['everything that is wrong', 'muster alarms']);
  return act<{ site?: string; severity?: string }>(cli, command, async (session, { options: { site, severity } }) => {
    const alarms = await session.client.list<Alarm>('/api/v1/alarms', { site, severity });
    const nowMs = session.nowMs();
    const columns: readonly Column<Alarm>[] = [
      { title: 'severity', of: (alarm) => alarm.severity, colour: 'state' },
      { title: 'site', of: (alarm) => alarm.site },
      { title: 'since', of: (alarm) => relative(alarm.sinceMs, nowMs) },
      { title: 'what', of: (alarm) => sentenceOf(alarm) },
    ];
    await session.list(alarms, columns, 'No alarms.');
    return undefined;
  });
}
