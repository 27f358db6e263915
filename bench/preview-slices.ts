// How long a preview holds the event loop in one piece, on 10^4 hosts with 10^5 instances. The routes themselves are called; what their
// decisions are made by is measured, in processor time, and what it takes to write down the answer. Beside it: the same plan made in one go.
import { hash } from 'node:crypto';
import type { Route } from '../src/access/index.ts';
import { computeRemovalImpact } from '../src/dataplane/index.ts';
import { valueOf, type Fleet } from '../src/fleet/index.ts';
import { evacuatorsOf, runAllSteps, SCALE_IN } from '../src/hosts/index.ts';
import { previewScaleIn } from '../src/hosts/preview/preview.ts';
import { scaleInRoutes } from '../src/hosts/runtime.ts';
import { tenantRoutes } from '../src/instances/runtime.ts';
import { realClock } from '../src/main/clock.ts';
import { PROGRAM } from '../src/main/modules.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { SEGMENTS } from './placements/fleet.ts';
import { sampleHostId } from './sample-hosts.ts';
import { leavers, loadedScaleInFleet } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';
import { medianRound, pieceFigure, SliceTimer, threadCpuMs, type SliceTimes } from './slices.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

const HOSTS = 10_000;
const INSTANCES = 100_000;
const SERVICES = 5_000;
const FULL_HOSTS = 20;

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const OPERATOR = { name: 'bench', role: 'operator' };

/** Calls a route as the API does, with a decider that does nothing else. */
async function measureSlices(fleet: Fleet, route: Route | undefined, call: object): Promise<SliceTimes> {
  const timer = new SliceTimer();
  const submit = (_: unknown, { decide }: { decide: (on: Fleet) => { kind: string; answer?: unknown } }) => {
    const { kind, answer } = timer.run(() => decide(fleet));
    if (kind !== 'accept') throw new Error('the plan was refused');
    return Promise.resolve({ kind: 'accepted', revision: fleet.revision, answer });
  };
  // The caller is bound to no site and no project: it is shown everything.
  const world = { submit, clock: realClock, hash: sha256, redactorFor: () => undefined };
  const answered = (await route?.handle({ caller: OPERATOR, authority: {}, ...call } as never, world as never)) as {
    readonly body?: object;
  };
  if (answered.body === undefined) throw new Error(`no answer: ${JSON.stringify(answered)}`);
  timer.run(() => JSON.stringify(answered.body));
  return timer.times;
}

function unslicedMs(fleet: Fleet, hosts: readonly string[]): number {
  const began = threadCpuMs();
  const request = { hosts, nowMs: realClock.nowMs(), hash: sha256, budgets: valueOf(fleet, SCALE_IN), explained: 1000 };
  const shown = previewScaleIn(fleet, EVACUATORS, request);
  if ('code' in shown) throw new Error(shown.message);
  runAllSteps(computeRemovalImpact(fleet, [...hosts], 1000));
  return threadCpuMs() - began;
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const fleet = loadedScaleInFleet({ hosts: HOSTS, instances: INSTANCES, services: SERVICES });
  const routes = scaleInRoutes({
    evacuators: EVACUATORS,
    touchedBy: computeRemovalImpact,
    explain: PROGRAM.explain,
    scopes: PROGRAM,
  });
  const preview = routes.find(({ path }) => path.endsWith('/preview'));
  const previewed = async (name: string, hosts: readonly string[]): Promise<Figure> => {
    const pieces = await medianRound(scope, () => measureSlices(fleet, preview, { body: { hosts } }));
    return pieceFigure(name, pieces, `; in one go: ${Math.round(unslicedMs(fleet, hosts))} ms`);
  };
  // All hosts of one segment: no instance has anywhere to go, and each gets the reason.
  const segment = Array.from({ length: HOSTS / SEGMENTS }, (_, nth) => sampleHostId(nth * SEGMENTS));
  const figures = [
    await previewed('preview-piece-100', leavers(100)),
    await previewed('preview-piece-1000', leavers(1000)),
    await previewed('preview-piece-blocked', segment),
  ];
  const full = loadedScaleInFleet({ hosts: FULL_HOSTS, instances: INSTANCES, services: FULL_HOSTS });
  const [tenants] = tenantRoutes({ evacuators: EVACUATORS, explain: PROGRAM.explain });
  const call = { params: { id: sampleHostId(0) }, query: { limit: 1000 } };
  const report = `; ${INSTANCES / FULL_HOSTS} instances on the host, the first 1000 of them explained`;
  figures.push(
    pieceFigure('tenants-piece', await medianRound(scope, () => measureSlices(full, tenants, call)), report),
  );
  return figures;
}

export const previewSlicesBenchmark: Benchmark = {
  name: 'preview-slices',
  about: `the longest that a preview of 100 and 1000 of ${HOSTS} hosts, and the tenants of a full one, hold the event loop`,
  seconds: 55,
  run,
};
