// The scheduler's decision alone, without the journal: how long it takes at 10^5 hosts while the fleet changes under it, and
// what a placement costs (decide and take) beside one at 10^3 hosts.
import { Stage, type Fleet } from '../src/fleet/index.ts';
import { CLAIM } from '../src/network/index.ts';
import { schedule, composeClaim, type Amounts, type ScheduleRequest } from '../src/scheduler/index.ts';
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { runPaired, median } from './rounds.ts';
import { sampleHostId } from './sample-hosts.ts';
import { CHOICES, claimOn, FLAVORS, FOR_THE_LAST_HOST, loadedFleet, seeded, SEGMENTS } from './scheduler-fleet.ts';
import type { BenchScope } from './scope.ts';

const HOSTS = 100_000;
const FEW_HOSTS = 1_000;
const LIMIT_MS = 0.5;
const ROUNDS = 5;
const DECISIONS = 2_000;
/** Members of each anti-affinity group before the oldest leaves. */
const KEPT = 500;

type Ask = (nth: number) => ScheduleRequest;

/** How often the system took the processor away: what it was taken away from says nothing of the scheduler. */
const interruptions = (): number => process.resourceUsage().involuntaryContextSwitches;

const amountsOf = (nth: number): ScheduleRequest['amounts'] => FLAVORS[nth % FLAVORS.length]!;

const REQUESTS: Readonly<Record<string, Ask>> = {
  constrained: (nth) => ({
    amounts: amountsOf(nth),
    zone: `zone-${(nth % SEGMENTS) % 3}`,
    requiredTraits: [`vendor-${nth % 4}`],
    group: { id: `group-${nth % 10}`, policy: 'anti-affinity' },
    nics: [{ network: 'tenants', choices: [CHOICES[nth % SEGMENTS]!] }],
  }),
  'every-host': () => ({ amounts: FLAVORS[0]!, nics: [{ network: 'tenants', choices: CHOICES }] }),
  'last-host': () => ({ amounts: FOR_THE_LAST_HOST, nics: [{ network: 'tenants', choices: CHOICES }] }),
};

/** Decides and takes, one after the other, and lets the oldest go: the fleet stays as full as it is. */
class Placing {
  readonly #stage: Stage;
  readonly #hosts: number;
  readonly #random = seeded(1);
  readonly #taken: string[] = [];
  #nth = 0;

  constructor(fleet: Fleet, hosts: number) {
    this.#stage = new Stage(fleet);
    this.#hosts = hosts;
  }

  /** How long the decision took, in milliseconds; undefined when it was interrupted. */
  decide(makeRequest: Ask): number | undefined {
    this.#nth += 1;
    const request = makeRequest(this.#nth);
    const before = interruptions();
    const began = performance.now();
    const answer = schedule(this.#stage, request);
    const tookMs = performance.now() - began;
    const interrupted = interruptions() !== before;
    if (answer.kind === 'none') throw new Error(`nothing fits: ${JSON.stringify(answer.report)}`);
    // What fits one host only is not taken: it would fit none from then on.
    if (request.amounts !== FOR_THE_LAST_HOST) this.#take(answer.host, composeClaim(request, answer));
    else this.#takeAnywhere();
    return interrupted ? undefined : tookMs;
  }

  #takeAnywhere(): void {
    this.#take(sampleHostId(Math.floor(this.#random() * (this.#hosts - 1))), FLAVORS[0]!);
  }

  #take(host: string, taken: ReturnType<typeof composeClaim> | Amounts): void {
    const id = `placed-${this.#nth}`;
    this.#stage.add([{ kind: CLAIM.name, id, doc: { ...claimOn(host, id, FLAVORS[0]!), ...taken } }]);
    this.#taken.push(id);
    const oldest = this.#taken.length > KEPT ? this.#taken.shift() : undefined;
    if (oldest !== undefined) this.#stage.add([{ kind: CLAIM.name, id: oldest, doc: null }]);
  }

  end(): void {
    this.#stage.rollback();
  }
}

async function decisionTimes(scope: BenchScope): Promise<Figure[]> {
  const fleet = loadedFleet(HOSTS);
  const figures: Figure[] = [];
  for (const [name, makeRequest] of Object.entries(REQUESTS)) {
    const middles: number[] = [];
    const worsts: number[] = [];
    const placing = new Placing(fleet, HOSTS);
    for (let round = 0; round <= ROUNDS; round += 1) {
      scope.check();
      const took = Array.from({ length: DECISIONS }, () => placing.decide(makeRequest))
        .filter((ms) => ms !== undefined)
        .sort((one, other) => one - other);
      if (round === 0) continue; // warms up
      middles.push(took[Math.floor(took.length * 0.5)]!);
      worsts.push(took[Math.floor(took.length * 0.99)]!);
    }
    placing.end();
    const figure = { unit: 'ms', peer: `limit: ${LIMIT_MS} ms` };
    const [p50, p99] = [median(middles), median(worsts)];
    figures.push({ name: `scheduler-${name}-p50`, value: p50, ...figure, ...noGoal(p50 / LIMIT_MS) });
    figures.push({ name: `scheduler-${name}-p99`, value: p99, ...figure, ...below(1, p99 / LIMIT_MS) });
    await Promise.resolve();
  }
  return figures;
}

/** Microseconds for one placement: decided and taken, the mean of those that were not interrupted. */
function placementUs(fleet: Fleet, hosts: number): number {
  const placing = new Placing(fleet, hosts);
  for (let nth = 0; nth < KEPT; nth += 1) placing.decide(anyFlavor);
  let [tookMs, placed] = [0, 0];
  for (let nth = 0; nth < DECISIONS; nth += 1) {
    const before = interruptions();
    const began = performance.now();
    placing.decide(anyFlavor);
    const ms = performance.now() - began;
    if (interruptions() !== before) continue;
    tookMs += ms;
    placed += 1;
  }
  placing.end();
  return (tookMs / placed) * 1000;
}

const anyFlavor: Ask = (nth) => ({ amounts: amountsOf(nth), nics: [{ network: 'tenants', choices: CHOICES }] });

async function placementCost(scope: BenchScope): Promise<Figure[]> {
  const [many, few] = [loadedFleet(HOSTS), loadedFleet(FEW_HOSTS)];
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, () =>
    Promise.resolve([placementUs(many, HOSTS), placementUs(few, FEW_HOSTS)] as const),
  );
  const peer = `${FEW_HOSTS} hosts: ${peers.toFixed(1)} us`;
  return [{ name: `scheduler-placement-${HOSTS}`, value: ours, unit: 'us', peer, ...below(2, ratio) }];
}

export const schedulerDecisionBenchmark: Benchmark = {
  name: 'scheduler-decision',
  about: `one decision at ${HOSTS} hosts in use: constrained, one that every host fits, one that only the last one fits`,
  seconds: 20,
  run: async (scope) => [...(await decisionTimes(scope)), ...(await placementCost(scope))],
};
