// Estimates how long a scale-in takes: from the number of concurrent moves and the duration of one. The duration is measured over recent
// moves, or assumed while too few were measured; the result says which.
import type { FleetReader } from '../../fleet/index.ts';
import { MOVE_TIMES } from './move-times.ts';
import { targetOf, type EvacuatorPlan } from './batch-plan.ts';

export interface Budgets {
  readonly movesAtOnce: number;
  readonly movesPerHostAtOnce: number;
}

export interface Estimate {
  readonly durationMs: number;
  readonly moves: number;
  readonly drains: number;
  /** The basis of the estimate, for each kind that has something to move. */
  readonly assuming: readonly MoveTime[];
  readonly budgets: Budgets;
}

export interface MoveTime {
  readonly kind: string;
  readonly moves: number;
  /** Absent where nothing is drained. */
  readonly drains?: number;
  readonly eachMs: number;
  /** The number of measured moves; absent when the duration is assumed. */
  readonly measuredOver?: number;
}

/** A live migration of a machine with a few GiB of memory over a network of 10 Gbit/s, with its preparation and clean-up. */
const MOVE_MS = 20_000;

/**
 * One kind after the other, as services move before the first instance; each within both budgets. Drains are estimated one after the other: no budget
 * limits them, and their evacuator alone knows which may be drained at the same time.
 */
export function estimateOf(fleet: FleetReader, planned: readonly EvacuatorPlan[], budgets: Budgets): Estimate {
  const times = fleet.projection(MOVE_TIMES);
  const rows = planned.flatMap(({ evacuator, evacuating }) => {
    const moving = evacuating.filter((one) => targetOf(one) !== undefined);
    const drains = evacuating.filter(({ evacuation }) => evacuation.kind === 'drain').length;
    const perHost = [...Map.groupBy(moving, ({ host }) => host).values()].map(({ length }) => length);
    const { name: kind, moveKinds = [], typicalMoveMs = MOVE_MS } = evacuator;
    const measured = times.median(moveKinds);
    const time: MoveTime = {
      kind,
      moves: moving.length,
      ...(drains > 0 && { drains }),
      eachMs: measured?.eachMs ?? typicalMoveMs,
      ...(measured !== undefined && { measuredOver: measured.sampleCount }),
    };
    return moving.length + drains === 0 ? [] : [{ perHost, drains, time }];
  });
  return {
    durationMs: rows.reduce(
      (sum, { perHost, drains, time }) => sum + (roundsOf(perHost, budgets) + drains) * time.eachMs,
      0,
    ),
    moves: rows.reduce((sum, { time }) => sum + time.moves, 0),
    drains: rows.reduce((sum, { drains }) => sum + drains, 0),
    assuming: rows.map(({ time }) => time),
    budgets: { movesAtOnce: budgets.movesAtOnce, movesPerHostAtOnce: budgets.movesPerHostAtOnce },
  };
}

/** The number of rounds of concurrent moves: the fullest host or the total decides. */
function roundsOf(perHost: readonly number[], { movesAtOnce, movesPerHostAtOnce }: Budgets): number {
  const all = perHost.reduce((sum, one) => sum + one, 0);
  return Math.max(Math.ceil(all / movesAtOnce), ...perHost.map((one) => Math.ceil(one / movesPerHostAtOnce)));
}
