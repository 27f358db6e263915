// The builder on hosts: the agent of the host that the scheduler chose builds the instance.
import { beginOnHosts, previewOnHosts } from './build/on-hosts.ts';
import { Builders, HOSTS, type Builder } from './builder.ts';
import { deleteFromHosts } from './delete/delete.ts';

export const hostBuilder: Builder = {
  name: HOSTS,
  buildsFlavor: () => true,
  begin: beginOnHosts,
  preview: previewOnHosts,
  beginDeletion: deleteFromHosts,
  unsupported: {},
};

/** For whoever has no other builders. */
export const ON_HOSTS = new Builders([hostBuilder]);
