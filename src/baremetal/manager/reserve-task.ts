// The task of finding a node for a build: requests to the reservation endpoint, repeated while it has not decided. A request may come twice: the
// instance's id is the key. Overload costs no attempt; an answer that will stay the same ends the task.
import { Backoff, type LeaderClient } from '../../link/index.ts';
import type { ManagerTask } from '../managers/messages.ts';
import type { Right, MachineTaskResult } from './machine-task.ts';
import type { ManagerPorts } from './ports.ts';

const ALLOCATING_MS = 500;
/** Refusals of this manager, not of the request: another look at the tasks says what is to be done. */
const NOT_OURS: readonly string[] = ['build-not-waiting', 'manager-not-live', 'manager-draining', 'fenced'];

export interface ReserveOptions {
  readonly ports: Pick<ManagerPorts, 'link' | 'clock' | 'random'>;
  readonly leader: LeaderClient;
  readonly token: () => string | undefined;
  readonly manager: string;
  readonly right: Right;
}

export async function requestReservation(
  task: ManagerTask,
  options: ReserveOptions,
): Promise<MachineTaskResult | undefined> {
  const { ports, leader, token, manager, right } = options;
  const { request } = task.args as { readonly request?: Readonly<Record<string, unknown>> };
  const backoff = new Backoff(ports);
  while (right.mayAct() && !right.signal.aborted) {
    const secret = token();
    if (secret === undefined) return undefined;
    const said = await leader.call(secret, (to) => ports.link.reserve(to, { ...request, manager }), right.signal);
    if (said.kind === 'refused') {
      const { code, message } = said;
      if (NOT_OURS.includes(code)) return undefined;
      return { outcome: 'failed', problems: [message], facts: { reason: { code } } };
    }
    if (said.kind === 'away') {
      // A server that is overloaded says when to repeat the request.
      if (said.retryAfterMs === undefined) await backoff.wait(right.signal);
      else await ports.clock.sleep(said.retryAfterMs, right.signal);
      continue;
    }
    const { state, node } = said.answer;
    if (state === 'active') return { outcome: 'done', ...(node !== undefined && { facts: { node } }) };
    if (state === 'error') return { outcome: 'failed', problems: [], facts: { reason: { code: 'no-match' } } };
    await ports.clock.sleep(ALLOCATING_MS, right.signal);
  }
  return undefined;
}
