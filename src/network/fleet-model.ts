// The model of this module: its document kinds, indexes, projections and invariants.
import type { Model } from '../fleet/index.ts';
import { CLAIM, CLAIMS_BY_HOST } from './claim.ts';
import { NETWORK_INVARIANTS } from './invariants.ts';
import { MACS } from './addresses/mac.ts';
import {
  NETWORK,
  NETWORKS_BY_USER,
  PORT,
  PORTS_BY_HOST,
  PORTS_BY_INSTANCE,
  PORTS_BY_NETWORK,
  PORTS_BY_NETWORK_AND_PROJECT,
  PORTS_BY_SEGMENT,
  SEGMENT,
  SEGMENTS_BY_NETWORK,
  SEGMENTS_BY_PHYSICAL_NETWORK,
  SEGMENTS_BY_SEGMENTATION,
  SUBNET,
  SUBNETS_BY_NETWORK,
} from './model.ts';
import { PRESENCE } from './ports/presence.ts';
import { QUOTA, QUOTA_USAGE } from './quotas/quota.ts';
import { ROUTER_INVARIANTS } from './routers/invariants.ts';
import {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_NETWORK,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  ROUTERS_BY_SUBNET,
} from './routers/model.ts';
import { TRANSPORT_ZONE } from './tunnels/transport-zone.ts';
import { STOCK } from './addresses/stock.ts';
import { TOPOLOGY } from './networks/topology.ts';
import { TUNNEL_KEY, TUNNEL_KEYS_BY_SUBJECT } from './tunnels/keys.ts';
import { HOSTS_BY_LEFT_ZONE, HOSTS_BY_TRANSPORT_ZONE, TUNNEL_ENDPOINTS_BY_ZONE } from './tunnels/endpoints.ts';

export const networkModel: Model = {
  kinds: [NETWORK, SEGMENT, SUBNET, PORT, CLAIM, QUOTA, ROUTER, FLOATING_ADDRESS, TRANSPORT_ZONE, TUNNEL_KEY],
  indexes: [
    NETWORKS_BY_USER,
    SEGMENTS_BY_NETWORK,
    SEGMENTS_BY_SEGMENTATION,
    SEGMENTS_BY_PHYSICAL_NETWORK,
    SUBNETS_BY_NETWORK,
    PORTS_BY_NETWORK,
    PORTS_BY_NETWORK_AND_PROJECT,
    PORTS_BY_SEGMENT,
    PORTS_BY_INSTANCE,
    PORTS_BY_HOST,
    CLAIMS_BY_HOST,
    ROUTERS_BY_SUBNET,
    ROUTERS_BY_EXTERNAL_NETWORK,
    FLOATING_ADDRESSES_BY_PORT,
    FLOATING_ADDRESSES_BY_ROUTER,
    FLOATING_ADDRESSES_BY_NETWORK,
    HOSTS_BY_TRANSPORT_ZONE,
    TUNNEL_KEYS_BY_SUBJECT,
    TUNNEL_ENDPOINTS_BY_ZONE,
    HOSTS_BY_LEFT_ZONE,
  ],
  projections: [TOPOLOGY, STOCK, MACS, QUOTA_USAGE, PRESENCE],
  invariants: [...NETWORK_INVARIANTS, ...ROUTER_INVARIANTS],
};
