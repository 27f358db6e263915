// How elections and hand-overs go, as operators may change it while the system runs.
import { Type } from 'typebox';
import { setting, valueOf, type FleetReader } from '../fleet/index.ts';

/** With three of them a loss is noticed in 300 ms. */
const BFD_INTERVAL_MS = 100;

export const ELECTION = setting('election', {
  about:
    'Whether elections are held still (for an upgrade), how long an old host passes on what comes late, how many services are handed over at once, and how often hosts listen for each other on the data path.',
  schema: Type.Object(
    {
      /** Nobody is elected, withdrawn or handed over while it is set. */
      held: Type.Boolean(),
      /** How long the old host goes on for what is still on its way to it. */
      handoverDrainMs: Type.Integer({ minimum: 0, maximum: 600_000 }),
      handoversAtOnce: Type.Integer({ minimum: 1, maximum: 10_000 }),
      /** Whether hosts listen for each other on the data path where services hang on it. Absent: they do. */
      bfd: Type.Optional(Type.Boolean()),
      /** How often each of them sends; three that are missing are a host that is not heard. */
      bfdIntervalMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 10_000 })),
    },
    { additionalProperties: false },
  ),
  // Each hand-over makes every host with presence compile its view anew, three times: more at once would only queue there.
  defaultValue: {
    held: false,
    handoverDrainMs: 1000,
    handoversAtOnce: 256,
    bfd: true,
    bfdIntervalMs: BFD_INTERVAL_MS,
  },
});

export interface BfdSettings {
  readonly on: boolean;
  readonly everyMs: number;
}

/** Those who said something of elections before there were heartbeats have them as they are by default. */
export function bfdSettingsOf(fleet: FleetReader): BfdSettings {
  const { bfd = true, bfdIntervalMs = BFD_INTERVAL_MS } = valueOf(fleet, ELECTION);
  return { on: bfd, everyMs: bfdIntervalMs };
}
