// How long a scrape, and the question what should be on the switch of one host, hold the event loop in one piece, on 10^5 hosts: with
// instances in networks that a thousand hosts have a part of, every host then has a tunnel to every other one. Processor time of the thread.
import { dataplaneRoutes } from '../src/agent/server/dataplane-routes.ts';
import { Metrics } from '../src/api/runtime.ts';
import type { Answer, Caller } from '../src/access/index.ts';
import type { Fleet } from '../src/fleet/index.ts';
import { VIEW_PARTS } from '../src/hosts/index.ts';
import type { Journal } from '../src/journal/index.ts';
import { realClock } from '../src/main/clock.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { allocateMissingTunnelKeys } from '../src/network/tunnels/keys.ts';
import { below, type Benchmark, type Figure } from './benchmark.ts';
import { sampleHostId } from './sample-hosts.ts';
import { loadedScaleInFleet } from './scale-in-fleet.ts';
import type { Scope } from './scope.ts';

const HOSTS = 100_000;
const PIECE_LIMIT_MS = 20;
const ROUNDS = 3;
/** As the API sends it. */
const SLICE_CHARACTERS = 64 * 1024;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Asks as the API does. A piece ends where everything else has its turn. */
async function piecesOf(fleet: Fleet, caller: object): Promise<number[]> {
  const [route] = dataplaneRoutes(PROGRAM.all(VIEW_PARTS));
  const pieces: number[] = [];
  let began = cpuMs();
  const end = (): void => {
    pieces.push(cpuMs() - began);
  };
  const turn = async (): Promise<void> => {
    end();
    await realClock.turn();
    began = cpuMs();
  };
  const clock = { ...realClock, nowMs: () => realClock.nowMs(), turn };
  const call = { params: { id: sampleHostId(7) }, query: {}, caller };
  const answered = (await route?.handle(call as never, { journal: { fleet }, clock } as never)) as Required<Answer>;
  let length = 0;
  for (const text of answered.pieces()) {
    length += text.length;
    if (length < SLICE_CHARACTERS) continue;
    await turn();
    length = 0;
  }
  end();
  return pieces;
}

async function scraped(fleet: Fleet): Promise<number[]> {
  const metrics = new Metrics();
  const journal = { fleet, fence: undefined, onCommit: () => () => undefined, onRebuilt: () => () => undefined };
  metrics.follow(journal as unknown as Journal, realClock, PROGRAM.metrics);
  await metrics.text();
  const began = cpuMs();
  await metrics.text();
  return [cpuMs() - began];
}

async function figure(scope: Scope, name: string, ask: () => Promise<number[]>): Promise<Figure> {
  const rounds: number[][] = [];
  await ask();
  while (rounds.length < ROUNDS) {
    scope.check();
    rounds.push(await ask());
  }
  const longest = rounds.map((pieces) => Math.max(...pieces)).sort((one, other) => one - other);
  const value = longest[Math.floor(ROUNDS / 2)] ?? NaN;
  const [first = []] = rounds;
  const sum = Math.round(first.reduce((all, one) => all + one, 0));
  const peer = `limit: ${PIECE_LIMIT_MS} ms; ${first.length} pieces, ${sum} ms in all`;
  return { name, value, unit: 'ms', peer, ...below(1, value / PIECE_LIMIT_MS) };
}

async function run(scope: Scope): Promise<Figure[]> {
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
    await figure(scope, 'dataplane-piece-100000', () => piecesOf(fleet, {})),
    await figure(scope, 'dataplane-piece-of-a-site', () => piecesOf(fleet, ofSite)),
  ];
}

export const figuresPiecesBenchmark: Benchmark = {
  name: 'figures-pieces',
  about: `the longest that a scrape and the data plane of a host with ${HOSTS} peers hold the event loop`,
  seconds: 60,
  run,
};
