// What it costs that callers are checked inside the commit: the checks by themselves, beside the processor time of the whole
// request at a real server, in the same rounds. To compare two versions of the server cannot show it: from one process to the
// next a request differs by more than the limit. What is counted is more than what the checks added, never less: also what
// was there before them, such as handing a request to the journal.
import { join } from 'node:path';
import {
  createAuthorizedSubmit,
  findTokenTrouble,
  callerOfToken,
  TOKEN,
  type Authority,
} from '../../src/access/index.ts';
import { Stage, type FleetReader } from '../../src/fleet/index.ts';
import type { Journal, Request } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { leadingJournal } from '../journal/load.ts';
import { placementFleet, REQUEST } from '../placements/fleet.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { summarisePairs } from '../rounds.ts';
import { sampleHostId } from '../sample-hosts.ts';
import type { BenchScope } from '../scope.ts';
import { clientTokenId, DATABASE_FILE, seededSecret, seedFolder, writeSeed } from '../seeded-store.ts';
import { cpuSeconds, startServer } from '../server-process.ts';
import type { LoadJob } from './load-client.ts';
import { startLoader } from './loader.ts';

/** Of a request's processor time. */
const SHARE_MAX = 0.03;
const ROUNDS = 7;
const ROUND_MS = 1500;
const CLIENTS = 64;
const CHECKS = 100_000;
const SECONDS = Math.ceil(((ROUNDS + 1) * (ROUND_MS + 300)) / 1000) + 8;

const secrets = Array.from({ length: CLIENTS }, (_, nth) => seededSecret(clientTokenId(nth)));
const DEMAND: Authority['demand'] = { access: 'operator', scope: 'site' };

interface Case {
  readonly name: string;
  readonly about: string;
  readonly seed: (folder: string) => Promise<unknown>;
  readonly job: Pick<LoadJob, 'method' | 'hosts' | 'post'>;
}

const CASES: readonly Case[] = [
  {
    name: 'checks-in-commit-patch',
    about: 'a durable PATCH of a host',
    seed: (folder) => seedFolder(folder, { hosts: 1000, clients: CLIENTS }),
    job: { method: 'PATCH', hosts: Array.from({ length: 1000 }, (_, nth) => sampleHostId(nth)) },
  },
  {
    name: 'checks-in-commit-placements',
    about: 'the placement of an instance',
    seed: async (folder) => {
      const store = await openSqliteStore({ path: join(folder, DATABASE_FILE) });
      await writeSeed(store, placementFleet(1000, CLIENTS));
      await store.close();
    },
    job: { method: 'POST', hosts: [], post: { path: '/api/v1/instances', body: JSON.stringify(REQUEST) } },
  },
];

async function run(scope: BenchScope, { name, seed, job }: Case): Promise<Figure[]> {
  const [data, beside] = [await scope.tempDir(), await scope.tempDir()];
  await seed(data);
  await seed(beside);
  const check = await checkerOf(scope, beside);
  const server = await startServer(scope, { data });
  const load = startLoader(scope);
  const { port } = new URL(server.url);
  const pairs: (readonly [checksUs: number, requestUs: number])[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    scope.check();
    const checksUs = measureChecks(check);
    const before = await cpuSeconds(server.pid);
    const { requests } = await load({ ...job, port: Number(port), secrets, forMs: ROUND_MS });
    const requestUs = (((await cpuSeconds(server.pid)) - before) * 1e6) / requests;
    if (round > 0) pairs.push([checksUs, requestUs]);
  }
  const { ours, peers, ratio } = summarisePairs(pairs);
  const peer = `${ours.toFixed(2)} of ${peers.toFixed(0)} us/request; limit: ${SHARE_MAX * 100} %`;
  return [{ name, value: ratio * 100, unit: '% of a request', peer, ...below(1, ratio / SHARE_MAX) }];
}

type Check = (nth: number) => void;

/** Everything that is done for the nth caller's right to write, on a fleet with the same documents and a group on top of it. */
async function checkerOf(scope: BenchScope, folder: string): Promise<Check> {
  const store = await openSqliteStore({ path: join(folder, DATABASE_FILE) });
  scope.onClose(() => store.close());
  const { fleet } = await leadingJournal(scope, store, PROGRAM.newRegistry());
  const tokens = [...fleet.all(TOKEN)].filter((token) => token.doc.role === 'admin');
  if (tokens.length !== CLIENTS)
    throw new Error(`there are ${tokens.length} tokens of clients, and should be ${CLIENTS}`);
  const stage = new Stage(fleet);
  const submit = createAuthorizedSubmit(authorizingOn(stage));
  const callers = tokens.map(callerOfToken);
  const decide: Request<void>['decide'] = () => ({ kind: 'accept', changes: [], answer: undefined });
  return (nth) => {
    const at = nth % CLIENTS;
    const token = tokens[at]!;
    // When the body is there, and again in the commit.
    const trouble = findTokenTrouble(fleet, token, realClock.nowMs());
    if (trouble !== undefined) throw new Error(trouble);
    void submit({ caller: callers[at]!, token, demand: DEMAND }, { decide });
  };
}

/** Takes a request as the journal does, up to where it would be decided. */
function authorizingOn(stage: FleetReader): Journal {
  const submit = (request: Request<unknown>): void => {
    const denial = request.authorize?.(stage, realClock.nowMs());
    if (denial !== undefined) throw new Error(denial.message);
  };
  return { submit } as unknown as Journal;
}

/** Processor time of one caller's checks. */
function measureChecks(check: Check): number {
  const before = process.cpuUsage();
  for (let nth = 0; nth < CHECKS; nth += 1) check(nth);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CHECKS;
}

export const checksBenchmarks: readonly Benchmark[] = CASES.map((one) => ({
  name: one.name,
  about: `the share of the checks inside the commit in the processor time of ${one.about}`,
  seconds: SECONDS,
  run: (scope) => run(scope, one),
}));
