// Alarms of inventories: one that does not answer, claims on which it and Muster differ, one that is too old for claims. They say what is so now: each goes when
// its cause does.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { INVENTORY_UNREACHABLE, NODE, type InventoryName } from '../model.ts';
import type { ClaimDoubt } from './claims-check.ts';
import { INVENTORY, NODES_BY_INVENTORY, type InventoryNote } from './model.ts';

export const ALLOCATIONS_MISSING = 'allocations-missing';
export const WITHOUT_ALLOCATIONS = 'inventory-without-allocations';

/** Nodes that are named; the rest are counted. */
const NAMED_MAX = 5;

export interface Unreachable {
  readonly inventory: InventoryName;
  readonly sinceMs: number;
  readonly text: string;
}

/** Once while it lasts: what it said last is in the log. */
export function noteUnreachable(fleet: FleetReader, { inventory, sinceMs, text }: Unreachable): Change[] {
  const note = noteOf(fleet, inventory);
  if (note.unreachable !== undefined) return [];
  const reason = { code: INVENTORY_UNREACHABLE, inventory, nodes: countNodes(fleet, inventory), text };
  const alarm = { severity: 'warning' as const, reason, sinceMs };
  return [
    putNote({ ...note, unreachable: { sinceMs, text } }),
    ...raiseOrUpdateAlarm(fleet, alarmId(INVENTORY_UNREACHABLE, inventory), alarm),
  ];
}

export function noteReachable(fleet: FleetReader, inventory: InventoryName): Change[] {
  const { unreachable, ...note } = noteOf(fleet, inventory);
  if (unreachable === undefined) return [];
  return [putNote(note), ...clearAlarm(fleet, alarmId(INVENTORY_UNREACHABLE, inventory))];
}

export interface ClaimModeNote {
  readonly inventory: InventoryName;
  readonly claims: NonNullable<InventoryNote['claims']>;
  readonly nowMs: number;
}

/** An inventory that is the journal itself gets no calls: nothing can be wrong with it. */
export function noteClaimMode(fleet: FleetReader, { inventory, claims, nowMs }: ClaimModeNote): Change[] {
  const id = alarmId(WITHOUT_ALLOCATIONS, inventory);
  const note = noteOf(fleet, inventory);
  const isKnown = fleet.get(INVENTORY, idOf(INVENTORY, inventory)) !== undefined;
  if (claims === 'inline') {
    if (!isKnown || note.claims === claims) return [];
    return [
      putNote({ name: inventory, claims }),
      ...[INVENTORY_UNREACHABLE, ALLOCATIONS_MISSING, WITHOUT_ALLOCATIONS].flatMap((code) =>
        clearAlarm(fleet, alarmId(code, inventory)),
      ),
    ];
  }
  const reason = { code: WITHOUT_ALLOCATIONS, inventory };
  return [
    ...(note.claims === claims ? [] : [putNote({ ...note, claims })]),
    ...(claims === 'direct'
      ? raiseOrUpdateAlarm(fleet, id, { severity: 'warning', reason, sinceMs: nowMs })
      : clearAlarm(fleet, id)),
  ];
}

export interface WholePass {
  readonly inventory: InventoryName;
  readonly pass: NonNullable<InventoryNote['pass']>;
  /** The differences that were confirmed. */
  readonly doubts: readonly ClaimDoubt[];
}

/** A fleet without news writes this seldom. */
const NOTED_EVERY_MS = 60_000;

export function noteWholePass(fleet: FleetReader, { inventory, pass, doubts }: WholePass): Change[] {
  const note = noteOf(fleet, inventory);
  const { nodes = -1, endedAtMs = 0 } = note.pass ?? {};
  const isDue = nodes !== pass.nodes || pass.endedAtMs - endedAtMs >= NOTED_EVERY_MS;
  return [
    ...(isDue ? [putNote({ ...note, pass })] : []),
    ...noteDifferences(fleet, { inventory, doubts, nowMs: pass.endedAtMs }),
  ];
}

interface Differences extends Pick<WholePass, 'inventory' | 'doubts'> {
  readonly nowMs: number;
}

function noteDifferences(fleet: FleetReader, { inventory, doubts, nowMs }: Differences): Change[] {
  const id = alarmId(ALLOCATIONS_MISSING, inventory);
  if (doubts.length === 0) return clearAlarm(fleet, id);
  const namesOf = (kind: ClaimDoubt['kind']): readonly string[] =>
    doubts.filter((one) => one.kind === kind).map(({ node, instance }) => `${node} (${instance})`);
  const [missing, unknown] = [namesOf('missing'), namesOf('unknown')];
  const reason = {
    code: ALLOCATIONS_MISSING,
    inventory,
    ...(missing.length > 0 && { missing: missing.length, missingOf: missing.slice(0, NAMED_MAX).join(', ') }),
    ...(unknown.length > 0 && { unknown: unknown.length, unknownOf: unknown.slice(0, NAMED_MAX).join(', ') }),
  };
  return raiseOrUpdateAlarm(fleet, id, { severity: 'warning', reason, sinceMs: nowMs });
}

function noteOf(fleet: FleetReader, inventory: InventoryName): InventoryNote {
  return fleet.get(INVENTORY, idOf(INVENTORY, inventory))?.doc ?? { name: inventory };
}

function putNote(note: InventoryNote): Change {
  return put(INVENTORY, idOf(INVENTORY, note.name), note);
}

export function countNodes(fleet: FleetReader, inventory: InventoryName): number {
  if (inventory !== 'simulated') return fleet.countOf(NODES_BY_INVENTORY, inventory);
  return fleet.count(NODE);
}
