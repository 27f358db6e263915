// Which segments a host reaches. It is derived from what the host reports and never stored: it is as new as both.
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
