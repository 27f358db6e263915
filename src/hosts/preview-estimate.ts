// How long a scale-in should take: from how many moves go on at once, and from how long one takes. The latter is an assumption,
// and is told with the result.
import { targetOf, type PlannedBy } from './preview-plan.ts';

export interface Budgets {
  readonly movesAtOnce: number;
  readonly movesPerHostAtOnce: number;
}

export interface Estimate {
  readonly durationMs: number;
  readonly moves: number;
  /** What it rests on, for each kind that has something to move. */
  readonly assuming: readonly { readonly kind: string; readonly moves: number; readonly eachMs: number }[];
  readonly budgets: Budgets;
}

/** A live move of a machine with a few GiB of memory over a network of 10 Gbit/s, with what comes before and after. */
const MOVE_MS = 20_000;

/** One kind after the other, as services go before the first instance does; each within both budgets. */
export function estimateOf(planned: readonly PlannedBy[], budgets: Budgets): Estimate {
  const rows = planned.flatMap(({ evacuator, evacuating }) => {
    const moving = evacuating.filter((one) => targetOf(one) !== undefined);
    const perHost = [...Map.groupBy(moving, ({ host }) => host).values()].map(({ length }) => length);
    const eachMs = evacuator.aboutMs ?? MOVE_MS;
    return moving.length === 0 ? [] : [{ kind: evacuator.name, perHost, moves: moving.length, eachMs }];
  });
  return {
    durationMs: rows.reduce((sum, { perHost, eachMs }) => sum + roundsOf(perHost, budgets) * eachMs, 0),
    moves: rows.reduce((sum, { moves }) => sum + moves, 0),
    assuming: rows.map(({ kind, moves, eachMs }) => ({ kind, moves, eachMs })),
    budgets: { movesAtOnce: budgets.movesAtOnce, movesPerHostAtOnce: budgets.movesPerHostAtOnce },
  };
}

/** How often all that may go at once goes: the fullest host or the sum of all keeps it longest. */
function roundsOf(perHost: readonly number[], { movesAtOnce, movesPerHostAtOnce }: Budgets): number {
  const all = perHost.reduce((sum, one) => sum + one, 0);
  return Math.max(Math.ceil(all / movesAtOnce), ...perHost.map((one) => Math.ceil(one / movesPerHostAtOnce)));
}
