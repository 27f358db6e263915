// What must never be untrue of managers.
import type { Invariant } from '../../fleet/index.ts';
import { MANAGER, MANAGER_TRANSITIONS, type Manager } from '../model.ts';

const legalTransitions: Invariant = {
  name: 'never: a manager takes a step that its table does not have',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== MANAGER.name || before === undefined || after === undefined) return [];
      const [from, to] = [(before.doc as Manager).state, (after.doc as Manager).state];
      return MANAGER_TRANSITIONS[from].includes(to) ? [] : [`manager/${after.id}: ${from} to ${to}`];
    }),
};

const epochNeverFalls: Invariant = {
  name: 'never: the lease epoch of a manager falls, or stays when another process is the manager',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== MANAGER.name || before === undefined || after === undefined) return [];
      const [from, to] = [before.doc as Manager, after.doc as Manager];
      const grows = to.leaseEpoch > from.leaseEpoch;
      const isSame = to.leaseEpoch === from.leaseEpoch && to.holder === from.holder;
      return grows || isSame ? [] : [`manager/${after.id}: lease epoch ${from.leaseEpoch} to ${to.leaseEpoch}`];
    }),
};

const stateSaysWhetherItDrains: Invariant = {
  name: 'never: a manager on duty is live and to be drained, or draining without being so',
  check: (changed) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== MANAGER.name || after === undefined) return [];
      const { state, draining } = after.doc as Manager;
      const isWrong = (state === 'live' && draining !== undefined) || (state === 'draining' && draining === undefined);
      return isWrong ? [`manager/${after.id} is ${state}`] : [];
    }),
};

export const MANAGER_INVARIANTS: readonly Invariant[] = [legalTransitions, epochNeverFalls, stateSaysWhetherItDrains];
