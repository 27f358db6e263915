// The API representation of the address stock: always decimal text, because a /64 has more addresses than a JSON number can count.
import { Type, type Static } from 'typebox';
import type { FleetReader } from '../../fleet/index.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { stockOf } from './stock.ts';
import { segmentOfPool, topologyOf } from '../networks/topology.ts';

const COUNT = Type.String({ pattern: '^-?[0-9]+$' });

const POOL_STOCK = Type.Object({
  pool: Type.String({ description: '`segment:<id>` on a routed network, `network:<id>` on one that is not' }),
  segment: Type.Optional(Type.String()),
  version: Type.Union([Type.Literal(4), Type.Literal(6)]),
  total: Type.Unsafe<string>({ ...COUNT, description: 'addresses in the pools, as decimal text' }),
  held: Type.Unsafe<string>({ ...COUNT, description: 'those that ports have, and the gateway' }),
  claimed: Type.Unsafe<string>({ ...COUNT, description: 'claimed by instances that are being built' }),
  free: Type.Unsafe<string>({ ...COUNT, description: 'total minus held minus claimed' }),
});

export const STOCK_REPRESENTATION = Type.Object({
  network: Type.String(),
  stock: Type.Array(POOL_STOCK),
  revision: Type.Integer({ description: 'the fleet revision that was read' }),
});
export type StockRepresentation = Static<typeof STOCK_REPRESENTATION>;

/** The figures of some pools of a network, for each version that they have. */
export function stockToJson(fleet: FleetReader, network: string, pools: readonly PoolKey[]): StockRepresentation {
  const stock = stockOf(fleet);
  const rows = pools.flatMap((pool) =>
    stock.versionsOf(pool).map((version) => {
      const { total, held, claimed, free } = stock.figures(pool, version);
      const segment = segmentOfPool(pool);
      return {
        pool,
        ...(segment !== undefined && { segment }),
        version,
        total: String(total),
        held: String(held),
        claimed: String(claimed),
        free: String(free),
      };
    }),
  );
  return { network, stock: rows, revision: fleet.revision };
}

export function networkStockToJson(fleet: FleetReader, network: string): StockRepresentation {
  const pools = topologyOf(fleet)
    .placementChoicesOf(network)
    .map(({ pool }) => pool);
  return stockToJson(fleet, network, pools);
}
