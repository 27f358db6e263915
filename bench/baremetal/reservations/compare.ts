// Reservations against the bare store, and on a large fleet against a small one. In each round the journal goes first; the bare store then writes the rows
// of that round, cut into transactions exactly as the journal cut them. What is released between two bursts is written by both and not measured.
import { atLeast, below, noGoal, type Figure } from '../../benchmark.ts';
import { replay, type BareStore, type Recorded } from '../../commits/recorded.ts';
import { runPaired, summarisePairs, type PairedResult } from '../../rounds.ts';
import type { BenchScope } from '../../scope.ts';
import { threadCpuMs } from '../../slices.ts';
import { demandReserved, releaseBurst, reserveBurst } from './load.ts';

export interface ReservationComparison {
  readonly name: string;
  readonly ours: Recorded;
  readonly bare: BareStore;
  readonly bareName: string;
  readonly nodes: number;
  /** Only where there is one. */
  readonly perSecondGoal?: number;
}

const CALLERS = 256;
const RATIO_GOAL = 0.5;
/** The cost of a reservation with a hundred times as many nodes. */
const GROWTH_GOAL = 2;
const ROUNDS = 9;
/** Of one round. More, where the fleet is small enough that a burst is soon over. */
const RESERVED_PER_ROUND = 5000;
/** Of the nodes of a class, so that none of them runs out. */
const BURST_SHARE = 0.6;
/** Reserved, released, and both written once more. */
export const SECONDS = 20;

export async function compareWithBare(
  scope: BenchScope,
  { name, ours, bare, bareName, nodes, perSecondGoal }: ReservationComparison,
): Promise<Figure[]> {
  const cpus: (readonly [ours: number, bare: number])[] = [];
  const both = await runPaired(scope, ROUNDS, async () => {
    let [oursMs, bareMs, count] = [0, 0, 0];
    let [oursCpuMs, bareCpuMs] = [0, 0];
    while (count < RESERVED_PER_ROUND) {
      const burst = await reserveBurst(ours.journal, { callers: CALLERS, count: burstOf(nodes) });
      const written = await ours.takeWritten();
      demandReserved(written, burst.instances.length);
      const before = threadCpuMs();
      bareMs += (await replay(bare, written)).ms;
      bareCpuMs += threadCpuMs() - before;
      oursCpuMs += burst.cpuMs;
      oursMs += burst.ms;
      count += burst.instances.length;
      await releaseBurst(ours.journal, { callers: CALLERS, instances: burst.instances });
      await replay(bare, await ours.takeWritten());
    }
    cpus.push([(oursCpuMs * 1000) / count, (bareCpuMs * 1000) / count]);
    return [(count * 1000) / oursMs, (count * 1000) / bareMs];
  });
  const peer = `${bareName}: ${Math.round(both.peers)} of the same commits/s`;
  const figure = {
    name,
    value: both.ours,
    unit: 'reservations/s',
    peer,
    ...atLeast(RATIO_GOAL, both.ratio),
  };
  const cpu = cpuFigure(`${name}-cpu`, bareName, summarisePairs(cpus.slice(1)));
  if (perSecondGoal === undefined) return [figure, cpu];
  const rate = {
    ...figure,
    name: `${name}-rate`,
    peer: `least: ${perSecondGoal}/s`,
  };
  return [figure, { ...rate, ...atLeast(1, both.ours / perSecondGoal) }, cpu];
}

/** What the thread that decides takes beside the one that writes the bare rows: on a machine with nothing else to do, the slower of them counts. */
function cpuFigure(name: string, bareName: string, { ours, peers, ratio }: PairedResult): Figure {
  const peer = `${bareName}: ${peers.toFixed(1)} us`;
  return {
    name,
    value: ours,
    unit: 'us/reservation',
    peer,
    ...noGoal(1 / ratio),
  };
}

function burstOf(nodes: number): number {
  return Math.min(RESERVED_PER_ROUND, Math.floor(nodes * BURST_SHARE));
}

/** What one reservation costs on each of two fleets, in turns, in bursts of one size. */
export async function compareSizes(
  scope: BenchScope,
  name: string,
  {
    large,
    small,
    count,
  }: {
    readonly large: Recorded;
    readonly small: Recorded;
    readonly count: number;
  },
): Promise<Figure[]> {
  const cost = async ({ journal, takeWritten }: Recorded): Promise<number> => {
    let ms = 0;
    let reserved = 0;
    while (reserved < RESERVED_PER_ROUND) {
      const burst = await reserveBurst(journal, { callers: CALLERS, count: Math.floor(count * BURST_SHARE) });
      demandReserved(await takeWritten(), burst.instances.length);
      ms += burst.ms;
      reserved += burst.instances.length;
      await releaseBurst(journal, { callers: CALLERS, instances: burst.instances });
      await takeWritten();
    }
    return (ms * 1000) / reserved;
  };
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [await cost(large), await cost(small)]);
  const peer = `with a hundredth of the nodes: ${peers.toFixed(0)} us`;
  return [{ name, value: ours, unit: 'us/reservation', peer, ...below(GROWTH_GOAL, ratio) }];
}
