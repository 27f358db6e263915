// One seed from beginning to end: faults, then everything is repaired, then everything must be as it should.
import { setImmediate as turn } from 'node:timers/promises';
import { listenToMarks } from '../src/fleet/index.ts';
import { CompoundFaults } from './compound-faults.ts';
import { CHECKERS } from './checkers/checkers.ts';
import { CORE, type Scenario } from './scenarios.ts';
import { ANSWERED, AT_REST, NO_LEFTOVERS } from './seed-properties.ts';
import { productionParts, type SimParts } from './world/parts.ts';
import { Tally } from './world/tally.ts';
import { World, type Violation } from './world/world.ts';
import type { WorkloadRun } from './workloads/workload.ts';

export interface SeedOptions {
  readonly seed: number;
  /** The scenario; the world `core` by default. */
  readonly scenario?: Scenario;
  /** Replaces a part of the servers: how a mutant is planted. */
  readonly plant?: (parts: SimParts) => SimParts;
  readonly print?: (line: string) => void;
}

export interface SeedResult {
  readonly seed: number;
  readonly scenario: string;
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
/** With the cleanup after everything is repaired, every seed makes more than 2,000 commits. */
const TROUBLED_CALLS_MIN = 1500;
const FAULTS_PLANNED_MIN = 24;
const FAULTS_PLANNED_MAX = 44;
/** Long enough for every lease to expire, every retry to happen and every deadline of the workloads to pass. */
const REST_MS = 100_000;

/** What is in progress at one check, such as a retry, is over at the next; what never ends is found all the same. */
const REST_CHECKS_MAX = 4;
const REST_CHECK_MS = 7000;
/** How often it is checked whether the world is ready for faults. */
const READY_LOOK_MS = 500;
/** Long enough to delete everything, if nothing blocks it: the fixed seeds take 11 checks at most. */
const UNDO_LOOKS_MAX = 16;
const UNDO_LOOK_MS = 5000;
/** Many times what a follower takes from a commit to showing it, while nothing is broken. */
const FOLLOW_LOOKS_MAX = 50;
const FOLLOW_LOOK_MS = 100;

export async function runSeed({ seed, scenario = CORE, plant, print }: SeedOptions): Promise<SeedResult> {
  const marks = new Tally();
  // Capturing the stack of every expected error costs a tenth of the time. A printed run has the stacks.
  Error.stackTraceLimit = print === undefined ? 0 : STACK_DEPTH;
  listenToMarks((name) => marks.count(name));
  const parts = withWorkloads(productionParts, scenario);
  const world = new World({ seed, parts: plant?.(parts) ?? parts, checkers: CHECKERS, ...(print && { print }) });
  try {
    await runTrouble(world, scenario);
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
    scenario: scenario.name,
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

function withWorkloads(parts: SimParts, { workloads }: Scenario): SimParts {
  return { ...parts, modules: [...parts.modules, ...workloads.flatMap(({ module }) => module ?? [])] };
}

async function runTrouble(world: World, scenario: Scenario): Promise<void> {
  for (const server of world.servers) server.start();
  const plays = scenario.workloads.map((workload) => workload.start(world));
  const ready = plays.flatMap((play) => play.ready ?? []);
  while (ready.length > 0 && !(await areSettled(ready)))
    await world.scheduler.run(world.scheduler.nowMs + READY_LOOK_MS);
  const incidents = new CompoundFaults(world, scenario);
  // A small world takes longer to have seen enough.
  do {
    const untilMs = planFaults(world, scenario);
    incidents.plan(untilMs);
    await world.scheduler.run(untilMs);
  } while (world.violation === undefined && world.calls.total < TROUBLED_CALLS_MIN);
  if (world.violation !== undefined) return;
  heal(world);
  await world.scheduler.run(world.scheduler.nowMs + REST_MS);
  for (
    let looks = 1;
    looks < REST_CHECKS_MAX && restViolations(plays).length > 0 && world.violation === undefined;
    looks += 1
  ) {
    await world.scheduler.run(world.scheduler.nowMs + REST_CHECK_MS);
  }
  if (world.violation === undefined) await checkAtRest(world, plays);
  if (world.violation === undefined) await undoAndCheck(world, plays);
}

/** Spreads faults over the time to come and returns when they end. */
function planFaults(world: World, scenario: Scenario): number {
  const { rng, scheduler } = world;
  const count = rng.between(FAULTS_PLANNED_MIN, FAULTS_PLANNED_MAX);
  let afterMs = 2000;
  for (let n = 0; n < count; n += 1) {
    afterMs += rng.pick([rng.below(200), rng.below(5000), rng.below(9000)]);
    scheduler.after(afterMs, 'a fault is due', () => strike(world, scenario));
  }
  return scheduler.nowMs + afterMs + 5000;
}

function strike(world: World, { faults }: Scenario): void {
  for (;;) {
    const fault = world.rng.pickWeighted(faults);
    const struck = fault.strike(world);
    if (struck === undefined) continue;
    world.fault(struck, fault.name);
    return;
  }
}

function heal(world: World): void {
  world.isTroubled = false;
  world.scheduler.note('world', 'everything heals');
  for (const link of world.links) link.heal();
  world.network.heal();
  for (const machine of world.machines) {
    machine.diskFull = false;
    machine.hypervisor.disarm();
    machine.unpreparable.clear();
    machine.regainControl();
    machine.switch.foreignInterfaces.clear();
    Object.assign(machine.switch.faults, { down: false, losesFlows: 0 });
  }
  world.inventory?.path.heal();
  for (const manager of world.managers) manager.heal();
  for (const cluster of world.clusters) cluster.heal();
  for (const server of world.servers) {
    server.storeLink.heal();
    server.hasCredentials = true;
    if (server.incarnation?.program.paused === true) server.incarnation.program.pause(0);
  }
}

async function checkAtRest(world: World, plays: readonly WorkloadRun[]): Promise<void> {
  if (!(await areSettled(plays.map(({ done }) => done)))) world.violate(ANSWERED, 'a caller still waits');
  await followed(world);
  world.checkEnd();
  for (const sentence of restViolations(plays)) world.violate(AT_REST, sentence);
}

async function undoAndCheck(world: World, plays: readonly WorkloadRun[]): Promise<void> {
  const undoing = plays.flatMap(({ undo }) => undo?.() ?? []);
  if (undoing.length === 0) return;
  const left = (): readonly string[] => plays.flatMap(({ atEnd }) => atEnd?.() ?? []);
  for (let looks = 1; looks <= UNDO_LOOKS_MAX && world.violation === undefined; looks += 1) {
    await world.scheduler.run(world.scheduler.nowMs + UNDO_LOOK_MS);
    if ((await areSettled(undoing)) && left().length === 0) break;
  }
  if (!(await areSettled(undoing))) world.violate(ANSWERED, 'whoever undoes everything still waits');
  await followed(world);
  world.checkEnd();
  for (const sentence of left()) world.violate(NO_LEFTOVERS, sentence);
}

/**
 * A commit may fall on the very moment of the last check, and followers have it some milliseconds later. A server that is behind for longer
 * is found by the checker.
 */
async function followed(world: World): Promise<void> {
  const isBehind = (): boolean =>
    world.servers.some(
      ({ incarnation }) => incarnation !== undefined && incarnation.journal.fleet.revision !== world.ledger.head,
    );
  for (let looks = 0; looks < FOLLOW_LOOKS_MAX && isBehind() && world.violation === undefined; looks += 1) {
    await world.scheduler.run(world.scheduler.nowMs + FOLLOW_LOOK_MS);
  }
}

async function areSettled(works: readonly Promise<unknown>[]): Promise<boolean> {
  const all = Promise.all(works).then(() => true);
  return Promise.race([all, turn().then(() => false)]);
}

function restViolations(plays: readonly WorkloadRun[]): readonly string[] {
  return plays.flatMap(({ atRest: assess }) => assess?.() ?? []);
}
