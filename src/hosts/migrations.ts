// What hosts and their scale-in called otherwise in version 0.1.0, and what documents of then become.
import {
  migrateField,
  migrateReasons,
  renameReasons,
  renameValue,
  type Migration,
  type Renames,
} from '../fleet/index.ts';

const CAUSES_OF_QUARANTINE: Renames = { 'vouched-off': 'operator-fenced' };

/** Other kinds may have a step of the same name: only the items of scale-ins hand over what a host does. */
function migrateItem(doc: object): object {
  const { target } = doc as { readonly target?: { readonly kind?: unknown } };
  return target?.kind === 'host' ? renameValue(doc, 'step', { 'hand-over': 'handover' }) : doc;
}

export const HOST_MIGRATIONS: readonly Migration[] = [
  {
    kind: 'host',
    migrate: (doc) => migrateField(doc, 'quarantined', (one) => renameValue(one, 'because', CAUSES_OF_QUARANTINE)),
  },
  { kind: 'item', migrate: migrateItem },
  ...renameReasons({
    'agent-not-heard': 'agent-not-connected',
    'hand-over-budget': 'handover-budget',
    'hand-overs-under-way': 'handovers-under-way',
    'peer-not-heard': 'peer-not-connected',
  }),
  ...migrateReasons((reason) => renameValue(reason, 'because', CAUSES_OF_QUARANTINE)),
];
