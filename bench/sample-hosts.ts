// Hosts as an operator's fleet has them: about 600 bytes of JSON each. The numbers come from their position, so that every
// run sees the same fleet.
import type { Host, HostId } from '../src/hosts/index.ts';

export const SAMPLE_SITE = 'central';

const JOINED_AT_MS = Date.UTC(2025, 0, 1);

export function sampleHostId(nth: number): HostId {
  return `h-${String(nth).padStart(6, '0')}` as HostId;
}

export function sampleHost(nth: number): Host {
  return {
    name: `compute-${nth}`,
    site: SAMPLE_SITE,
    zone: `zone-${nth % 3}`,
    aggregates: [`rack-${nth % 40}`, nth % 5 === 0 ? 'ssd' : 'hdd'],
    capacity: {
      vcpus: 32 << (nth % 3),
      memoryMiB: 131_072 << (nth % 3),
      diskGiB: 1_800,
      ratios: { vcpus: 4, memory: 1, disk: 1.5 },
    },
    traits: ['hw-cpu-x86-avx2', 'hw-cpu-x86-aes', `vendor-${nth % 4}`],
    physicalNetworks: ['physnet1'],
    tunnelAddress: `10.${(nth >> 16) & 255}.${(nth >> 8) & 255}.${nth & 255}`,
    baseWeight: 0,
    state: 'active',
    connection: { state: 'up', sinceMs: JOINED_AT_MS + nth },
    serviceVersion: 1,
    credential: `t-${String(nth).padStart(20, '0')}`,
    joinedAtMs: JOINED_AT_MS + nth,
    changedBy: 'token t-00000000000000000001',
    changedAtMs: JOINED_AT_MS + nth,
  };
}
