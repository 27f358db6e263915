// What instances called otherwise in version 0.1.0, and what documents of then become.
import { renameReasons, type Migration } from '../fleet/index.ts';

export const INSTANCE_MIGRATIONS: readonly Migration[] = renameReasons({
  'host-not-heard': 'host-not-connected',
  'source-not-heard': 'source-not-connected',
  'target-not-heard': 'target-not-connected',
  'target-unasked': 'migration-outcome-unknown',
});
