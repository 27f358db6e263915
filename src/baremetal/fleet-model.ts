// The model of this module: its document kinds, indexes, projections and invariants.
import type { Model } from '../fleet/index.ts';
import { NODE_COUNTERS } from './capacity/counters.ts';
import { MANAGER_INVARIANTS } from './managers/invariants.ts';
import { MANAGED_NODES } from './managers/managed-nodes.ts';
import { MANAGER_TASKS } from './managers/manager-tasks.ts';
import { NODE_INDEX } from './matching/node-index.ts';
import {
  MANAGER,
  MANAGERS_BY_HOST,
  NODE,
  NODES_BY_INSTANCE,
  NODES_BY_MANAGER,
  NODES_BY_SITE,
  RESERVATION,
} from './model.ts';
import { NODE_INVARIANTS } from './nodes/invariants.ts';

export const baremetalModel: Model = {
  kinds: [NODE, RESERVATION, MANAGER],
  indexes: [NODES_BY_MANAGER, NODES_BY_INSTANCE, NODES_BY_SITE, MANAGERS_BY_HOST],
  projections: [NODE_COUNTERS, NODE_INDEX, MANAGED_NODES, MANAGER_TASKS],
  invariants: [...NODE_INVARIANTS, ...MANAGER_INVARIANTS],
};
