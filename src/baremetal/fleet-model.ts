// The model of this module: its document kinds, indexes, projections and invariants.
import type { Model } from '../fleet/index.ts';
import { NODE_COUNTERS } from './capacity/counters.ts';
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
  projections: [NODE_COUNTERS, NODE_INDEX],
  invariants: NODE_INVARIANTS,
};
