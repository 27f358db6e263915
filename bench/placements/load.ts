// Placements under load: a number of callers in one process, each requesting one instance after the other, as the API would
// on behalf of its clients. What the journal made of it, every row of it, is the script for the bare store.
import { toCreateCommand } from '../../src/instances/build/create-command.ts';
import { createInstances } from '../../src/instances/index.ts';
import type { Caller } from '../../src/access/index.ts';
import type { Journal } from '../../src/journal/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import type { Commits } from '../commits/recorded.ts';
import { REQUEST } from './fleet.ts';

export interface PlacementLoad {
  readonly callers: number;
  readonly forMs: number;
}

/** Placements per second. */
export async function runLoad(journal: Journal, { callers, forMs }: PlacementLoad): Promise<number> {
  const startedMs = performance.now();
  const untilMs = startedMs + forMs;
  const counts = await Promise.all(Array.from({ length: callers }, () => oneCaller(journal, untilMs)));
  const placements = counts.reduce((sum, count) => sum + count, 0);
  return (placements * 1000) / (performance.now() - startedMs);
}

const ids = realIds();
const caller: Caller = { name: 'bench-client', role: 'admin' };

async function oneCaller(journal: Journal, untilMs: number): Promise<number> {
  let made = 0;
  for (; performance.now() < untilMs; made += 1) await placeOne(journal);
  return made;
}

async function placeOne(journal: Journal): Promise<void> {
  const operation = idOf(OPERATION, ids.next('op'));
  const input = { caller, nowMs: realClock.nowMs(), hasCredentials: false, operation };
  const command = toCreateCommand(REQUEST, { ...input, newId: (prefix) => ids.next(prefix) });
  if ('code' in command) throw new Error(command.message);
  const outcome = await journal.submit({
    by: command.by,
    why: `create instance ${command.name}`,
    operation,
    decide: (fleet) => createInstances(fleet, command),
  });
  if (outcome.kind !== 'accepted') throw new Error(`refused: ${outcome.refusal.message}`);
}

/** A placement that found no host is accepted too, and waits: one of those would make a run worthless. */
export function demandPlaced(written: readonly Commits[]): void {
  for (const { changes } of written.flat()) {
    const kinds = new Set(changes.map(({ kind }) => kind));
    if (!['operation', 'item', 'instance', 'port', 'claim'].every((kind) => kinds.has(kind))) {
      throw new Error(`an instance was not placed: its commit has only ${[...kinds].join(', ')}`);
    }
  }
}
