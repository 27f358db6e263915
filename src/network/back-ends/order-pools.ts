// The subnets of a pool as an order describes them to a back end.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { OrderPool } from './back-end.ts';
import { SEGMENT } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { poolOf, segmentOfPool, topologyOf } from '../networks/topology.ts';

/** Sorted by id: the first one with a free address is used. */
export function composeOrderPools(fleet: FleetReader, pool: PoolKey): OrderPool[] {
  const segment = segmentOfPool(pool);
  const network =
    segment === undefined
      ? pool.slice('network:'.length)
      : (fleet.get(SEGMENT, idOf(SEGMENT, segment))?.doc.network ?? '');
  return topologyOf(fleet)
    .subnetsOf(network)
    .filter(({ doc }) => poolOf(doc) === pool)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, doc }) => ({
      subnet: id,
      version: doc.version,
      cidr: doc.cidr,
      ranges: doc.pools,
      ...(doc.gateway !== undefined && { reserved: [doc.gateway] }),
    }));
}
