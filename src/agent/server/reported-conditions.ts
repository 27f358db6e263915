// All that a host reports to be wrong: the conditions of the parts that its agent drives, and the problems of the agent itself.
import { CONDITION_MESSAGE_MAX, type Condition } from '../../hosts/index.ts';
import { shortenText } from '../../operations/index.ts';
import type { Heartbeat, HostReport } from '../protocol/messages.ts';

/**
 * While a host has not converged, its problems are of its switch, which has a condition for that. A service that is not ready is waited
 * for by itself.
 */
export function readReportedConditions(
  { applied, conditions = [], unready = [] }: Heartbeat,
  report: HostReport | undefined,
): readonly Condition[] {
  const isExplained = (problem: string): boolean => unready.some(({ service }) => problem.startsWith(`${service}: `));
  const problems = (report?.problems ?? []).filter((problem) => !isExplained(problem));
  const hasConverged = applied !== undefined;
  if (!hasConverged || problems.length === 0 || conditions.some(({ type }) => type === 'switch')) return conditions;
  const message = shortenText(problems.join('; '), CONDITION_MESSAGE_MAX);
  return [...conditions, { type: 'agent', code: 'problems', message }];
}
