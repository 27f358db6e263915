// The model of this module: its document kinds, indexes and invariants.
import type { Model } from '../fleet/index.ts';
import { CLEAN_ITEMS_BY_INSTANCE } from './delete/clean.ts';
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
  INSTANCES_BY_LEAVING_HOST,
  RELOCATING_INSTANCES_BY_GROUP,
  INSTANCES_BY_VACATED_HOST,
} from './model.ts';
import { INSTANCE_MIGRATIONS } from './migrations.ts';

export const instancesModel: Model = {
  migrations: INSTANCE_MIGRATIONS,
  kinds: [FLAVOR, GROUP, INSTANCE],
  indexes: [
    CLEAN_ITEMS_BY_INSTANCE,
    INSTANCES_BY_FLAVOR,
    INSTANCES_BY_GROUP,
    INSTANCES_BY_HOST,
    INSTANCES_BY_PROJECT,
    INSTANCES_BY_STATE,
    INSTANCES_BY_LEAVING_HOST,
    RELOCATING_INSTANCES_BY_GROUP,
    INSTANCES_BY_VACATED_HOST,
  ],
  invariants: INSTANCE_INVARIANTS,
};
