// The hosts of the demonstration: two sites, two zones, three sizes. Pure: the same number gives the same hosts.
import type { HostSpec } from '../hosts/index.ts';
import { FIRST_SITE } from '../sites/index.ts';

export const DEMO_SITE = { name: 'north', description: 'a second site of the demonstration' };

const SIZES = [
  { vcpus: 32, memoryMiB: 131_072, diskGiB: 1_000 },
  { vcpus: 64, memoryMiB: 262_144, diskGiB: 2_000 },
  { vcpus: 128, memoryMiB: 524_288, diskGiB: 4_000 },
] as const;

/** Of every three hosts two are in the first site. */
export function demoHosts(count: number): HostSpec[] {
  return Array.from({ length: count }, (_, at) => {
    const site = at % 3 === 2 ? DEMO_SITE.name : FIRST_SITE;
    const nth = site === FIRST_SITE ? Math.floor(at / 3) * 2 + (at % 3) + 1 : Math.floor(at / 3) + 1;
    return {
      name: site === FIRST_SITE ? `compute-${nth}` : `${site}-${nth}`,
      site,
      zone: nth % 2 === 1 ? 'a' : 'b',
      capacity: SIZES[nth % SIZES.length] ?? SIZES[0],
      traits: nth % 4 === 0 ? ['gpu'] : [],
      physicalNetworks: ['datacenter', site],
      tunnelAddress: `10.${site === FIRST_SITE ? 0 : 1}.${Math.floor(nth / 250)}.${(nth % 250) + 1}`,
    };
  });
}
