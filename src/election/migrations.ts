// What elections called otherwise in version 0.1.0, and what documents of then become.
import {
  migrateField,
  migrateReasons,
  renameFields,
  renameReasons,
  renameValue,
  type Migration,
  type Renames,
} from '../fleet/index.ts';
import { ELECTION } from './settings.ts';

const PHASES: Renames = { seeding: 'syncing', reseeding: 'resyncing' };
const STEPS: Renames = { seed: 'sync', reseed: 'resync', turn: 'redirect' };
const REJECTIONS: Renames = { unheard: 'bfd-down' };
const SETTING_FIELDS: Renames = {
  handOverDrainMs: 'handoverDrainMs',
  handOversAtOnce: 'handoversAtOnce',
  heartbeats: 'bfd',
  heartbeatMs: 'bfdIntervalMs',
};

const migrateWhy = (why: object): object =>
  migrateField(why, 'rejected', (one) => renameValue(one, 'because', REJECTIONS));

function migrateService(doc: object): object {
  const renamed = migrateField(renameFields(doc, { handOver: 'handover' }), 'why', migrateWhy);
  return migrateField(renamed, 'handover', (handover) =>
    migrateField(renameValue(handover, 'phase', PHASES), 'why', migrateWhy),
  );
}

/** Other kinds may have steps of the same names: only the items of handovers are about services. */
function migrateItem(doc: object): object {
  const { target } = doc as { readonly target?: { readonly kind?: unknown } };
  return target?.kind === 'service' ? renameValue(doc, 'step', STEPS) : doc;
}

/** Of a target with BFD down the reason named another host with BFD up. */
function migrateReason(reason: object): object {
  const { code, waitedFor, failedFor } = reason as Readonly<Record<string, unknown>>;
  const isOfTarget = [code, waitedFor, failedFor].includes('target-bfd-down');
  const renamed = isOfTarget ? renameFields(reason, { heard: 'alternative' }) : reason;
  return renameValue(renamed, 'because', REJECTIONS);
}

export const ELECTION_MIGRATIONS: readonly Migration[] = [
  { kind: 'service', migrate: migrateService },
  { kind: 'item', migrate: migrateItem },
  { kind: 'operation', migrate: (doc) => renameValue(doc, 'kind', { 'hand-over': 'handover' }) },
  {
    kind: 'setting',
    migrate: (doc, id) =>
      id === ELECTION.name ? migrateField(doc, 'value', (value) => renameFields(value, SETTING_FIELDS)) : doc,
  },
  ...renameReasons({
    'hand-over-drains': 'handover-drains',
    'hand-over-under-way': 'handover-under-way',
    'target-unheard': 'target-bfd-down',
    'held-while-heard': 'held-while-bfd-up',
  }),
  ...migrateReasons(migrateReason),
];
