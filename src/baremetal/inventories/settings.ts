// How many reads an inventory outside gets, beside those of requests.
import { Type } from 'typebox';
import { setting } from '../../fleet/index.ts';

export const INVENTORY_REFRESH = setting('baremetal.inventories', {
  about:
    'How inventories of bare-metal nodes outside Muster are read: a page of so many nodes (pageSize), then a pause of so many milliseconds (intervalMs). ' +
    'There is never more than one request under way for that.',
  schema: Type.Object(
    {
      intervalMs: Type.Integer({ minimum: 100, maximum: 3_600_000 }),
      pageSize: Type.Integer({ minimum: 1, maximum: 1000 }),
    },
    { additionalProperties: false },
  ),
  defaultValue: { intervalMs: 10_000, pageSize: 500 },
});
