// How full the scheduler packs a fleet: requests of six flavors come at random until none of them fits anywhere, and the
// share of vcpus and memory in use is compared with that of an offline packing that has all requests beforehand.
import { Stage } from '../src/fleet/index.ts';
import { HOST } from '../src/hosts/index.ts';
import { CLAIM } from '../src/network/index.ts';
import { PACKING, schedule, type Amounts } from '../src/scheduler/index.ts';
import { atLeast, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { benchHost, claimOn, emptyFleet, FLAVORS, seeded } from './scheduler-fleet.ts';

const HOSTS = 1_000;
const SEED = 42;

interface FreeCapacity {
  vcpus: number;
  memoryMiB: number;
}

interface Packed {
  /** In the order in which they came, refused ones too. */
  readonly requests: readonly Amounts[];
  readonly share: number;
}

function initialCapacity(): FreeCapacity[] {
  return Array.from({ length: HOSTS }, (_, nth) => {
    const { vcpus, memoryMiB } = benchHost(nth).capacity;
    return { vcpus, memoryMiB };
  });
}

const sumOf = (rooms: readonly FreeCapacity[], of: keyof FreeCapacity): number =>
  rooms.reduce((sum, room) => sum + room[of], 0);

/** What is in use: the mean of vcpus and memory. */
function shareUsed(left: readonly FreeCapacity[]): number {
  const whole = initialCapacity();
  const used = (of: keyof FreeCapacity): number => 1 - sumOf(left, of) / sumOf(whole, of);
  return (used('vcpus') + used('memoryMiB')) / 2;
}

/** Calls `place` with one flavor after the other until none fits. */
function fill(place: (amounts: Amounts) => boolean): Amounts[] {
  const random = seeded(SEED);
  const requests: Amounts[] = [];
  const fits = new Set(FLAVORS);
  while (fits.size > 0) {
    const amounts = FLAVORS[Math.floor(random() * FLAVORS.length)]!;
    requests.push(amounts);
    if (fits.has(amounts) && !place(amounts)) fits.delete(amounts);
  }
  return requests;
}

function packedBySchedule(weights: typeof PACKING): Packed {
  const fleet = emptyFleet(HOSTS, { weights, instancesPerHostMax: 0 });
  const stage = new Stage(fleet);
  const left = new Map([...fleet.all(HOST)].map(({ id, doc }): [string, FreeCapacity] => [id, { ...doc.capacity }]));
  let nth = 0;
  const requests = fill((amounts) => {
    const answer = schedule(stage, { amounts, nics: [] });
    if (answer.kind === 'none') return false;
    const id = `packed-${(nth += 1)}`;
    stage.add([{ kind: CLAIM.name, id, doc: claimOn(answer.host, id, amounts) }]);
    take(left.get(answer.host)!, amounts);
    return true;
  });
  stage.rollback();
  return { requests, share: shareUsed([...left.values()]) };
}

function take(room: FreeCapacity, { vcpus, memoryMiB }: Amounts): void {
  room.vcpus -= vcpus;
  room.memoryMiB -= memoryMiB;
}

const WHOLE = { vcpus: 64, memoryMiB: 524_288 };
const sharesOf = ({ vcpus, memoryMiB }: FreeCapacity): [number, number] => [
  vcpus / WHOLE.vcpus,
  memoryMiB / WHOLE.memoryMiB,
];

/** The largest first, each where the least is left after it. */
function bestFitDecreasing(requests: readonly Amounts[], size: (room: FreeCapacity) => number): number {
  const left = initialCapacity();
  const full = new Set<Amounts>();
  for (const amounts of requests.toSorted((one, other) => size(other) - size(one))) {
    if (full.has(amounts)) continue;
    let best: FreeCapacity | undefined;
    for (const room of left) {
      if (room.vcpus < amounts.vcpus || room.memoryMiB < amounts.memoryMiB) continue;
      if (best === undefined || size(room) < size(best)) best = room;
    }
    if (best === undefined) full.add(amounts);
    else take(best, amounts);
  }
  return shareUsed(left);
}

/** As if all hosts were one: nothing packs more of the same requests. */
function asOneHost(): number {
  const whole = initialCapacity();
  const room = { vcpus: sumOf(whole, 'vcpus'), memoryMiB: sumOf(whole, 'memoryMiB') };
  fill((amounts) => {
    if (room.vcpus < amounts.vcpus || room.memoryMiB < amounts.memoryMiB) return false;
    take(room, amounts);
    return true;
  });
  return shareUsed([room]);
}

function measure(): Figure[] {
  const ours = packedBySchedule(PACKING);
  const plain = packedBySchedule({ ...PACKING, balance: 0 });
  const offline = Math.max(
    bestFitDecreasing(ours.requests, (room) => sharesOf(room)[0] + sharesOf(room)[1]),
    bestFitDecreasing(ours.requests, (room) => Math.max(...sharesOf(room))),
  );
  const one = asOneHost();
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const figure = { name: 'scheduler-packing', value: ours.share * 100, unit: '%' };
  return [
    { ...figure, peer: `best fit decreasing, offline: ${percent(offline)}`, ...atLeast(0.95, ours.share / offline) },
    {
      ...figure,
      name: 'scheduler-packing-without-balance',
      value: plain.share * 100,
      peer: `the packing preset: ${percent(ours.share)}`,
      ...noGoal(plain.share / ours.share),
    },
    {
      ...figure,
      name: 'scheduler-packing-bound',
      peer: `all hosts as one: ${percent(one)}`,
      ...noGoal(ours.share / one),
    },
  ];
}

export const schedulerPackingBenchmark: Benchmark = {
  name: 'scheduler-packing',
  about: `share of ${HOSTS} hosts of two sizes that six flavors fill, beside an offline packing of the same requests`,
  seconds: 5,
  run: () => Promise.resolve(measure()),
};
