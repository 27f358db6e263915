// When an inventory outside showed a node last. It is known of a whole pass, and not written on each node that the pass showed.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { Node } from '../model.ts';
import { INVENTORY } from './model.ts';

/** At least as late as this; undefined where the journal is the inventory, before a first whole pass, and of what is not there any more. */
export function lastSeenOf(fleet: FleetReader, { inventory, absent, state }: Node): number | undefined {
  if (state === 'removed') return undefined;
  if (absent !== undefined) return absent.lastSeenAtMs;
  const note = fleet.get(INVENTORY, idOf(INVENTORY, inventory))?.doc;
  return note?.claims === 'inline' ? undefined : note?.pass?.beganAtMs;
}
