// What is known of an inventory outside the journal: how it has claims made, when all its nodes were seen last, and whether it answers. It is written when
// that changes, and at times; never for each read.
import { Type, type Static } from 'typebox';
import { schemaKind, type Index } from '../../fleet/index.ts';
import { INVENTORY_NAMES, NODE, type Node } from '../model.ts';

const CLOSED = { additionalProperties: false };

export const INVENTORY_SCHEMA = Type.Object(
  {
    name: Type.Enum(INVENTORY_NAMES),
    claims: Type.Optional(
      Type.Enum(['inline', 'endpoint', 'direct'], {
        description:
          '`endpoint`: it has an endpoint for claims. `direct`: it is too old for that, and claims are written on its nodes. `inline`: the journal is the inventory',
      }),
    ),
    /** The last pass that came to its end. */
    pass: Type.Optional(
      Type.Object(
        {
          beganAtMs: Type.Integer(),
          endedAtMs: Type.Integer(),
          nodes: Type.Integer({ minimum: 0, description: 'that it listed' }),
        },
        { ...CLOSED, description: 'the last time that the whole inventory was read' },
      ),
    ),
    unreachable: Type.Optional(
      Type.Object(
        { sinceMs: Type.Integer(), text: Type.String({ maxLength: 300 }) },
        { ...CLOSED, description: 'its nodes are as they were seen last' },
      ),
    ),
  },
  CLOSED,
);
export type InventoryNote = Static<typeof INVENTORY_SCHEMA>;
/** Its id is its name. */
export const INVENTORY = schemaKind('inventory', INVENTORY_SCHEMA);

const NO_KEYS: readonly string[] = [];

/** Nodes that are in an inventory outside: the simulated ones are counted as the rest. */
export const NODES_BY_INVENTORY: Index<'node', Node> = {
  name: 'nodes-by-inventory',
  kind: NODE,
  keysOf: ({ inventory, state }) => (inventory === 'simulated' || state === 'removed' ? NO_KEYS : [inventory]),
};
