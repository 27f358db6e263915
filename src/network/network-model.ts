// What this room brings to the fleet.
import type { Model } from '../fleet/index.ts';
import { CLAIM, CLAIMS_BY_HOST } from './claim.ts';
import { NETWORK_INVARIANTS } from './invariants.ts';
import { MACS } from './mac.ts';
import {
  NETWORK,
  NETWORKS_BY_USER,
  PORT,
  PORTS_BY_INSTANCE,
  PORTS_BY_NETWORK,
  PORTS_BY_NETWORK_AND_PROJECT,
  PORTS_BY_SEGMENT,
  SEGMENT,
  SEGMENTS_BY_NETWORK,
  SEGMENTS_BY_PHYSICAL_NETWORK,
  SEGMENTS_BY_WIRE,
  SUBNET,
  SUBNETS_BY_NETWORK,
} from './model.ts';
import { QUOTA, USAGE } from './quota.ts';
import { STOCK } from './stock.ts';
import { TOPOLOGY } from './topology.ts';

export const networkModel: Model = {
  kinds: [NETWORK, SEGMENT, SUBNET, PORT, CLAIM, QUOTA],
  indexes: [
    NETWORKS_BY_USER,
    SEGMENTS_BY_NETWORK,
    SEGMENTS_BY_WIRE,
    SEGMENTS_BY_PHYSICAL_NETWORK,
    SUBNETS_BY_NETWORK,
    PORTS_BY_NETWORK,
    PORTS_BY_NETWORK_AND_PROJECT,
    PORTS_BY_SEGMENT,
    PORTS_BY_INSTANCE,
    CLAIMS_BY_HOST,
  ],
  projections: [TOPOLOGY, STOCK, MACS, USAGE],
  invariants: NETWORK_INVARIANTS,
};
