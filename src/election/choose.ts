// The choice: of the candidates of a service the one with the lowest score, then the first by id. Several services are chosen in the order of
// their ids in one context: each choice counts for the next, and the order of lists or maps must never show.
import { mark } from '../fleet/index.ts';
import type { Candidates, ElectionContext } from './candidates.ts';
import type { Cause, Loss, StoredService } from './model.ts';
import { whyOf, type ElectedHost } from './why.ts';

export interface ChoiceRequest {
  readonly service: Pick<StoredService, 'id' | 'doc'>;
  readonly cause: Cause;
  /** For a lost host: how it was lost. */
  readonly lost?: Loss | undefined;
  /** Hosts that are not candidates: the present one. */
  readonly excluded?: readonly string[];
  /** Whether a leaving host is acceptable when there is no other. */
  readonly fallback: 'leaving' | 'none';
  /** Chosen if it is a candidate at all: it is being prepared already. */
  readonly prefer?: string | undefined;
  /** Chosen before all others, also while it leaves: it has the connections, and the next handover copies them on. */
  readonly conntrackHolder?: string | undefined;
}

/** Undefined when there is no candidate. The choice is counted in the context. */
export function chooseHost(context: ElectionContext, request: ChoiceRequest, nowMs: number): ElectedHost | undefined {
  const { service, cause, lost, excluded, fallback } = request;
  const candidates = context.candidatesOf(service, excluded);
  const keeper = chooseConntrackHolder(context, request);
  const host = keeper ?? choosePreferred(context, request) ?? chooseBest(candidates, fallback);
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
