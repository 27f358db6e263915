// The segments that a host reaches. Derived from the host's report and the segments, and must never be stored.
import type { FleetReader } from '../../fleet/index.ts';
import type { Host } from '../../hosts/index.ts';
import { EVERYWHERE, SEGMENTS_BY_PHYSICAL_NETWORK } from '../model.ts';

export interface HostSegment {
  readonly segment: string;
  readonly network: string;
  readonly physicalNetwork?: string;
}

export function segmentsOfHost(fleet: FleetReader, { physicalNetworks }: Host): HostSegment[] {
  return [...physicalNetworks, EVERYWHERE].flatMap((on) =>
    [...fleet.find(SEGMENTS_BY_PHYSICAL_NETWORK, on)].map(({ id, doc: { network, physicalNetwork } }) => ({
      segment: id,
      network,
      ...(physicalNetwork !== undefined && { physicalNetwork }),
    })),
  );
}
