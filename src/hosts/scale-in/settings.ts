// The setting `scale-in`: how many tenants move at once, and how long a drain may take.
import { Type } from 'typebox';
import { setting } from '../../fleet/index.ts';

const HOUR_MS = 3600 * 1000;

export const SCALE_IN = setting('scale-in', {
  about: 'How many tenants leave hosts at once, how long a drain may take, and whether RESTCONF drains.',
  schema: Type.Object(
    {
      /** Concurrent moves over all leaving hosts. */
      movesAtOnce: Type.Integer({ minimum: 1, maximum: 10_000 }),
      movesPerHostAtOnce: Type.Integer({ minimum: 1, maximum: 1000 }),
      /** No move begins later than this after a start. */
      drainDeadlineMs: Type.Integer({ minimum: 60_000, maximum: 30 * 24 * HOUR_MS }),
      /** Whether a start by RESTCONF drains the hosts, as the CLI does. */
      restconfDrain: Type.Boolean(),
    },
    { additionalProperties: false },
  ),
  defaultValue: { movesAtOnce: 32, movesPerHostAtOnce: 4, drainDeadlineMs: 4 * HOUR_MS, restconfDrain: true },
});
