// What instances called otherwise in version 0.1.0, and what documents of then become.
import { renameReasons, renameValue, type Migration, type Renames } from '../fleet/index.ts';

const MOVE_STEPS: Renames = { 'ask-target': 'query-target' };

export const INSTANCE_MIGRATIONS: readonly Migration[] = [
  // No other kind has a step of that name.
  { kind: 'item', migrate: (doc) => renameValue(doc, 'step', MOVE_STEPS) },
  ...renameReasons({
    'host-not-heard': 'host-not-connected',
    'source-not-heard': 'source-not-connected',
    'target-not-heard': 'target-not-connected',
    'target-unasked': 'migration-outcome-unknown',
  }),
];
