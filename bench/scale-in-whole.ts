// A whole scale-in, from the start to hosts that are removed, durable on SQLite: a hundred hosts with a thousand and with three
// thousand instances. Hosts do at once what a task requests. The peer writes the same rows and decides nothing.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { ELECTION } from '../src/election/index.ts';
import { idOf, put, SETTING, type FleetReader } from '../src/fleet/index.ts';
import { evacuatorsOf, endScaleIn, HOST, SCALE_IN, startScaleIn } from '../src/hosts/index.ts';
import { accept, type Decision, type Journal } from '../src/journal/index.ts';
import { openSqliteStore } from '../src/journal/runtime.ts';
import { realClock } from '../src/main/clock.ts';
import { Runtime } from '../src/composition/index.ts';
import { realIds } from '../src/main/ids.ts';
import { NETWORK_DRIVER } from '../src/network/index.ts';
import { coreProviders } from '../src/main/core-providers.ts';
import { IDLE_CORE } from '../src/main/core-providers-fixture.ts';
import { PROGRAM } from '../src/main/modules.ts';
import { OPERATION, type Driver } from '../src/operations/index.ts';
import { OperationsController } from '../src/operations/runtime.ts';
import { atLeast, below, type Benchmark, type Figure } from './benchmark.ts';
import { InstantAgents } from './instant-agents.ts';
import { bareSqlite } from './commits/bare-sqlite.ts';
import { recordedJournal, type Recorded } from './commits/recorded.ts';
import { median } from './rounds.ts';
import { leavers, scaleInFleet } from './scale-in-fleet.ts';
import type { BenchScope } from './scope.ts';
import { DATABASE_FILE, writeSeed } from './seeded-store.ts';

const EVACUATORS = evacuatorsOf(PROGRAM);

const HOSTS = 1_000;
const LEAVERS = 100;
const SERVICES = 100;
const SIZES = [1_000, 3_000] as const;
const ROUNDS = 3;
const RATIO_GOAL = 0.3;
/** Three times the instances may cost three times as much, and what the machine does meanwhile. */
const GROWTH_GOAL = 3.5;
const PATIENCE_MS = 60_000;

/** Nothing is paced: what is measured is how fast it can go. */
const UNPACED = [
  [SCALE_IN.name, { ...SCALE_IN.defaultValue, movesAtOnce: 10_000, movesPerHostAtOnce: 1000 }],
  [ELECTION.name, { ...ELECTION.defaultValue, handoverDrainMs: 0, handoversAtOnce: 10_000 }],
] as const;

const convergedDriver: Driver = { carryOut: () => Promise.resolve({ kind: 'applied' }) };

interface ScaleInRun {
  readonly oursMs: number;
  readonly bareMs: number;
  readonly drainMs: number;
  readonly commits: number;
}

async function onFreshFleet(scope: BenchScope, instances: number): Promise<ScaleInRun> {
  const folder = await scope.tempDir();
  const [path, copy] = [join(folder, DATABASE_FILE), join(folder, 'bare.db')];
  const seeded = await openSqliteStore({ path });
  await writeSeed(seeded, onSome(instances));
  await seeded.close();
  await copyFile(path, copy);
  const store = await openSqliteStore({ path });
  const ours = await recordedJournal(scope, store);
  const took = await runScaleIn(ours);
  const written = await ours.takeWritten();
  await store.close();
  const replay = bareSqlite(scope, copy)(written);
  const began = performance.now();
  await replay();
  const commits = written.reduce((sum, transaction) => sum + transaction.length, 0);
  return { ...took, bareMs: performance.now() - began, commits };
}

/** As many on each host that leaves and on one that stays in each rack; those of others would only be loaded. */
function* onSome(instances: number): ReturnType<typeof scaleInFleet> {
  for (const change of scaleInFleet({ hosts: HOSTS, instances: (instances * HOSTS) / LEAVERS, services: SERVICES })) {
    const host = /"host":"(h-\d+)"/.exec(change.body ?? '')?.[1];
    const isTenant = change.kind === 'instance' || change.kind === 'port' || change.kind === 'claim';
    // Every rack keeps a host with ports, so that its service has presence elsewhere.
    if (!isTenant || host === undefined || WITH_TENANTS.has(host)) yield change;
  }
}

/** Those that leave, and a neighbour of each. */
const WITH_TENANTS = new Set(leavers(2 * LEAVERS));

async function runScaleIn({ journal }: Recorded): Promise<Pick<ScaleInRun, 'oursMs' | 'drainMs'>> {
  await journal.submit({
    by: 'bench',
    decide: () => {
      const signed = { changedBy: 'bench', changedAtMs: 0 };
      return accept(
        UNPACED.map(([name, value]) => put(SETTING, name, { value, ...signed })),
        null,
      );
    },
  });
  const log = pino({ level: 'silent' });
  const runtime = new Runtime(PROGRAM, { journal, clock: realClock, ids: realIds(), log }, [
    ...coreProviders(IDLE_CORE),
  ]);
  const drivers = new Map([
    ['network', runtime.get(NETWORK_DRIVER)],
    ['views', convergedDriver],
  ]);
  const engine = new OperationsController({ journal, clock: realClock, log, kinds: PROGRAM.operationKinds, drivers });
  const over = new AbortController();
  const running = engine.run(over.signal);
  const stopAgents = new InstantAgents(journal, PROGRAM.operationKinds).start();
  const began = performance.now();
  const request = { hosts: leavers(LEAVERS), by: 'bench' };
  await commitDecision(journal, (fleet, nowMs) =>
    startScaleIn(fleet, EVACUATORS, {
      ...request,
      operation: idOf(OPERATION, 'op-start'),
      nowMs,
      drain: true,
      deadlineMs: 3_600_000,
    }),
  );
  await waitForState(journal, 'drained');
  const drainMs = performance.now() - began;
  await commitDecision(journal, (fleet, nowMs) =>
    endScaleIn(fleet, EVACUATORS, { ...request, operation: idOf(OPERATION, 'op-end'), nowMs, disconnect: true }),
  );
  await waitForState(journal, 'removed');
  const oursMs = performance.now() - began;
  over.abort();
  await running;
  await stopAgents();
  return { oursMs, drainMs };
}

async function commitDecision(
  journal: Journal,
  decide: (fleet: FleetReader, nowMs: number) => Decision<{ readonly hosts: readonly { readonly result: string }[] }>,
): Promise<void> {
  const outcome = await journal.submit({ by: 'bench', decide: (fleet) => decide(fleet, realClock.nowMs()) });
  if (outcome.kind !== 'accepted') throw new Error(outcome.refusal.message);
  const bad = outcome.answer.hosts.find(({ result }) => result !== 'accepted');
  if (bad !== undefined) throw new Error(`not accepted: ${JSON.stringify(bad)}`);
}

/** Resolves with the commit that brings the last of them there. */
async function waitForState(journal: Journal, state: 'drained' | 'removed'): Promise<void> {
  const left = new Set(leavers(LEAVERS).filter((id) => journal.fleet.get(HOST, idOf(HOST, id))?.doc.state !== state));
  const late = new AbortController();
  const there = new Promise<void>((done) => {
    const stop = journal.onCommit(({ applied }) => {
      for (const { kind, after } of applied) {
        if (kind !== HOST.name || after === undefined) continue;
        if ((after.doc as { readonly state: string }).state === state) left.delete(after.id);
      }
      if (left.size > 0) return;
      stop();
      done();
    });
    if (left.size === 0) done();
  });
  await Promise.race([there, realClock.sleep(PATIENCE_MS, late.signal)]);
  late.abort();
  if (left.size > 0) throw new Error(`${left.size} hosts are not ${state} after ${PATIENCE_MS / 1000} s`);
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const [few, many]: [ScaleInRun[], ScaleInRun[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round += 1) {
    scope.check();
    const [one, other] = [await onFreshFleet(scope, SIZES[0]), await onFreshFleet(scope, SIZES[1])];
    if (round === 0) continue; // warms up
    few.push(one);
    many.push(other);
  }
  const growth = median(many.map(({ oursMs }, at) => oursMs / (few[at]?.oursMs ?? NaN)));
  const grown = median(many.map(({ oursMs }) => oursMs));
  return [
    ...figuresOf(SIZES[0], few),
    ...figuresOf(SIZES[1], many),
    {
      name: 'scale-in-whole-growth',
      value: grown,
      unit: 'ms',
      peer: `a third of the instances: ${median(few.map(({ oursMs }) => oursMs)).toFixed(0)} ms`,
      ...below(GROWTH_GOAL, growth),
    },
  ];
}

function figuresOf(instances: number, runs: readonly ScaleInRun[]): Figure[] {
  const middle = (of: (ran: ScaleInRun) => number): number => median(runs.map(of));
  const bare = middle(({ bareMs }) => bareMs);
  const commits = middle((ran) => ran.commits);
  return [
    {
      name: `scale-in-whole-${instances}`,
      value: middle(({ oursMs }) => oursMs),
      unit: 'ms',
      peer: `bare node:sqlite, the same ${commits} commits: ${bare.toFixed(0)} ms; until drained: ${middle((ran) => ran.drainMs).toFixed(0)} ms`,
      ...atLeast(
        RATIO_GOAL,
        middle(({ oursMs, bareMs }) => bareMs / oursMs),
      ),
    },
  ];
}

export const scaleInWholeBenchmark: Benchmark = {
  name: 'scale-in-whole',
  about: `start to removed of ${LEAVERS} hosts with ${SIZES.join(' and ')} instances, durable on SQLite, beside the bare store writing the same rows`,
  seconds: 55,
  run,
};
