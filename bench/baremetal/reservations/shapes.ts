// Reservations where hardly two machines are alike: the cost of a choice may grow with hardware shapes, and this is how much. Beside the sample fleet, whose nodes have
// twenty shapes, in turns.
import type { TextChange } from '../../../src/journal/index.ts';
import { NODE, type Node } from '../../../src/baremetal/index.ts';
import { noGoal, type Benchmark, type Figure } from '../../benchmark.ts';
import type { Recorded } from '../../commits/recorded.ts';
import { onSqliteFile, seededFiles } from '../../commits/stores.ts';
import { runPaired } from '../../rounds.ts';
import type { BenchScope } from '../../scope.ts';
import { reservationBody, reservationFleet } from './fleet.ts';
import { demandReserved, releaseBurst, reserveBurst, type Burst } from './load.ts';

const NODES = 100_000;
const SHAPES = 10_000;
const CALLERS = 64;
const PER_ROUND = 1000;
const ROUNDS = 5;

function* manyShapes(): Generator<TextChange> {
  let nth = 0;
  for (const change of reservationFleet({ nodes: NODES })) {
    if (change.kind !== NODE.name || change.body === null) {
      yield change;
      continue;
    }
    const doc = JSON.parse(change.body) as Node;
    const capabilities = `${doc.capabilities},batch:${nth % SHAPES}`;
    yield { ...change, body: JSON.stringify({ ...doc, capabilities }) };
    nth += 1;
  }
}

/** No request was ever made like this one. */
function neverSeenBody(instance: string, nth: number): Readonly<Record<string, unknown>> {
  const body = reservationBody(instance, nth);
  seen += 1;
  return { ...body, memory_mb: 1 + (seen % 65_000) };
}
let seen = 0;

async function cost(recorded: Recorded, bodyOf?: Burst['bodyOf']): Promise<number> {
  const burst = await reserveBurst(recorded.journal, {
    callers: CALLERS,
    count: PER_ROUND,
    ...(bodyOf && { bodyOf }),
  });
  const us = (burst.cpuMs * 1000) / PER_ROUND;
  demandReserved(await recorded.takeWritten(), PER_ROUND);
  await releaseBurst(recorded.journal, { callers: CALLERS, instances: burst.instances });
  await recorded.takeWritten();
  return us;
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const many = await onSqliteFile(scope, (await seededFiles(scope, manyShapes())).ours);
  const few = await onSqliteFile(scope, (await seededFiles(scope, reservationFleet({ nodes: NODES }))).ours);
  const figures: Figure[] = [];
  const requests = [
    ['known', undefined],
    ['new', neverSeenBody],
  ] as const;
  for (const [name, bodyOf] of requests) {
    const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [
      await cost(many, bodyOf),
      await cost(few, bodyOf),
    ]);
    const peer = `20 shapes: ${peers.toFixed(0)} us`;
    figures.push({
      ...{ name: `baremetal-shapes-${SHAPES}-${name}`, value: ours, unit: 'us/reservation', peer },
      ...noGoal(ratio),
    });
  }
  return figures;
}

export const manyShapesReservations: Benchmark = {
  name: 'baremetal-shapes',
  about:
    `processor time of the deciding thread for a reservation with ${NODES} free nodes of ${SHAPES} hardware shapes, for a flavor that is known ` +
    'and for a request that was never made before',
  seconds: 40,
  run,
};
