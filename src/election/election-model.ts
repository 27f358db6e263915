// The model of this module: documents, indexes, projections and invariants of elections.
import type { Model } from '../fleet/index.ts';
import { ELECTION_INVARIANTS } from './invariants.ts';
import { HANDOVERS_BLOCKED } from './handover/budget.ts';
import {
  SERVICE,
  SERVICES_BY_ORIGIN,
  SERVICES_BY_STANDBY,
  SERVICES_BY_SUBJECT,
  SERVICES_IN_HANDOVER,
  SERVICES_TOUCHING_HOST,
} from './model.ts';
import { STANDINGS } from './standings.ts';
import { ELECTION_MIGRATIONS } from './migrations.ts';

export const electionModel: Model = {
  migrations: ELECTION_MIGRATIONS,
  kinds: [SERVICE],
  indexes: [
    SERVICES_TOUCHING_HOST,
    SERVICES_BY_STANDBY,
    SERVICES_BY_SUBJECT,
    SERVICES_BY_ORIGIN,
    SERVICES_IN_HANDOVER,
    HANDOVERS_BLOCKED,
  ],
  projections: [STANDINGS],
  invariants: ELECTION_INVARIANTS,
};
