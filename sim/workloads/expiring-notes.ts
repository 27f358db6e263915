// Notes with a time after which they may be forgotten, the retention that forgets them, and the operator who confirms clocks once they are
// right again.
import { Type } from 'typebox';
import { clockJumped } from '../../src/alarms/index.ts';
import { acknowledgeAlarm } from '../../src/alarms/integrity.ts';
import { ALARM } from '../../src/alarms/model.ts';
import { IntegrityController } from '../../src/alarms/runtime.ts';
import { idOf, put, schemaKind, type Model } from '../../src/fleet/index.ts';
import { accept, StoreUnavailable, type Clock, type Journal } from '../../src/journal/index.ts';
import { RetentionController } from '../../src/journal/runtime.ts';
import { findJumpAtStart, trustedTime, type TrustedTime } from '../../src/main/trusted-time.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Operator } from '../world/operator.ts';
import type { Controller } from '../world/parts.ts';
import type { Born } from '../world/server.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';
import type { Workload } from './workload.ts';

const NOTE = schemaKind('sim-note', Type.Object({ untilMs: Type.Integer() }, { additionalProperties: false }), {
  expiresAtMs: ({ untilMs }) => untilMs,
});
const model: Model = { kinds: [NOTE] };

const LOOK_MS = 2000;
const WRITERS = 3;

type Trust = (parts: TrustedTime, clock: Clock) => () => number | undefined;

/** What a server does about expiry, from its start on; `trust` is what a mutant replaces. */
export function retentionOf(trust: Trust): (born: Born) => Controller {
  return ({ journal, clock, log, program, url }) => {
    // What it says loudly is expected here.
    const quietly = { ...log, error: (facts: object, message: string) => log.warn(facts, message) };
    const integrity = new IntegrityController({ journal, clock, log: quietly });
    const readClocks = () => {
      const { nowMs } = program.scheduler;
      return { wallMs: WORLD_BEGINS_MS + nowMs + program.wallSkewMs, monotonicMs: nowMs };
    };
    const trustedNowMs = trust({ journal, integrity, readClocks, server: url }, clock);
    const retention = new RetentionController({ journal, clock, log, lookMs: LOOK_MS, trustedNowMs });
    return {
      run: async (signal) => {
        const jump = await jumpAtStart(journal, clock, signal);
        if (jump !== undefined) integrity.report(clockJumped(url, jump));
        await Promise.all([integrity.run(signal), retention.run(signal)]);
      },
    };
  };
}

/** A start waits until the store can be read. */
async function jumpAtStart(journal: Journal, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  while (!signal.aborted) {
    try {
      return await findJumpAtStart(journal.store, clock.nowMs());
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await clock.sleep(LOOK_MS, signal);
    }
  }
  return undefined;
}

async function write(world: World, operator: Operator): Promise<void> {
  for (let count = 1; world.troubled; count += 1) {
    const tag = `${operator.name}-${count}`;
    const id = idOf(NOTE, tag);
    const lifeMs = world.rng.pick([1000, 20_000, 60_000, 7 * 24 * 3600 * 1000]);
    // Not told from a repetition: the first may have been forgotten by then.
    const note = (nowMs: number) => put(NOTE, id, { untilMs: nowMs + lifeMs });
    await operator.ask(plain(tag, (_fleet, _life, nowMs) => accept([note(nowMs)], null)));
    await operator.pause(world.rng.between(200, 3000));
  }
}

/** Looks at the clocks once trouble is over, puts them right, and confirms until nobody doubts them any more. */
async function confirmClocks(world: World, operator: Operator): Promise<void> {
  while (world.troubled) await operator.pause(1000);
  for (const server of world.servers) server.setClock(0);
  // Putting a clock right is a jump, too, and the next look notices it.
  await operator.pause(10 * LOOK_MS);
  for (let count = 1; doubted(world).length > 0; count += 1) {
    for (const id of doubted(world)) {
      await operator.ask(plain(`confirm-${count}-${id}`, (fleet) => acknowledgeAlarm(fleet, id)));
    }
    await operator.pause(LOOK_MS);
  }
}

function doubted(world: World): readonly string[] {
  return [...world.truth.all(ALARM)].map(({ id }) => id);
}

/** Retention goes on after it was confirmed: what has expired by a clock that is right is gone. */
function kept(world: World): string[] {
  const nowMs = WORLD_BEGINS_MS + world.scheduler.nowMs;
  const late = [...world.truth.all(NOTE)].filter(({ doc }) => doc.untilMs < nowMs - 10 * LOOK_MS);
  return late.map(({ id }) => `${id} has expired and is still there`);
}

export const expiringNotes: Workload = {
  name: 'expiring-notes',
  models: [model],
  controllers: [retentionOf(trustedTime)],
  start: (world) => {
    const writers = Array.from({ length: WRITERS }, (_, at) => write(world, world.newOperator(`writer${at + 1}`)));
    return {
      over: Promise.all([...writers, confirmClocks(world, world.newOperator('confirmer'))]),
      atRest: () => [...kept(world), ...doubted(world).map((id) => `${id} still stands`)],
    };
  },
};
