// How long a decision on a thousand hosts holds the event loop in one piece, on 10^4 hosts with 10^5 instances: each slice of what is worked
// out before its commit, and the commit itself as far as it is decided: authorised elsewhere, decided, checked, written down as text, staged.
import { hash } from 'node:crypto';
import { guardWrite, NOT_PREPARED, type Route, type Write } from '../src/access/index.ts';
import { restconfRoutes } from '../src/api/restconf/routes.ts';
import { computeRemovalImpact } from '../src/dataplane/index.ts';
import { valueOf, type Fleet, type FleetReader, type Refusal } from '../src/fleet/index.ts';
import { evacuatorsOf, SCALE_IN, startScaleIn } from '../src/hosts/index.ts';
import { previewScaleIn } from '../src/hosts/preview/preview.ts';
import { joinRoutes } from '../src/hosts/join/routes.ts';
import { scaleInRoutes } from '../src/hosts/runtime.ts';
import { scaleOutRoute } from '../src/hosts/join/scale-out-routes.ts';
import { DecidedGroup } from '../src/journal/decided-group.ts';
import type { Decision, Outcome } from '../src/journal/index.ts';
import { realClock } from '../src/main/clock.ts';
import { PROGRAM } from '../src/main/modules.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { leavers, loadedScaleInFleet } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';
import { medianRound, pieceFigure, SliceTimer, type SliceTimes } from './slices.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);
const { explain } = PROGRAM;

const HOSTS = 10_000;
const INSTANCES = 100_000;
const SERVICES = 5_000;
const LEAVERS = 1000;

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const CALLER = { name: 'bench', role: 'operator' };

interface DecisionTimes extends SliceTimes {
  readonly commitMs: number;
  /** What it came to: `accepted`, or the code of the refusal. */
  readonly outcome: string;
}

/** Decides as the journal does, on a stage that is dropped. */
function decideOn<A>(fleet: Fleet, decide: (on: FleetReader) => Decision<A>, measured: SliceTimer): Outcome<A> {
  const group = new DecidedGroup(fleet, undefined);
  let outcome: Outcome<A> | undefined;
  const resolve = (settled: Outcome<unknown>): void => void (outcome = settled as Outcome<A>);
  const reject = (error: unknown): void => {
    throw error;
  };
  const pending = { request: { by: 'bench', decide }, atMs: 0, resolve, reject };
  measured.run(() => group.add([pending], { nowMs: realClock.nowMs(), newCommitId: () => 'c' }));
  for (const { settle } of group.decided) settle();
  group.stage.rollback();
  return outcome as Outcome<A>;
}

/** Calls a route that writes as the API does, prepared as often as it has to be. */
async function measureSlices(fleet: Fleet, route: Route, body: object): Promise<DecisionTimes> {
  const measured = new SliceTimer();
  let serial = 0;
  const world = {
    submit: (_: unknown, { decide }: { decide: (on: FleetReader) => Decision<unknown> }) =>
      Promise.resolve(decideOn(fleet, decide, measured)),
    clock: realClock,
    ids: { next: (kind: string) => `${kind}-bench-${(serial += 1)}` },
    hash: sha256,
    redactorFor: () => undefined,
    journal: { fleet },
  };
  const call = { body, caller: CALLER, authority: {}, params: {}, query: {} };
  let write = route.handle(call as never, world as never) as Write | { readonly kind: 'refuse' };
  for (;;) {
    if ('kind' in write) throw new Error(JSON.stringify(write));
    const decide = guardWrite(write, { caller: CALLER, redactorFor: () => undefined } as never);
    const outcome = decideOn(fleet, decide, measured);
    const commitMs = measured.lastMs;
    if (outcome.kind === 'refused' && outcome.refusal.code === NOT_PREPARED && write.prepare !== undefined) {
      const next: Write | Refusal = await write.prepare();
      if ('code' in next) throw new Error(next.message);
      write = next;
      continue;
    }
    measured.run(() => JSON.stringify(outcome));
    return {
      ...measured.times,
      commitMs,
      outcome: outcome.kind === 'refused' ? outcome.refusal.code : 'accepted',
    };
  }
}

interface SliceRequest {
  readonly name: string;
  readonly route: Route;
  readonly body: object;
  readonly expected: string;
}

async function figureOf(
  scope: BenchScope,
  fleet: Fleet,
  { name, route, body, expected }: SliceRequest,
): Promise<Figure> {
  const times = await medianRound(scope, () => measureSlices(fleet, route, body));
  if (times.outcome !== expected) throw new Error(`${name}: ${times.outcome} instead of ${expected}`);
  return pieceFigure(name, times, `; the commit ${times.commitMs.toFixed(1)} ms`);
}

function routesBy(): (path: string) => Route {
  const routes = [
    ...scaleInRoutes({ evacuators: EVACUATORS, touchedBy: computeRemovalImpact, explain, scopes: PROGRAM }),
    ...joinRoutes(),
    scaleOutRoute,
    ...restconfRoutes({ evacuators: EVACUATORS, explain }),
  ];
  return (path) => {
    const found = routes.find((route) => route.method === 'POST' && route.path.endsWith(path));
    if (found === undefined) throw new Error(`there is no ${path}`);
    return found;
  };
}

/** As the commit of a start leaves it: they all leave, and everything still lives there. */
function tombstone(fleet: Fleet, hosts: readonly string[]): void {
  const how = { operation: 'op-before' as never, by: 'bench', nowMs: realClock.nowMs(), drain: true };
  const decision = startScaleIn(fleet, EVACUATORS, { ...how, hosts, deadlineMs: 3_600_000 });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  fleet.apply(fleet.revision + 1, decision.changes);
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const fleet = loadedScaleInFleet({ hosts: HOSTS, instances: INSTANCES, services: SERVICES });
  const routeAt = routesBy();
  const hosts = leavers(LEAVERS);
  const nodes = { input: { 'node-ids': hosts } };
  const request = { hosts, nowMs: realClock.nowMs(), hash: sha256, budgets: valueOf(fleet, SCALE_IN) };
  const shown = previewScaleIn(fleet, EVACUATORS, request);
  if ('code' in shown) throw new Error(shown.message);
  const newHosts = Array.from({ length: LEAVERS }, (_, nth) => ({ name: `new-${nth}`, site: 'central' }));
  const measure = (name: string, path: string, body: object, expected = 'accepted'): Promise<Figure> =>
    figureOf(scope, fleet, { name, route: routeAt(path), body, expected });
  const figures = [
    await measure('start-piece-1000', '/scale-in/start', { hosts }),
    await measure('start-pinned-piece-1000', '/scale-in/start', { hosts, plan: shown.planHash }),
    await measure('restconf-start-piece-1000', ':scalein-computes-start', nodes),
    await measure('join-piece-1000', '/api/v1/hosts', { hosts: newHosts }),
    await measure('scale-out-piece-1000', '/scale-out', { hosts: newHosts }),
  ];
  tombstone(fleet, hosts);
  return [
    ...figures,
    await measure('end-blocked-piece-1000', '/scale-in/end', { hosts }, 'blocked'),
    await measure('end-forced-piece-1000', '/scale-in/end', { hosts, force: { reason: 'bench' } }),
    await measure('recover-piece-1000', '/scale-in/recover', { hosts, failBack: true }),
    await measure('start-again-piece-1000', '/scale-in/start', { hosts }),
  ];
}

export const decisionSlicesBenchmark: Benchmark = {
  name: 'decision-slices',
  about: `the longest that start, end, recover and joins of ${LEAVERS} of ${HOSTS} hosts hold the event loop`,
  seconds: 60,
  run,
};
