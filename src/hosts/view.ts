// View parts: each module adds its part to the view of a host's agent. A part is a pure function of the fleet, so that every server composes
// the same view; it must never depend on the caller or the time.
import { finish, type AppliedChange, type FleetReader, type Steps } from '../fleet/index.ts';
import { findHost } from './decide.ts';
import { HOST, isTombstoned } from './model.ts';

interface ViewPartFields {
  readonly name: string;
  /** The hosts whose part may differ after this change. */
  readonly affects: (change: AppliedChange, fleet: FleetReader) => readonly string[];
}

export interface SmallViewPart extends ViewPartFields {
  /** The part for one host; undefined when it has none. */
  readonly build: (fleet: FleetReader, host: string) => unknown;
  readonly buildInSteps?: never;
}

/** A part that may be as large as the fleet, built in steps: the fleet may advance between two of them. */
export interface LargeViewPart extends ViewPartFields {
  readonly buildInSteps: (fleet: FleetReader, host: string) => Steps<unknown>;
  readonly build?: never;
}

export type ViewPart = SmallViewPart | LargeViewPart;

/** In one piece, however large it is. */
export function buildPart(part: ViewPart, fleet: FleetReader, host: string): unknown {
  return part.buildInSteps === undefined ? part.build(fleet, host) : finish(part.buildInSteps(fleet, host));
}

/** The host's own data in its view. */
export const selfPart: SmallViewPart = {
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
