// The model of this module: its document kinds, indexes, projections and invariants.
import type { Model } from '../fleet/index.ts';
import { NODE_BUILD_INVARIANTS } from './builder/invariants.ts';
import { WAITING_NODE_ITEMS } from './builder/long-waits.ts';
import { NODE_COUNTERS } from './capacity/counters.ts';
import { INVENTORY, NODES_BY_INVENTORY } from './inventories/model.ts';
import { MANAGER_INVARIANTS } from './managers/invariants.ts';
import { MANAGED_NODES } from './managers/managed-nodes.ts';
import { MANAGER_TASKS } from './managers/manager-tasks.ts';
import { NODE_INDEX } from './matching/node-index.ts';
import {
  ALLOCATING_RESERVATIONS,
  FAILED_RESERVATIONS,
  MANAGER,
  MANAGERS_BY_HOST,
  NODE,
  NODES_BY_CLAIM,
  NODES_BY_INSTANCE,
  NODES_BY_MANAGER,
  NODES_BY_NAME,
  NODES_BY_SITE,
  RESERVATION,
} from './model.ts';
import { NODE_INVARIANTS } from './nodes/invariants.ts';
import { UNUSED_NODES } from './reservations/unused.ts';
import { RESERVATION_INVARIANTS } from './reservations/invariants.ts';

export const baremetalModel: Model = {
  kinds: [NODE, RESERVATION, MANAGER, INVENTORY],
  indexes: [
    NODES_BY_MANAGER,
    NODES_BY_INSTANCE,
    NODES_BY_SITE,
    NODES_BY_CLAIM,
    NODES_BY_NAME,
    NODES_BY_INVENTORY,
    MANAGERS_BY_HOST,
    ALLOCATING_RESERVATIONS,
    FAILED_RESERVATIONS,
    WAITING_NODE_ITEMS,
  ],
  projections: [NODE_COUNTERS, NODE_INDEX, MANAGED_NODES, MANAGER_TASKS, UNUSED_NODES],
  invariants: [...NODE_INVARIANTS, ...RESERVATION_INVARIANTS, ...MANAGER_INVARIANTS, ...NODE_BUILD_INVARIANTS],
};
