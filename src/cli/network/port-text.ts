// A port as the API shows it, and as people read it.
import type { Port } from '../client/representations.ts';

/** Its addresses, or why it has none. */
export function addressesText({ addresses, ipAllocation }: Port): string | undefined {
  if (addresses.length > 0) return addresses.map(({ ip }) => ip).join(', ');
  return ipAllocation === 'immediate' ? undefined : ipAllocation;
}

/** `compute-1, segment rack-a`. */
export function bindingText({ binding }: Port): string | undefined {
  if (binding === undefined) return undefined;
  const { host, node, segment } = binding;
  const place = host ?? `node ${node}`;
  return segment === undefined ? place : `${place}, segment ${segment}`;
}
