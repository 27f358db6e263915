// Commits the result that an agent reports for a task of its view. The agent must be admitted at the very revision that the result is
// recorded at: the former agent of a host that was joined again does not speak for it.
import type { Clock, Journal } from '../../journal/index.ts';
import type { Log, TaskAnswer } from '../../operations/index.ts';
import { denyUnlessAdmitted, type AgentIdentity } from './admission.ts';
import { agentName, recordAnswer } from './decide.ts';
import type { ObservationsResponse } from '../protocol/messages.ts';
import { logUnrecorded } from './report-recorder.ts';
import type { ViewSource } from './compose-view.ts';

export interface ObservationOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly source: Pick<ViewSource, 'kinds'>;
}

type ObservationResult = ObservationsResponse['results'][number];

/** `not-taken` requests the agent to send it again. */
export async function recordObservation(
  { journal, clock, log, source }: ObservationOptions,
  identity: AgentIdentity,
  answer: TaskAnswer,
): Promise<ObservationResult> {
  const { host } = identity;
  const said = { host, answer, nowMs: clock.nowMs() };
  try {
    const outcome = await journal.submit({
      by: agentName(host),
      why: `result of ${answer.task}`,
      authorize: (fleet, nowMs) => denyUnlessAdmitted(fleet, identity, nowMs),
      decide: (fleet) => recordAnswer(fleet, source.kinds, said),
    });
    return { task: answer.task, result: outcome.kind === 'accepted' ? outcome.answer : 'not-taken' };
  } catch (error) {
    logUnrecorded(log, error, host);
    return { task: answer.task, result: 'not-taken' };
  }
}
