// The record of a removed host: its identity, and the reason if it was removed by force. Nothing else may be kept.
import type { AbandonCommand } from '../evacuator.ts';
import type { Host } from '../model.ts';

const NOTHING = { vcpus: 0, memoryMiB: 0, diskGiB: 0, ratios: { vcpus: 1, memory: 1, disk: 1 } };

export function remainsOf(doc: Host, { by, nowMs }: AbandonCommand): Host {
  const { name, site, tunnelAddress, switch: identity, leaving } = doc;
  return {
    name,
    site,
    zone: 'default',
    aggregates: [],
    capacity: NOTHING,
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    // While the removed host still reports, its address stays taken.
    ...(tunnelAddress !== undefined && { tunnelAddress }),
    ...(identity !== undefined && { switch: identity }),
    ...(leaving?.forced !== undefined && { leaving }),
    state: 'removed',
    connection: { state: 'unknown', sinceMs: nowMs },
    serviceVersion: 0,
    changedBy: by,
    changedAtMs: nowMs,
  };
}
