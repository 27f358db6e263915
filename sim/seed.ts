// One seed from beginning to end: trouble, then everything heals, then everything must be as it should.
import { setImmediate as turn } from 'node:timers/promises';
import { listenToMarks } from '../src/fleet/index.ts';
import { CHECKERS } from './checkers/checkers.ts';
import { FAULTS } from './faults/faults.ts';
import { ANSWERED, AT_REST } from './seed-properties.ts';
import { productionParts, type Parts } from './world/parts.ts';
import { Tally } from './world/tally.ts';
import { World, type Violation } from './world/world.ts';
import type { Play } from './workloads/workload.ts';
import { WORKLOADS } from './workloads/workloads.ts';

export interface SeedOptions {
  readonly seed: number;
  /** Replaces a part of the servers: how a mutant is planted. */
  readonly plant?: (parts: Parts) => Parts;
  readonly print?: (line: string) => void;
}

export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  readonly portCalls: Tally;
  readonly faults: Tally;
  readonly marks: Tally;
  readonly commits: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly violation?: Violation;
  readonly lastLines: readonly string[];
}

const STACK_DEPTH = 10;
/** With what comes after everything has healed, every seed makes more than 2,000. */
const TROUBLED_CALLS_MIN = 1500;
const FAULTS_PLANNED_MIN = 24;
const FAULTS_PLANNED_MAX = 44;
/** Long enough for every lease to run out, every retry to happen and every deadline of the workloads to pass. */
const REST_MS = 100_000;

/** What is under way at one look, such as a retry, is over at the next; what never ends is found all the same. */
const LOOKS_MAX = 4;
const LOOK_AGAIN_MS = 7000;

export async function runSeed({ seed, plant, print }: SeedOptions): Promise<SeedResult> {
  const marks = new Tally();
  // Taking the stack of every error that is part of the game costs a tenth of the time. A printed run has them.
  Error.stackTraceLimit = print === undefined ? 0 : STACK_DEPTH;
  listenToMarks((name) => marks.count(name));
  const parts = withWorkloads(productionParts);
  const world = new World({ seed, parts: plant?.(parts) ?? parts, checkers: CHECKERS, ...(print && { print }) });
  try {
    await trouble(world);
  } catch (error) {
    world.violate(
      'the program never goes wrong by itself',
      error instanceof Error ? (error.stack ?? '') : String(error),
    );
  } finally {
    listenToMarks(undefined);
    Error.stackTraceLimit = STACK_DEPTH;
  }
  const { scheduler, violation } = world;
  return {
    seed,
    hash: scheduler.trace.hash,
    portCalls: world.calls,
    faults: world.faults,
    marks,
    commits: world.ledger.head,
    steps: scheduler.steps,
    virtualMs: scheduler.nowMs,
    ...(violation && { violation }),
    lastLines: scheduler.trace.lastLines(),
  };
}

function withWorkloads(parts: Parts): Parts {
  return {
    ...parts,
    models: [...parts.models, ...WORKLOADS.flatMap(({ models }) => models ?? [])],
    operationKinds: [...parts.operationKinds, ...WORKLOADS.flatMap(({ operationKinds }) => operationKinds ?? [])],
    drivers: Object.assign({}, parts.drivers, ...WORKLOADS.map(({ drivers }) => drivers ?? {})) as Parts['drivers'],
  };
}

async function trouble(world: World): Promise<void> {
  for (const server of world.servers) server.start();
  const plays = WORKLOADS.map((workload) => workload.start(world));
  // A small world takes longer to have seen enough.
  do await world.scheduler.run(planFaults(world));
  while (world.violation === undefined && world.calls.total < TROUBLED_CALLS_MIN);
  if (world.violation !== undefined) return;
  heal(world);
  await world.scheduler.run(world.scheduler.nowMs + REST_MS);
  for (let looks = 1; looks < LOOKS_MAX && unrest(plays).length > 0; looks += 1) {
    await world.scheduler.run(world.scheduler.nowMs + LOOK_AGAIN_MS);
  }
  if (world.violation === undefined) await atRest(world, plays);
}

/** Spreads faults over the time to come and answers until when that is. */
function planFaults(world: World): number {
  const { rng, scheduler } = world;
  const count = rng.between(FAULTS_PLANNED_MIN, FAULTS_PLANNED_MAX);
  let afterMs = 2000;
  for (let n = 0; n < count; n += 1) {
    afterMs += rng.pick([rng.below(200), rng.below(5000), rng.below(9000)]);
    scheduler.after(afterMs, 'a fault is due', () => strike(world));
  }
  return scheduler.nowMs + afterMs + 5000;
}

function strike(world: World): void {
  for (;;) {
    const fault = world.rng.pickWeighted(FAULTS);
    const struck = fault.strike(world);
    if (struck === undefined) continue;
    world.fault(struck, fault.name);
    return;
  }
}

function heal(world: World): void {
  world.troubled = false;
  world.scheduler.note('world', 'everything heals');
  for (const link of world.links) link.heal();
  for (const machine of world.machines) machine.diskFull = false;
  for (const { storeLink, life } of world.servers) {
    storeLink.heal();
    if (life?.program.paused === true) life.program.pause(0);
  }
}

async function atRest(world: World, plays: readonly Play[]): Promise<void> {
  const all = Promise.all(plays.map(({ over }) => over)).then(() => true);
  const unanswered = turn().then(() => false);
  if (!(await Promise.race([all, unanswered]))) world.violate(ANSWERED, 'a caller still waits');
  world.checkEnd();
  for (const sentence of unrest(plays)) world.violate(AT_REST, sentence);
}

function unrest(plays: readonly Play[]): readonly string[] {
  return plays.flatMap(({ atRest: judge }) => judge?.() ?? []);
}
