// The model and the invariants of scale-in. Evacuators are a parameter: only they know what lives on a host. An invariant must cost what
// changed, not the fleet.
import { valueOf, type AppliedChange, type FleetReader, type Invariant, type Model } from '../../fleet/index.ts';
import { ITEM, type Item } from '../../operations/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, isTombstoned, type Host } from '../model.ts';
import { BUDGET_WAITERS, DRAIN_MOVES, hostDrainedBy, EVERY_MOVE, movesOff } from './moves.ts';
import { SCALE_IN } from './settings.ts';

export function scaleInModel(evacuators: readonly Evacuator[]): Model {
  return {
    kinds: [],
    indexes: [DRAIN_MOVES, BUDGET_WAITERS],
    invariants: [emptyWhenRemoved(evacuators), noStrays, staysRemoved, saysWhyItLeaves, withinBudgets],
  };
}

interface Step {
  readonly id: string;
  readonly was: Host | undefined;
  readonly is: Host | undefined;
}

function hostSteps(changed: readonly AppliedChange[]): Step[] {
  return changed.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== HOST.name || id === undefined) return [];
    return [{ id, was: before?.doc as Host | undefined, is: after?.doc as Host | undefined }];
  });
}

function emptyWhenRemoved(evacuators: readonly Evacuator[]): Invariant {
  const livesOn = (fleet: FleetReader, host: string): string[] =>
    evacuators.flatMap((one) => one.inventory(fleet, host)).map(({ kind, id }) => `${kind} ${id}`);
  return {
    name: 'never: a host is removed while something lives on it, unless it is forced with a reason',
    check: (changed, fleet) =>
      hostSteps(changed).flatMap(({ id, was, is }) => {
        if (is?.state !== 'removed' || was === undefined || was.state === 'removed') return [];
        // It never joined: references to it were left when it was removed by force before.
        if (was.state === 'joining' || was.readmitted === true) return [];
        if (is.leaving?.forced !== undefined) return [];
        return livesOn(fleet, id).map((tenant) => `host ${id} is removed with ${tenant}`);
      }),
  };
}

/** The strays that its agent reported last are evidence against removal, whoever owns them. */
const noStrays: Invariant = {
  name: 'never: a host goes past the point of no return with strays, unless it is forced with a reason',
  check: (changed) =>
    hostSteps(changed).flatMap(({ id, was, is }) => {
      const goes = is?.state === 'finalizing' && was?.state !== 'finalizing';
      if (!goes || is.strays === undefined || is.leaving?.forced !== undefined) return [];
      return [`host ${id} goes with ${is.strays.names.join()}`];
    }),
};

const staysRemoved: Invariant = {
  name: 'never: a removed host comes back by itself, or is deleted',
  check: (changed) =>
    hostSteps(changed).flatMap(({ id, was, is }) => {
      if (was?.state !== 'removed') return [];
      if (is === undefined) return [`host ${id} is deleted`];
      const isKnown = is.connection.state !== 'unknown' || is.credential !== undefined;
      return isKnown ? [`host ${id} is ${is.state} and ${is.connection.state}`] : [];
    }),
};

const saysWhyItLeaves: Invariant = {
  name: 'never: a host leaves without its scale-in recorded, or is in service with one',
  check: (changed) =>
    hostSteps(changed).flatMap(({ id, is }) => {
      if (is === undefined || is.state === 'removed') return [];
      const isLeaving = isTombstoned(is) || is.state === 'recovering';
      return isLeaving === (is.leaving !== undefined) ? [] : [`host ${id} is ${is.state}`];
    }),
};

/** Checked for moves that begin: a lowered budget does not stop open ones. */
const withinBudgets: Invariant = {
  name: 'never: drains begin more moves than their budgets allow',
  check: (changed, fleet) => {
    const hosts = changed.flatMap(({ kind, before, after }) =>
      kind === ITEM.name && before === undefined ? (hostDrainedBy(after?.doc as Item) ?? []) : [],
    );
    if (hosts.length === 0) return [];
    const { movesAtOnce, movesPerHostAtOnce } = valueOf(fleet, SCALE_IN);
    const over = [...new Set(hosts)].filter((host) => movesOff(fleet, host) > movesPerHostAtOnce);
    const all = fleet.countOf(DRAIN_MOVES, EVERY_MOVE);
    return [
      ...over.map((host) => `${movesOff(fleet, host)} moves off host ${host}`),
      ...(all > movesAtOnce ? [`${all} moves in all`] : []),
    ];
  },
};
