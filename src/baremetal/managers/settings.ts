// How long the leases of managers last, and how often they are renewed.
import { Type } from 'typebox';
import { setting } from '../../fleet/index.ts';

/** A manager stops acting so long before its lease ends: the controller of a machine cannot compare epochs. */
export const STOP_EARLY_MS = 2000;

export const MANAGERS = setting('baremetal.managers', {
  about: 'How long the lease of a manager of bare-metal nodes lasts, and how often it is renewed, in milliseconds.',
  schema: Type.Object(
    {
      leaseMs: Type.Integer({ minimum: 5000, maximum: 600_000 }),
      renewMs: Type.Integer({ minimum: 500, maximum: 300_000 }),
    },
    { additionalProperties: false },
  ),
  check: ({ leaseMs, renewMs }) =>
    leaseMs >= 2 * renewMs + STOP_EARLY_MS
      ? []
      : [
          {
            field: '/leaseMs',
            message: `must be at least twice renewMs and ${STOP_EARLY_MS} more: a manager must be able to miss a renewal, and stops ${STOP_EARLY_MS} ms before its lease ends`,
          },
        ],
  defaultValue: { leaseMs: 15_000, renewMs: 5000 },
});
