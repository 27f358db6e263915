// How elections and hand-overs go, as operators may change it while the system runs.
import { Type } from 'typebox';
import { setting } from '../fleet/index.ts';

export const ELECTION = setting('election', {
  about:
    'Whether elections are held still (for an upgrade), how long an old host passes on what comes late, and how many services are handed over at once.',
  schema: Type.Object(
    {
      /** Nobody is elected, withdrawn or handed over while it is set. */
      held: Type.Boolean(),
      /** How long the old host goes on for what is still on its way to it. */
      handOverDrainMs: Type.Integer({ minimum: 0, maximum: 600_000 }),
      handOversAtOnce: Type.Integer({ minimum: 1, maximum: 10_000 }),
    },
    { additionalProperties: false },
  ),
  // Each hand-over makes every host with presence compile its view anew, three times: more at once would only queue there.
  fallback: { held: false, handOverDrainMs: 1000, handOversAtOnce: 256 },
});
