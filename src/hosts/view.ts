// View parts: each module adds its part to the view of a host's agent. A part is a pure function of the fleet, so that every server composes
// the same view; it must never depend on the caller or the time.
import type { AppliedChange, FleetReader, Steps } from '../fleet/index.ts';
import { findHost } from './decide.ts';
import { HOST, isTombstoned } from './model.ts';

export interface ViewPart {
  readonly name: string;
  /** The part for one host; undefined when it has none. */
  readonly build: (fleet: FleetReader, host: string) => unknown;
  /** The same in steps, for a part that may be as large as the fleet: the fleet may advance between two steps. */
  readonly buildInSteps?: (fleet: FleetReader, host: string) => Steps<unknown>;
  /** The hosts whose part may differ after this change. */
  readonly affects: (change: AppliedChange, fleet: FleetReader) => readonly string[];
}

/** The host's own data in its view. */
export const selfPart: ViewPart = {
  name: 'self',
  build: (fleet, id) => {
    const host = findHost(fleet, id)?.doc;
    if (host === undefined) return undefined;
    const { site, zone, state, tunnelAddress, physicalNetworks } = host;
    return {
      site,
      zone,
      state,
      tombstoned: isTombstoned(host),
      ...(host.quarantined !== undefined && { quarantined: true }),
      enabled: host.disabled === undefined,
      physicalNetworks,
      ...(tunnelAddress !== undefined && { tunnelAddress }),
    };
  },
  affects: ({ kind, before, after }) => (kind === HOST.name ? [(after ?? before)?.id ?? ''] : []),
};
