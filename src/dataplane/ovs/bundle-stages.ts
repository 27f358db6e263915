// Splits changes into bundles that must be in force one after the other. A packet whose connection is looked up passes the tables in two
// halves, and the switch caches the halves apart: for a moment after a change, the halves of one packet may come from before and after it.
// So flows that a second half begins with are added before a first half leads to them, and removed after none does any more.
import type { Mod } from './openflow/mods.ts';
import { RECIRCULATED_TABLES } from '../switch/tables.ts';
import { groupsIn } from '../switch/flow-syntax.ts';

/** One after the other; each must be in force before the next. */
export function stageBundles(mods: readonly Mod[]): readonly (readonly Mod[])[] {
  const stages: [Mod[], Mod[], Mod[]] = [[], [], []];
  const groups = findRecirculatedGroups(mods);
  const removesRecirculated = mods.some((mod) => mod.kind === 'remove-flow' && isRecirculated(mod));
  for (const mod of mods) stages[stageOf(mod, { groups, removesRecirculated })].push(mod);
  return stages.filter((turn) => turn.length > 0);
}

interface StageContext {
  /** The flows that second halves lead to from now on. */
  readonly groups: ReadonlySet<number>;
  /** Whether flows of second halves are removed. */
  readonly removesRecirculated: boolean;
}

function stageOf(mod: Mod, { groups, removesRecirculated }: StageContext): 0 | 1 | 2 {
  switch (mod.kind) {
    case 'put-flow':
      return isRecirculated(mod) ? 0 : 1;
    case 'put-group':
      return groups.has(mod.group.id) ? 0 : 1;
    case 'remove-flow':
      return isRecirculated(mod) ? 2 : 1;
    // Removing a group also removes the flows that use it.
    case 'remove-group':
      return removesRecirculated ? 2 : 1;
  }
}

function findRecirculatedGroups(mods: readonly Mod[]): ReadonlySet<number> {
  return new Set(
    mods.flatMap((mod) => (mod.kind === 'put-flow' && isRecirculated(mod) ? groupsIn(mod.flow.actions) : [])),
  );
}

function isRecirculated({ flow }: Extract<Mod, { readonly kind: 'put-flow' | 'remove-flow' }>): boolean {
  return RECIRCULATED_TABLES.has(flow.table);
}
