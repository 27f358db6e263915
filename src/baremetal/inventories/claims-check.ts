// Compares the claims that Muster holds with those that an inventory shows. A difference between two reads is a doubt: it is established only once the inventory was
// read for the very node, and the fleet still says the same.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { Inventory, InventoryClaim, InventoryNode } from '../drivers/inventory.ts';
import { NODE, RESERVATION, type InventoryName, type Node } from '../model.ts';
import { userOf } from '../nodes/transitions.ts';

/** `missing`: we hold it, and the inventory does not know it. `unknown`: the inventory has it as ours, and we do not hold it. */
export interface ClaimDoubt extends InventoryClaim {
  readonly kind: 'missing' | 'unknown';
}

export type ClaimIdOf = Inventory['claimIdOf'];

/** Of nodes as they were shown; one that is gone has no claim. */
export function findMissing(
  fleet: FleetReader,
  nodes: readonly Pick<InventoryNode, 'id' | 'claim'>[],
  { inventory, claimIdOf }: { readonly inventory: InventoryName; readonly claimIdOf: ClaimIdOf },
): ClaimDoubt[] {
  return nodes.flatMap(({ id, claim }): ClaimDoubt[] => {
    const doc = nodeOf(fleet, id);
    if (doc?.inventory !== inventory || !isClaimHeld(fleet, id, doc)) return [];
    const held = { node: id, instance: doc.instance };
    return claim === claimIdOf(held) ? [] : [{ ...held, kind: 'missing' }];
  });
}

/** Of a page of claims that are ours. */
export function findUnknown(fleet: FleetReader, claims: readonly InventoryClaim[]): ClaimDoubt[] {
  return claims.flatMap(({ node, instance }): ClaimDoubt[] =>
    isWanted(nodeOf(fleet, node), instance) ? [] : [{ node, instance, kind: 'unknown' }],
  );
}

/** `found`: what the inventory said of that node alone, after the doubt arose. */
export function isConfirmed(
  fleet: FleetReader,
  doubt: ClaimDoubt,
  { found, claimIdOf }: { readonly found: InventoryNode | 'gone'; readonly claimIdOf: ClaimIdOf },
): boolean {
  const claim = found === 'gone' ? undefined : found.claim;
  const isThere = claim === claimIdOf(doubt);
  const doc = nodeOf(fleet, doubt.node);
  if (doubt.kind === 'unknown') return isThere && !isWanted(doc, doubt.instance);
  return !isThere && doc?.instance === doubt.instance && isClaimHeld(fleet, doubt.node, doc);
}

function nodeOf(fleet: FleetReader, node: string): Node | undefined {
  return fleet.get(NODE, idOf(NODE, node))?.doc;
}

/** From the claim on, until its cleaning begins: an inventory may end the claim with that. */
const CLAIMED: readonly Node['state'][] = ['reserved', 'deploying', 'active'];

function isClaimHeld(fleet: FleetReader, id: string, doc: Node): doc is Node & { instance: string } {
  const { instance, state } = doc;
  if (instance === undefined || !CLAIMED.includes(state)) return false;
  const reservation = fleet.get(RESERVATION, idOf(RESERVATION, instance))?.doc;
  return reservation?.claimed === true && reservation.node === id;
}

/** One that could not be cleaned has an alarm of its own. */
function isWanted(doc: Node | undefined, instance: string): boolean {
  return doc !== undefined && (userOf(doc) === instance || doc.state === 'clean-failed');
}
