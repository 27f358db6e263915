// Planning a scale-in of a hundred hosts, and its first commit: what it costs on fleets of three sizes. The cost must follow what
// lives on the hosts that leave, not the fleet.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { computeRemovalImpact } from '../src/dataplane/index.ts';
import { idOf, valueOf, type Fleet } from '../src/fleet/index.ts';
import { evacuatorsOf, runAllSteps, SCALE_IN, startScaleIn } from '../src/hosts/index.ts';
import { previewScaleIn, type ScaleInPreview } from '../src/hosts/preview/preview.ts';
import { openSqliteStore } from '../src/journal/runtime.ts';
import { realClock } from '../src/main/clock.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { OPERATION } from '../src/operations/index.ts';
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { recordedJournal } from './commits/recorded.ts';
import { median } from './rounds.ts';
import { leavers, loadedScaleInFleet, scaleInFleet, scatteredLeavers } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';
import { DATABASE_FILE, writeSeed } from './seeded-store.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

const LEAVERS = 100;
const INSTANCES = 100_000;
const SERVICES = 5_000;
const FLEETS = [1_000, 10_000, 100_000];
/** To make the fleet in memory. */
const LOAD_SECONDS: Readonly<Record<number, number>> = { 1_000: 6, 10_000: 7, 100_000: 18 };
const ROUNDS = 5;
/** Rounds count once as many tenants were planned for as the fullest hosts have: until then the fewest meet code that is not compiled. */
const WARM_TENANTS = 10_000;
const PLAN_LIMIT_MS = 1000;
const COMMIT_LIMIT_MS = 200;

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** As a request has it that says nothing else. */
const NAMED = 1000;

function preview(fleet: Fleet, hosts = leavers(LEAVERS)): ScaleInPreview {
  const request = { hosts, nowMs: realClock.nowMs(), hash: sha256, budgets: valueOf(fleet, SCALE_IN) };
  const shown = previewScaleIn(fleet, EVACUATORS, request);
  if ('code' in shown) throw new Error(shown.message);
  const leaving = shown.hosts.map(({ host }) => host);
  runAllSteps(computeRemovalImpact(fleet, leaving, NAMED));
  return shown;
}

/** The same as `muster scale-in start`, held to a plan or not. */
const command = (nth: number, plan?: string) => ({
  hosts: leavers(LEAVERS),
  operation: idOf(OPERATION, `op-${nth}`),
  by: 'bench',
  nowMs: realClock.nowMs(),
  drain: true,
  deadlineMs: 3_600_000,
  ...(plan !== undefined && { plan: { plan, hash: sha256 } }),
});

function timed<T>(work: () => T): { readonly ms: number; readonly made: T } {
  const began = performance.now();
  const made = work();
  return { ms: performance.now() - began, made };
}

/** A preview and a start of the same hosts, which the fleet does not keep. */
function measurePreview(fleet: Fleet, hosts: string[]): { plan: number; start: number; tenants: number } {
  const { ms: plan, made } = timed(() => preview(fleet, hosts));
  const { ms: start, made: started } = timed(() => startScaleIn(fleet, EVACUATORS, { ...command(0), hosts }));
  demandPlanned(made);
  if (started.kind !== 'accept') throw new Error(started.refusal.message);
  return { plan, start, tenants: made.hosts.reduce((sum, host) => sum + host.tenants.length, 0) };
}

async function measurePlan(scope: BenchScope, hosts: number): Promise<Figure[]> {
  const fleet = loadedScaleInFleet({ hosts, instances: INSTANCES, services: SERVICES });
  const [plans, starts, perTenant]: [number[], number[], number[]] = [[], [], []];
  let tenants = 0;
  for (let warm = 0; plans.length < ROUNDS; warm += tenants) {
    scope.check();
    const { plan, start, tenants: counted } = measurePreview(fleet, leavers(LEAVERS));
    tenants = counted;
    if (warm < WARM_TENANTS) continue;
    plans.push(plan);
    starts.push(start);
    perTenant.push((plan * 1000) / tenants);
    await Promise.resolve();
  }
  // A service is chosen for among all hosts with presence, and here each rack has as many more as the fleet has.
  const on = `${tenants} tenants on ${LEAVERS} leavers, ${hosts / 100} hosts with presence for a service`;
  const [plan, start] = [median(plans), median(starts)];
  const goal = hosts === 10_000 ? below : (_most: number, ratio: number) => noGoal(ratio);
  return [
    {
      name: `scale-in-plan-${hosts}`,
      value: plan,
      unit: 'ms',
      peer: `limit: ${PLAN_LIMIT_MS} ms, ${on}`,
      ...goal(1, plan / PLAN_LIMIT_MS),
    },
    { name: `scale-in-plan-${hosts}-each`, value: median(perTenant), unit: 'us/tenant', peer: on, ...noGoal(1) },
    {
      name: `scale-in-start-${hosts}`,
      value: start,
      unit: 'ms',
      peer: `limit: ${COMMIT_LIMIT_MS} ms, decided and not written`,
      ...goal(1, start / COMMIT_LIMIT_MS),
    },
  ];
}

/** A plan in which everything waits would measure something else. */
function demandPlanned({ blocked, designations }: ScaleInPreview): void {
  const [first] = blocked;
  if (first !== undefined) throw new Error(`${blocked.length} are blocked: ${JSON.stringify(first)}`);
  if (designations.length === 0) throw new Error('no service is to be handed over');
}

const planBenchmark = (hosts: number): Benchmark => ({
  name: `scale-in-plan-${hosts}`,
  about: `preview and start of ${LEAVERS} of ${hosts} hosts, with ${INSTANCES} instances and ${SERVICES} services`,
  seconds: LOAD_SECONDS[hosts] ?? 15,
  run: (scope) => measurePlan(scope, hosts),
});

/** What a tenant costs, and a start, when a service has presence on as many hosts in every fleet: it must follow the leavers alone. */
async function measureGrowth(scope: BenchScope, hosts: number): Promise<Figure[]> {
  const fleet = loadedScaleInFleet({ hosts, instances: INSTANCES, services: SERVICES, presence: 'few' });
  const names = scatteredLeavers(LEAVERS, hosts);
  const [took, starts]: [number[], number[]] = [[], []];
  let tenants = 0;
  for (let warm = 0; took.length < ROUNDS; warm += tenants) {
    scope.check();
    const { plan, start, tenants: counted } = measurePreview(fleet, names);
    tenants = counted;
    if (warm < WARM_TENANTS) continue;
    took.push((plan * 1000) / tenants);
    starts.push(start);
    await Promise.resolve();
  }
  const peer = `${tenants} tenants on ${LEAVERS} leavers, ${INSTANCES / SERVICES} hosts with presence for a service`;
  return [
    { name: `scale-in-follows-${hosts}`, value: median(took), unit: 'us/tenant', peer, ...noGoal(1) },
    { name: `scale-in-follows-${hosts}-start`, value: median(starts), unit: 'ms', peer, ...noGoal(1) },
  ];
}

const followBenchmark = (hosts: number): Benchmark => ({
  name: `scale-in-follows-${hosts}`,
  about: `what a preview of ${LEAVERS} of ${hosts} hosts costs for each tenant, with as many hosts for a service in every fleet`,
  seconds: (LOAD_SECONDS[hosts] ?? 15) * 2,
  run: (scope) => measureGrowth(scope, hosts),
});

const HOSTS = 10_000;

/** One start is one commit, and there is one for each fleet: hosts do not leave twice. So each round has hosts of its own. */
async function measureTombstones(scope: BenchScope): Promise<Figure[]> {
  const store = await openSqliteStore({ path: join(await scope.tempDir(), DATABASE_FILE) });
  scope.onClose(() => store.close());
  await writeSeed(store, scaleInFleet({ hosts: HOSTS, instances: INSTANCES, services: SERVICES }));
  const { journal } = await recordedJournal(scope, store);
  const took: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    scope.check();
    const hosts = leavers(LEAVERS * (round + 1)).slice(LEAVERS * round);
    const began = performance.now();
    const decide = (fleet: Parameters<typeof startScaleIn>[0]) =>
      startScaleIn(fleet, EVACUATORS, { ...command(round), hosts });
    const outcome = await journal.submit({ by: 'bench', decide });
    if (outcome.kind !== 'accepted') throw new Error(outcome.refusal.message);
    if (round > 0) took.push(performance.now() - began);
  }
  const value = median(took);
  const peer = `limit: ${COMMIT_LIMIT_MS} ms`;
  return [{ name: 'scale-in-tombstones', value, unit: 'ms', peer, ...below(1, value / COMMIT_LIMIT_MS) }];
}

const tombstonesBenchmark: Benchmark = {
  name: 'scale-in-tombstones',
  about: `the commit that tombstones ${LEAVERS} of ${HOSTS} hosts, durable on SQLite`,
  seconds: 40,
  run: measureTombstones,
};

export const scaleInPlanBenchmarks: readonly Benchmark[] = [
  ...FLEETS.map(planBenchmark),
  ...FLEETS.map(followBenchmark),
  tombstonesBenchmark,
];
