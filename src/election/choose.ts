// The one choice: of those that can do a service the one with the lowest score, then the first by id. Whoever chooses for several
// does so in the order of their ids on one poll: each choice counts for the next, and no order of lists or maps shows.
import { mark } from '../fleet/index.ts';
import type { Candidates, ElectionContext } from './candidates.ts';
import type { Cause, Loss, StoredService } from './model.ts';
import { whyOf, type Choice } from './why.ts';

export interface ChoiceRequest {
  readonly service: Pick<StoredService, 'id' | 'doc'>;
  readonly cause: Cause;
  /** Of a host that was lost: in what way. */
  readonly lost?: Loss | undefined;
  /** Hosts that are not to be chosen: the one that has it. */
  readonly excluded?: readonly string[];
  /** Whether a leaving host will do when no other can. */
  readonly fallback: 'leaving' | 'none';
  /** Taken if it can do it at all: it is being built already. */
  readonly prefer?: string | undefined;
  /** Taken before all others, also while it leaves: it has the connections, and hands them on with the next hand-over. */
  readonly conntrackHolder?: string | undefined;
}

/** Undefined when nobody can. What is chosen is counted in the poll. */
export function chooseHost(context: ElectionContext, asked: ChoiceRequest, nowMs: number): Choice | undefined {
  const { service, cause, lost, excluded, fallback } = asked;
  const candidates = context.candidatesOf(service, excluded);
  const keeper = chooseConntrackHolder(context, asked);
  const host = keeper ?? choosePreferred(context, asked) ?? chooseBest(candidates, fallback);
  if (host === undefined) return undefined;
  context.recordChoice(service.doc, host);
  const more = { ...(lost !== undefined && { lost }), ...(keeper !== undefined && { kept: true as const }) };
  return { host, why: { ...whyOf(cause, candidates, host, nowMs), ...more } };
}

function chooseConntrackHolder(
  context: ElectionContext,
  { service, conntrackHolder }: ChoiceRequest,
): string | undefined {
  if (conntrackHolder === undefined || !context.canKeepService(service.doc, conntrackHolder)) return undefined;
  mark('failover-to-the-old-host');
  return conntrackHolder;
}

function choosePreferred(context: ElectionContext, { service, prefer }: ChoiceRequest): string | undefined {
  return prefer !== undefined && context.rejectionOf(service.doc, prefer) === undefined ? prefer : undefined;
}

function chooseBest(
  { eligible, bfdDown, leaving }: Candidates,
  fallback: ChoiceRequest['fallback'],
): string | undefined {
  return (eligible.first ?? bfdDown.first ?? (fallback === 'leaving' ? leaving.first : undefined))?.host;
}
