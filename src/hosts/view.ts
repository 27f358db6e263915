// What a host's agent is shown. Each room adds its part; a part is a pure function of the fleet, so that any server
// shows the same host the same view.
import type { AppliedChange, FleetReader, Steps } from '../fleet/index.ts';
import { findHost } from './decide.ts';
import { HOST, isTombstoned } from './model.ts';

export interface ViewPart {
  readonly name: string;
  /** The part for one host; undefined when it has none. */
  readonly build: (fleet: FleetReader, host: string) => unknown;
  /** The same in steps, where a part may be as large as the fleet: between two of them the fleet may go on. */
  readonly buildInSteps?: (fleet: FleetReader, host: string) => Steps<unknown>;
  /** The hosts whose part may be another after this change. */
  readonly affects: (fleet: FleetReader, change: AppliedChange) => readonly string[];
}

/** What the host is told of itself. */
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
  affects: (_fleet, { kind, before, after }) => (kind === HOST.name ? [(after ?? before)?.id ?? ''] : []),
};
