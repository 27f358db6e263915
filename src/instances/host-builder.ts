// The builder on hosts: the agent of the host that the scheduler chose builds the instance.
import type { FleetReader, Refusal } from '../fleet/index.ts';
import { beginOnHosts, previewOnHosts } from './build/on-hosts.ts';
import type { CreateInstances } from './build/request.ts';
import { Builders, HOSTS, type Builder } from './builder.ts';
import { deleteFromHosts } from './delete/delete.ts';

export const hostBuilder: Builder = {
  name: HOSTS,
  buildsFlavor: ({ bareMetal }) => bareMetal === undefined,
  requestProblem,
  begin: beginOnHosts,
  preview: previewOnHosts,
  beginDeletion: deleteFromHosts,
  unsupported: {
    power:
      'hosts keep their instances running. Shelve it with "muster instances shelve" if it is not needed for a while.',
  },
};

/** Nothing matches them here: what is requested is never dropped without a word. */
function requestProblem(_fleet: FleetReader, { imageProperties, flavor }: CreateInstances): Refusal | undefined {
  if (imageProperties === undefined) return undefined;
  const message = `Image properties are matched with bare-metal nodes, and instances of flavor "${flavor}" are built on hosts. Leave them out, or choose a bare-metal flavor.`;
  return { kind: 'invalid', code: 'image-properties-unsupported', message, field: '/imageProperties' };
}

/** For whoever has no other builders. */
export const ON_HOSTS = new Builders([hostBuilder]);
