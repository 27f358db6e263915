// Notes with a time after which they may be forgotten, and the operator who confirms clocks once they are correct again.
import { Type } from 'typebox';
import { noProject, wholeFleet } from '../../src/access/index.ts';
import { acknowledgeAlarm } from '../../src/alarms/integrity.ts';
import { ALARM } from '../../src/alarms/model.ts';
import { hideKind } from '../../src/composition/index.ts';
import { idOf, put, schemaKind } from '../../src/fleet/index.ts';
import { accept } from '../../src/journal/index.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Operator } from '../world/operator.ts';
import { RETENTION_INTERVAL_MS } from '../world/trusted-clock.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';
import type { Workload } from './workload.ts';

const NOTE = schemaKind('sim-note', Type.Object({ untilMs: Type.Integer() }, { additionalProperties: false }), {
  expiresAtMs: ({ untilMs }) => untilMs,
});

const WRITERS = 3;

async function write(world: World, operator: Operator): Promise<void> {
  for (let count = 1; world.isTroubled; count += 1) {
    const tag = `${operator.name}-${count}`;
    const id = idOf(NOTE, tag);
    const lifeMs = world.rng.pick([1000, 20_000, 60_000, 7 * 24 * 3600 * 1000]);
    // A repetition is not recognised: the first may have been forgotten by then.
    const note = (nowMs: number) => put(NOTE, id, { untilMs: nowMs + lifeMs });
    await operator.ask(plain(tag, (_fleet, nowMs) => accept([note(nowMs)], null)));
    await operator.pause(world.rng.between(200, 3000));
  }
}

/** Checks the clocks once the faults are over, corrects them, and confirms them until none is in doubt. */
async function confirmClocks(world: World, operator: Operator): Promise<void> {
  while (world.isTroubled) await operator.pause(1000);
  for (const server of world.servers) server.setClock(0);
  // Correcting a clock is a jump, too, and the next check detects it.
  await operator.pause(10 * RETENTION_INTERVAL_MS);
  for (let count = 1; openAlarms(world).length > 0; count += 1) {
    for (const id of openAlarms(world)) {
      await operator.ask(plain(`confirm-${count}-${id}`, (fleet) => acknowledgeAlarm(fleet, id)));
    }
    await operator.pause(RETENTION_INTERVAL_MS);
  }
}

function openAlarms(world: World): readonly string[] {
  return [...world.truth.all(ALARM)].map(({ id }) => id);
}

/** Retention continues after the confirmation: what has expired by a correct clock is deleted. */
function overdueNotes(world: World): string[] {
  const nowMs = WORLD_BEGINS_MS + world.scheduler.nowMs;
  const late = [...world.truth.all(NOTE)].filter(({ doc }) => doc.untilMs < nowMs - 10 * RETENTION_INTERVAL_MS);
  return late.map(({ id }) => `${id} has expired and is still there`);
}

export const expiringNotes: Workload = {
  name: 'expiring-notes',
  module: {
    name: 'expiring-notes',
    models: () => [{ kinds: [NOTE] }],
    hiddenKinds: [hideKind(NOTE, { siteOf: wholeFleet, projectOf: noProject })],
  },
  start: (world) => {
    const writers = Array.from({ length: WRITERS }, (_, at) => write(world, world.newOperator(`writer${at + 1}`)));
    return {
      done: Promise.all([...writers, confirmClocks(world, world.newOperator('confirmer'))]),
      atRest: () => [...overdueNotes(world), ...openAlarms(world).map((id) => `${id} still stands`)],
    };
  },
};
