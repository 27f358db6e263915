// Rebalancing: handovers from hosts with many services to hosts with few, as few as necessary. It must never run without a request.
import { valueOf, type FleetReader } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import type { OperationId } from '../operations/index.ts';
import { ElectionContext, type Candidate } from './candidates.ts';
import { healthOf } from './health.ts';
import { handoverBudget } from './handover/budget.ts';
import { SERVICE, type StoredService } from './model.ts';
import { electionsHeld } from './move.ts';
import { beginHandovers, isHandoverActive, type BeginHandovers, type PlannedHandover } from './designation.ts';
import { ELECTION } from './settings.ts';
import { whyOf } from './why.ts';

export interface RebalanceAnswer {
  /** Absent when nothing is to be moved. */
  readonly operation?: OperationId;
  readonly moves: readonly { readonly service: string; readonly from: string; readonly to: string }[];
  /** More could be rebalanced when these are done: the budget limits concurrent handovers. */
  readonly more: boolean;
}

/** Costs O(services · presence) for each round; a person requests it, and seldom. */
export function rebalanceServices(fleet: FleetReader, command: BeginHandovers): Decision<RebalanceAnswer> {
  if (valueOf(fleet, ELECTION).held) return refuse(electionsHeld());
  const budget = handoverBudget(fleet);
  const planned = planRebalance(fleet, command.nowMs, budget + 1);
  const selected = planned.slice(0, budget);
  const moves = selected.map(({ service, to }) => ({
    service: service.id,
    from: service.doc.designated?.host ?? '',
    to,
  }));
  const changes = beginHandovers(selected, command);
  const started = selected.length === 0 ? {} : { operation: command.operation };
  return accept(changes, { ...started, moves, more: planned.length > selected.length });
}

/** A move helps when it brings the loads of both hosts closer: a difference of one would only change sides. */
const WORTH_IT = 2;

/** The moves until none helps any more, at most `most`; each service moves once. */
function planRebalance(fleet: FleetReader, nowMs: number, most: number): PlannedHandover[] {
  const context = new ElectionContext(fleet);
  const byHost = findMovableServices(fleet, context);
  const moves: PlannedHandover[] = [];
  for (let moved = true; moved && moves.length < most;) {
    moved = false;
    for (const host of [...byHost.keys()].sort(heaviestFirst(context))) {
      const services = byHost.get(host) ?? [];
      const best = bestMove(context, host, services);
      if (best === undefined) continue;
      const { service, to } = best;
      const why = whyOf('rebalance', context.candidatesOf(service, [host]), to.host, nowMs);
      context.recordChoice(service.doc, to.host);
      services.splice(services.indexOf(service), 1);
      moves.push({ service, to: to.host, why });
      moved = true;
      break;
    }
  }
  return moves;
}

function heaviestFirst(context: ElectionContext): (one: string, other: string) => number {
  return (one, other) => context.scoreOf(other) - context.scoreOf(one) || (one < other ? -1 : 1);
}

/** Healthy designations that nothing else moves, by their hosts. */
function findMovableServices(fleet: FleetReader, context: ElectionContext): Map<string, StoredService[]> {
  const byHost = new Map<string, StoredService[]>();
  for (const service of fleet.all(SERVICE)) {
    const host = service.doc.designated?.host;
    if (host === undefined || isHandoverActive(fleet, service)) continue;
    if (healthOf(context, service.doc, { hasBfdUp: () => true, maybePartitioned: () => true, nowMs: 0 }) !== 'fine')
      continue;
    const here = byHost.get(host);
    if (here === undefined) byHost.set(host, [service]);
    else here.push(service);
  }
  return byHost;
}

interface PlannedMove {
  readonly service: StoredService;
  readonly to: Candidate;
}

/** To the least loaded candidate of one of its services; of several services the first by id. */
function bestMove(context: ElectionContext, host: string, services: readonly StoredService[]): PlannedMove | undefined {
  let best: PlannedMove | undefined;
  for (const service of services) {
    const to = context.candidatesOf(service, [host]).eligible.first;
    if (to === undefined || context.scoreOf(host) - to.score < WORTH_IT) continue;
    if (best === undefined || to.score < best.to.score) best = { service, to };
  }
  return best;
}
