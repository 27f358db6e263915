// An operation kind that acts through a driver: it builds things outside the control plane, with a builder that answers late, fails, and
// refuses an older epoch. It covers what host-join does not use: actions, their answers, retries.
import { noProject, wholeFleet } from '../../src/access/index.ts';
import { hideKind } from '../../src/composition/index.ts';
import { INCARNATION, WORLD } from '../world/parts.ts';
import { Type } from 'typebox';
import { idOf, put, schemaKind, type FleetReader } from '../../src/fleet/index.ts';
import {
  fail,
  isUnfinished,
  newOperation,
  OPERATION,
  record,
  wait,
  type ActionOutcome,
  type Driver,
  type OperationKind,
  type StoredItem,
} from '../../src/operations/index.ts';
import { accept } from '../../src/journal/index.ts';
import type { IncarnationContext } from '../world/server.ts';
import type { World } from '../world/world.ts';
import type { Workload } from './workload.ts';

const THING = schemaKind('sim-thing', Type.Object({ builtBy: Type.String() }, { additionalProperties: false }));
const RETRY_MS = 2000;

const build: OperationKind = {
  name: 'sim-build',
  steps: ['build'],
  cancel: { kind: 'none', because: 'what is built stays' },
  retry: { kind: 'does', what: 'builds what is missing' },
  plan: (_fleet, items, nowMs) =>
    items.flatMap((item) => {
      if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
      const { step, attempt, target } = item.doc;
      const action = { driver: 'builder', item: item.id, step, attempt, args: { thing: target.id } };
      return [{ kind: 'act', item: item.id, expected: item.revision, action }];
    }),
  observe: (item, outcome, { nowMs }) => observed(item, outcome, nowMs),
};

function observed(item: StoredItem, outcome: ActionOutcome, nowMs: number): ReturnType<typeof record> {
  if (outcome.kind === 'failed') {
    const isFinal = outcome.reason.code === 'cannot-build';
    return isFinal ? fail(item, outcome.reason) : wait(item, outcome.reason, nowMs + RETRY_MS);
  }
  const thing = put(THING, idOf(THING, item.doc.target.id), { builtBy: item.doc.operation });
  return record(item, { state: 'done', step: 'build' }, { changes: [thing] });
}

/** The world outside: what was built, and the newest epoch of any request. */
class Builder {
  readonly built = new Set<string>();
  readonly broken = new Set<string>();
  #epoch = 0;

  carryOut(thing: string, leaseEpoch: number): ActionOutcome {
    if (leaseEpoch < this.#epoch) return { kind: 'stale' };
    this.#epoch = leaseEpoch;
    if (this.broken.has(thing)) return { kind: 'failed', reason: { code: 'cannot-build', thing } };
    if (this.built.has(thing)) return { kind: 'already' };
    this.built.add(thing);
    return { kind: 'applied' };
  }
}

const builders = new WeakMap<World, Builder>();

function builderOf(world: World): Builder {
  let builder = builders.get(world);
  if (builder === undefined) builders.set(world, (builder = new Builder()));
  return builder;
}

function driver({ program, clock }: IncarnationContext, world: World): Driver {
  const rng = world.rng.fork();
  return {
    carryOut: (action, fence) => {
      // By the clock of the acting server: another one's may be off.
      const lateMs = clock.nowMs() - fence.deadlineAtMs;
      if (lateMs > 0) world.violate('never: an operation acts after its deadline', `${action.item} by ${lateMs} ms`);
      return program.call('driver', `build ${String(action.args['thing'])}`, (reply) => {
        const act = (): ActionOutcome => builderOf(world).carryOut(String(action.args['thing']), fence.leaseEpoch);
        const lost = world.isTroubled && rng.chance(0.15);
        if (lost) world.fault('builder', 'answer lost');
        const timeout: ActionOutcome = { kind: 'failed', reason: { code: 'no-answer' } };
        world.scheduler.after(rng.between(1, 400), `builder gets ${action.item}`, () => {
          const outcome = act();
          reply.answer(lost ? 3000 : rng.between(1, 400), lost ? timeout : outcome);
        });
      });
    },
  };
}

/** Mostly a few; now and then more than the engine acts on at once. */
function itemCount({ rng }: World): number {
  return rng.chance(0.05) ? rng.between(65, 90) : rng.between(1, 5);
}

async function work(world: World): Promise<void> {
  const operator = world.newOperator('builder');
  for (let count = 1; world.isTroubled; count += 1) {
    const tag = `build-${count}`;
    const id = idOf(OPERATION, `op-${tag}`);
    const things = Array.from({ length: itemCount(world) }, (_, at) => `thing-${count}-${at}`);
    if (world.rng.chance(0.2)) builderOf(world).broken.add(world.rng.pick(things));
    const deadlineMs = world.rng.between(3000, 60_000);
    const items = things.map((thing) => ({ key: thing, target: { kind: THING.name, id: thing }, step: 'build' }));
    const decide = (fleet: FleetReader, nowMs: number): ReturnType<typeof accept<null>> =>
      fleet.get(OPERATION, id) === undefined
        ? accept(newOperation({ id, kind: build.name, title: 'build', by: tag, nowMs, deadlineMs, items }), null)
        : accept([], null);
    await operator.ask({
      tag,
      once: true,
      request: ({ clock }) => {
        const nowMs = clock.nowMs();
        return { by: tag, decide: (fleet) => decide(fleet, nowMs) };
      },
    });
    await operator.pause(world.rng.between(500, 10_000));
  }
}

function atRest(world: World): string[] {
  const fleet = world.servers.find((server) => server.incarnation?.journal.fence !== undefined)?.incarnation?.journal
    .fleet;
  if (fleet === undefined) return [];
  const builder = builderOf(world);
  return [
    ...[...fleet.all(THING)].filter(({ id }) => !builder.built.has(id)).map(({ id }) => `${id} is said to be built`),
    ...[...fleet.all(OPERATION)]
      .filter(({ doc }) => doc.kind === build.name && isUnfinished(doc))
      .map(({ id }) => `operation ${id} is not finished`),
  ];
}

export const builds: Workload = {
  name: 'builds',
  module: {
    name: 'builds',
    models: () => [{ kinds: [THING] }],
    operationKinds: () => [build],
    hiddenKinds: [hideKind(THING, { siteOf: wholeFleet, projectOf: noProject })],
    drivers: (runtime) => ({ builder: driver(runtime.get(INCARNATION), runtime.get(WORLD)) }),
  },
  start: (world) => ({ done: work(world), atRest: () => atRest(world) }),
};
