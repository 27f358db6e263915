// How long a scrape, the view of one host's agent, and the question what should be on its switch, hold the event loop in one piece, on 10^5 hosts: with
// instances in networks that a thousand hosts have a part of, every host then has a tunnel to every other one. Processor time of the thread.
import { dataplaneRoutes } from '../src/agent/server/dataplane-routes.ts';
import { ViewComposer } from '../src/agent/server/view-composer.ts';
import { viewPieces } from '../src/agent/server/view-pieces.ts';
import { Metrics } from '../src/api/runtime.ts';
import type { Answer, Caller } from '../src/access/index.ts';
import type { Fleet } from '../src/fleet/index.ts';
import { VIEW_PARTS } from '../src/hosts/index.ts';
import type { Journal } from '../src/journal/index.ts';
import { realClock } from '../src/main/clock.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { allocateMissingTunnelKeys } from '../src/network/tunnels/keys.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { sampleHostId } from './sample-hosts.ts';
import { loadedScaleInFleet } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';
import { medianRound, pieceFigure, sliceTimes, threadCpuMs } from './slices.ts';

const HOSTS = 100_000;
/** As the API sends it. */
const SLICE_CHARACTERS = 64 * 1024;

/** Measures pieces: one ends where everything else has its turn. */
class PieceTimer {
  readonly pieces: number[] = [];
  #began = threadCpuMs();
  readonly clock = { ...realClock, nowMs: () => realClock.nowMs(), turn: () => this.turn() };

  end(): readonly number[] {
    this.pieces.push(threadCpuMs() - this.#began);
    return this.pieces;
  }

  async turn(): Promise<void> {
    this.end();
    await realClock.turn();
    this.#began = threadCpuMs();
  }

  /** Takes text in slices as large as those of the API. */
  async render(texts: Iterable<string>): Promise<readonly number[]> {
    let length = 0;
    for (const text of texts) {
      length += text.length;
      if (length < SLICE_CHARACTERS) continue;
      await this.turn();
      length = 0;
    }
    return this.end();
  }
}

/** Calls the route as the API does. */
async function piecesOf(fleet: Fleet, caller: object): Promise<readonly number[]> {
  const [route] = dataplaneRoutes(PROGRAM.all(VIEW_PARTS));
  const timer = new PieceTimer();
  const call = { params: { id: sampleHostId(7) }, query: {}, caller };
  const world = { journal: { fleet }, clock: timer.clock };
  const answered = (await route?.handle(call as never, world as never)) as Required<Answer>;
  return timer.render(answered.pieces());
}

/** Composes the view of an agent, and renders it as the gateway does. */
async function composed(fleet: Fleet): Promise<readonly number[]> {
  const timer = new PieceTimer();
  const journal = { fleet, journalId: 'bench', fence: { lease: 'fleet', epoch: 1 } };
  const source = { parts: PROGRAM.all(VIEW_PARTS), kinds: new Map() };
  const view = await new ViewComposer({ journal, clock: timer.clock, source }).compose(sampleHostId(7));
  if (view === undefined) throw new Error('there is a lease');
  return timer.render(viewPieces({ kind: 'view', view }));
}

async function scraped(fleet: Fleet): Promise<readonly number[]> {
  const metrics = new Metrics();
  const journal = { fleet, fence: undefined, onCommit: () => () => undefined, onRebuilt: () => () => undefined };
  metrics.follow(journal as unknown as Journal, realClock, PROGRAM.metrics);
  await metrics.text();
  const began = threadCpuMs();
  await metrics.text();
  return [threadCpuMs() - began];
}

async function figure(scope: BenchScope, name: string, request: () => Promise<readonly number[]>): Promise<Figure> {
  return pieceFigure(name, await medianRound(scope, async () => sliceTimes(await request())), '');
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const size = { hosts: HOSTS, instances: HOSTS, services: HOSTS / 20, presence: 'few' } as const;
  const fleet = loadedScaleInFleet(size);
  for (
    let changes = allocateMissingTunnelKeys(fleet, 1000);
    changes.length > 0;
    changes = allocateMissingTunnelKeys(fleet, 1000)
  ) {
    fleet.apply(fleet.revision + 1, changes);
  }
  const ofSite: Partial<Caller> = { name: 'bench', site: 'central' };
  return [
    await figure(scope, 'metrics-piece-100000', () => scraped(fleet)),
    await figure(scope, 'view-piece-100000', () => composed(fleet)),
    await figure(scope, 'dataplane-piece-100000', () => piecesOf(fleet, {})),
    await figure(scope, 'dataplane-piece-of-a-site', () => piecesOf(fleet, ofSite)),
  ];
}

export const figuresPiecesBenchmark: Benchmark = {
  name: 'figures-pieces',
  about: `the longest that a scrape, the view and the data plane of a host with ${HOSTS} peers hold the event loop`,
  seconds: 60,
  run,
};
