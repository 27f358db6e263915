// The setting `election`: how elections, handovers and BFD run; operators may change it at run time.
import { Type } from 'typebox';
import { setting, valueOf, type FleetReader } from '../fleet/index.ts';

/** With three missing packets a loss is detected in 300 ms. */
const BFD_INTERVAL_MS = 100;

export const ELECTION = setting('election', {
  about:
    'Whether elections are held (for an upgrade), how long an old host forwards late packets, how many handovers are under way at once, and the BFD interval between hosts.',
  schema: Type.Object(
    {
      /** While it is set, no service is elected, withdrawn or handed over. */
      held: Type.Boolean(),
      /** How long the old host still forwards what is on its way to it. */
      handoverDrainMs: Type.Integer({ minimum: 0, maximum: 600_000 }),
      handoversAtOnce: Type.Integer({ minimum: 1, maximum: 10_000 }),
      /** Whether hosts listen for each other on the data path where services hang on it. Absent: they do. */
      bfd: Type.Optional(Type.Boolean()),
      /** How often each of them sends; three that are missing are a session that is down. */
      bfdIntervalMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 10_000 })),
    },
    { additionalProperties: false },
  ),
  // Each handover makes every host with presence compile its view again, three times: more at once would only queue there.
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

/** Settings stored before BFD existed get its defaults. */
export function bfdSettingsOf(fleet: FleetReader): BfdSettings {
  const { bfd = true, bfdIntervalMs = BFD_INTERVAL_MS } = valueOf(fleet, ELECTION);
  return { on: bfd, everyMs: bfdIntervalMs };
}
