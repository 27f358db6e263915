// The events that get a line while the demonstration runs: operations that begin and end, alarms, hosts that are lost or put into
// maintenance.
import { ALARM, type Alarm } from '../alarms/index.ts';
import type { AppliedChange } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { OPERATION, type Explain, type Operation } from '../operations/index.ts';

export function newsIn(applied: readonly AppliedChange[], explain: Explain): string[] {
  return applied.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id ?? '';
    switch (kind) {
      case OPERATION.name:
        return operationNews(id, before?.doc as Operation | undefined, after?.doc as Operation | undefined, explain);
      case HOST.name:
        return hostNews(id, before?.doc as Host | undefined, after?.doc as Host | undefined);
      case ALARM.name:
        return alarmNews(before?.doc as Alarm | undefined, after?.doc as Alarm | undefined, explain);
      default:
        return [];
    }
  });
}

function operationNews(
  id: string,
  before: Operation | undefined,
  after: Operation | undefined,
  explain: Explain,
): string[] {
  if (after === undefined || before?.state === after.state) return [];
  const why = after.reason === undefined ? '' : ` ${explain(after.reason)}`;
  return [`operation ${id} ${before === undefined ? 'begins' : after.state}: ${after.title}.${why}`];
}

function hostNews(id: string, before: Host | undefined, after: Host | undefined): string[] {
  if (before === undefined || after === undefined) return [];
  const news: string[] = [];
  if (before.state !== after.state) news.push(`host ${id} is ${after.state}`);
  const [was, is] = [before.connection.state, after.connection.state];
  // The first heartbeat of a host belongs to its join.
  if (was !== is && was !== 'unknown') news.push(`host ${id} is ${is === 'up' ? 'reachable again' : is}`);
  if (before.disabled === undefined && after.disabled) news.push(`host ${id} is disabled: ${after.disabled.reason}`);
  if (before.disabled && after.disabled === undefined) news.push(`host ${id} is enabled`);
  if (before.forcedDown === undefined && after.forcedDown) {
    news.push(`host ${id} is forced down: ${after.forcedDown.reason}`);
  }
  if (before.forcedDown && after.forcedDown === undefined) news.push(`host ${id} is no longer forced down`);
  return news;
}

function alarmNews(before: Alarm | undefined, after: Alarm | undefined, explain: Explain): string[] {
  if (before === undefined && after !== undefined) return [`${after.severity} alarm: ${explain(after.reason)}`];
  if (before !== undefined && after === undefined) return [`alarm cleared: ${explain(before.reason)}`];
  return [];
}
