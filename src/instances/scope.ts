// The site of an instance, and so of the operations on it: callers bound to that site see both.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { siteOfHost } from '../hosts/index.ts';
import type { Claim } from '../network/index.ts';
import { INSTANCE, type Instance } from './model.ts';

type PlacedInstance = Pick<Instance, 'host' | 'place'>;

/** The site of its host; without a host, the requested one. */
export function siteOfInstance({ host, place }: PlacedInstance, fleet: FleetReader): string | undefined {
  return siteOfHost(fleet, host) ?? place.site;
}

/** The site of the host of which it takes. A move's second claim may be in another site than the instance. */
export function siteOfClaim({ host }: Claim, fleet: FleetReader): string | undefined {
  return siteOfHost(fleet, host);
}

export function projectOfClaim({ instance }: Claim, fleet: FleetReader): string | undefined {
  return fleet.get(INSTANCE, idOf(INSTANCE, instance))?.doc.project;
}

/** The project of an operation on instances: none when they are of several. */
export function commonProjectOf(instances: readonly { readonly doc: Pick<Instance, 'project'> }[]): {
  readonly project?: string;
} {
  const [project, ...others] = new Set(instances.map(({ doc }) => doc.project));
  return project === undefined || others.length > 0 ? {} : { project };
}

/** The site of an operation on instances: none when they are in several. */
export function commonSiteOf(
  fleet: FleetReader,
  instances: readonly { readonly doc: PlacedInstance }[],
): { readonly site?: string } {
  const [site, ...others] = new Set(instances.map(({ doc }) => siteOfInstance(doc, fleet)));
  return site === undefined || others.length > 0 ? {} : { site };
}
