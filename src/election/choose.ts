// The one choice: of those that can do a service the one with the lowest score, then the first by id. Whoever chooses for several
// does so in the order of their ids on one poll: each choice counts for the next, and no order of lists or maps shows.
import { mark } from '../fleet/index.ts';
import type { Candidates, Poll } from './candidates.ts';
import type { Cause, Loss, StoredService } from './model.ts';
import { whyOf, type Choice } from './why.ts';

export interface Asked {
  readonly service: Pick<StoredService, 'id' | 'doc'>;
  readonly cause: Cause;
  /** Of a host that was lost: in what way. */
  readonly lost?: Loss | undefined;
  /** Hosts that are not to be chosen: the one that has it. */
  readonly except?: readonly string[];
  /** Whether a leaving host will do when no other can. */
  readonly fallback: 'leaving' | 'none';
  /** Taken if it can do it at all: it is being built already. */
  readonly prefer?: string | undefined;
  /** Taken before all others, also while it leaves: it has the connections, and hands them on with the next hand-over. */
  readonly keeper?: string | undefined;
}

/** Undefined when nobody can. What is chosen is counted in the poll. */
export function choose(poll: Poll, asked: Asked, nowMs: number): Choice | undefined {
  const { service, cause, lost, except, fallback } = asked;
  const candidates = poll.candidatesOf(service, except);
  const keeper = kept(poll, asked);
  const host = keeper ?? preferred(poll, asked) ?? best(candidates, fallback);
  if (host === undefined) return undefined;
  poll.count(service.doc, host);
  const more = { ...(lost !== undefined && { lost }), ...(keeper !== undefined && { kept: true as const }) };
  return { host, why: { ...whyOf(cause, candidates, host, nowMs), ...more } };
}

function kept(poll: Poll, { service, keeper }: Asked): string | undefined {
  if (keeper === undefined || !poll.mayKeep(service.doc, keeper)) return undefined;
  mark('failover-to-the-old-host');
  return keeper;
}

function preferred(poll: Poll, { service, prefer }: Asked): string | undefined {
  return prefer !== undefined && poll.rejectionOf(service.doc, prefer) === undefined ? prefer : undefined;
}

function best({ eligible, unheard, leaving }: Candidates, fallback: Asked['fallback']): string | undefined {
  return (eligible.first ?? unheard.first ?? (fallback === 'leaving' ? leaving.first : undefined))?.host;
}
