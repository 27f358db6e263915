// What this room registers with the fleet.
import type { Model } from '../fleet/index.ts';
import { DESTROYS_BY_INSTANCE } from './clean.ts';
import { INSTANCE_INVARIANTS } from './invariants.ts';
import {
  FLAVOR,
  GROUP,
  INSTANCE,
  INSTANCES_BY_FLAVOR,
  INSTANCES_BY_GROUP,
  INSTANCES_BY_HOST,
  INSTANCES_BY_PROJECT,
  INSTANCES_BY_STATE,
  INSTANCES_LEAVING,
  INSTANCES_MOVING_BY_GROUP,
  INSTANCES_UNSETTLED,
} from './model.ts';

export const instancesModel: Model = {
  kinds: [FLAVOR, GROUP, INSTANCE],
  indexes: [
    DESTROYS_BY_INSTANCE,
    INSTANCES_BY_FLAVOR,
    INSTANCES_BY_GROUP,
    INSTANCES_BY_HOST,
    INSTANCES_BY_PROJECT,
    INSTANCES_BY_STATE,
    INSTANCES_LEAVING,
    INSTANCES_MOVING_BY_GROUP,
    INSTANCES_UNSETTLED,
  ],
  invariants: INSTANCE_INVARIANTS,
};
