// The HTTP surface of inventories: which there are, whether they answer, and when they were read. No decisions here.
import { Type } from 'typebox';
import { defineRepresentation, noProject, readRoutes, wholeFleet, type Route } from '../../access/index.ts';
import { INVENTORY, INVENTORY_SCHEMA, type InventoryNote } from './model.ts';

export const INVENTORY_REPRESENTATION = defineRepresentation<'inventory', InventoryNote>({
  kind: INVENTORY,
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: INVENTORY_SCHEMA.properties,
});

export const inventoryRoutes: readonly Route[] = readRoutes(
  {
    path: '/api/v1/inventories',
    plural: 'inventories',
    singular: 'inventory',
    representation: INVENTORY_REPRESENTATION,
  },
  {
    listing: {
      representation: INVENTORY_REPRESENTATION,
      filters: {
        unreachable: { schema: Type.Boolean(), valuesOf: (doc: InventoryNote) => [doc.unreachable !== undefined] },
      },
      sorts: {},
      nameIsId: true,
    },
  },
);
