// The setting `election`: how elections, handovers and BFD run; operators may change it at run time.
import { Type } from 'typebox';
import { setting, valueOf, type FleetReader } from '../fleet/index.ts';

/** With three missing packets a loss is detected in 300 ms. */
const BFD_INTERVAL_MS = 100;

export const ELECTION = setting('election', {
  about:
    'Whether elections are held (for an upgrade), how long an old host forwards late packets, how many services are handed over at once, and the BFD interval between hosts.',
  schema: Type.Object(
    {
      /** While it is set, no service is elected, withdrawn or handed over. */
      held: Type.Boolean(),
      /** How long the old host forwards packets that are still on their way to it. */
      handOverDrainMs: Type.Integer({ minimum: 0, maximum: 600_000 }),
      handOversAtOnce: Type.Integer({ minimum: 1, maximum: 10_000 }),
      /** Whether BFD sessions run between the hosts of services. Absent: they do. */
      heartbeats: Type.Optional(Type.Boolean()),
      /** How often each host sends; after three missing packets BFD is down. */
      heartbeatMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 10_000 })),
    },
    { additionalProperties: false },
  ),
  // Each handover makes every host with presence compile its view again, three times: more at once would only queue there.
  defaultValue: {
    held: false,
    handOverDrainMs: 1000,
    handOversAtOnce: 256,
    heartbeats: true,
    heartbeatMs: BFD_INTERVAL_MS,
  },
});

export interface BfdSettings {
  readonly on: boolean;
  readonly everyMs: number;
}

/** Settings stored before BFD existed get its defaults. */
export function bfdSettingsOf(fleet: FleetReader): BfdSettings {
  const { heartbeats = true, heartbeatMs = BFD_INTERVAL_MS } = valueOf(fleet, ELECTION);
  return { on: heartbeats, everyMs: heartbeatMs };
}
