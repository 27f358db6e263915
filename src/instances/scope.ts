// The site of an instance, and so of the operations on it: callers bound to that site see both.
import type { FleetReader } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import type { Instance } from './model.ts';

type PlacedInstance = Pick<Instance, 'host' | 'site' | 'place'>;

/** The site of its host or node; without one, the requested one. */
export function siteOfInstance(instance: PlacedInstance, _id: string, fleet: FleetReader): string | undefined {
  const { host, site, place } = instance;
  return (host === undefined ? site : findHost(fleet, host)?.doc.site) ?? place.site;
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
  instances: readonly { readonly id: string; readonly doc: PlacedInstance }[],
): { readonly site?: string } {
  const [site, ...others] = new Set(instances.map(({ id, doc }) => siteOfInstance(doc, id, fleet)));
  return site === undefined || others.length > 0 ? {} : { site };
}
