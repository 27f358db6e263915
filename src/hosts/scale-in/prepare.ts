// Prepares start and end of many hosts in slices before their commit. The commit checks that the result still holds and must never plan
// itself: a plan for a thousand hosts would hold up everything else for most of a second.
import { NOT_PREPARED, notPrepared, type Authority, type RouteContext, type Write } from '../../access/index.ts';
import { mark, type Change, type FleetReader, type Refusal, type Steps } from '../../fleet/index.ts';
import { refuse, type Decision } from '../../journal/index.ts';
import type { StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { basisOf, isPlanBasisUnchanged } from '../preview/plan-basis.ts';
import { planInSlices, TRIES_MAX, fleetUnsettled, UNSETTLED, type Slices } from '../preview/plan-slices.ts';
import { leaversOf } from '../preview/leavers.ts';
import { planPinnedInSteps } from '../preview/preview.ts';
import { targetOf, type EvacuatorPlan } from '../preview/batch-plan.ts';
import { resolveNamedHosts, type ScaleInAnswer } from './answer.ts';
import { startHandoversInSteps, type PreparedHandovers } from './handover-start.ts';
import { assessEnd } from './end-verdict.ts';
import type { PreparedStart } from './start-plan.ts';
import {
  endScaleIn,
  startScaleIn,
  tombstoneHost,
  decideByTable,
  type EndScaleIn,
  type StartScaleIn,
  type HostVerdict,
} from './decide.ts';

/** A plan for this many tenants takes a few milliseconds. */
const TENANTS_PLANNED_HERE_MAX = 50;
/** Each is decided by at most about a hundred names. */
const HOSTS_CHECKED_HERE_MAX = 20;

/** By host id: the host's document then, and its blockers. */
export type KnownBlockers = ReadonlyMap<string, { readonly host: StoredHost; readonly verdict: HostVerdict }>;

/** A decision, and the preparation for when it is refused as not prepared. */
export interface PreparableDecision {
  readonly decide: (fleet: FleetReader) => Decision<ScaleInAnswer>;
  readonly prepare?: () => Promise<PreparableDecision | Refusal>;
}

export interface SlicingContext {
  readonly world: Pick<RouteContext, 'submit' | 'clock'>;
  readonly authority: Authority;
  readonly evacuators: readonly Evacuator[];
}

type CommandOf<C> = (fleet: FleetReader) => C;

/** An outdated plan is made again, a few times. Then a start that is bound to a plan is refused; others leave services to their drains. */
export function startInSlices(slicing: SlicingContext, commandOf: CommandOf<StartScaleIn>): PreparableDecision {
  return attemptStart(slicing, commandOf, { tries: 0 });
}

interface StartAttempt {
  readonly tries: number;
  readonly prepared?: PreparedStart | undefined;
}

function attemptStart(
  slicing: SlicingContext,
  commandOf: CommandOf<StartScaleIn>,
  { tries, prepared }: StartAttempt,
): PreparableDecision {
  const { evacuators } = slicing;
  const isLast = tries === TRIES_MAX;
  const decide = (fleet: FleetReader): Decision<ScaleInAnswer> => {
    const command = commandOf(fleet);
    const bounded = { ...command, plannedHereMax: TENANTS_PLANNED_HERE_MAX };
    const decision = startScaleIn(fleet, evacuators, prepared === undefined ? bounded : { ...bounded, prepared });
    if (!isLast || decision.kind === 'accept' || decision.refusal.code !== NOT_PREPARED) return decision;
    if (command.plan !== undefined) return refuse(fleetUnsettled());
    mark('start-leaves-services-to-drains');
    return startScaleIn(fleet, evacuators, { ...command, prepared: NOTHING_FIRST });
  };
  if (isLast) return { decide };
  const prepare = async (): Promise<PreparableDecision | Refusal> => {
    if (prepared !== undefined) mark('start-planned-anew');
    const steps = (slices: Slices): Steps<PreparedStart | undefined> =>
      prepareStart(slices, evacuators, commandOf(slices.fleet));
    const made = await planInSlices(slicing.world, slicing.authority, steps);
    if (!('code' in made)) return attemptStart(slicing, commandOf, { tries: tries + 1, prepared: made.plan });
    return made.code === UNSETTLED ? attemptStart(slicing, commandOf, { tries: TRIES_MAX }) : made;
  };
  return { decide, prepare };
}

const NOTHING_FIRST: PreparedStart = { first: [], isStillValid: () => true };

/** Undefined when there is nothing to prepare: the commit reports why. */
function* prepareStart(
  slices: Slices,
  evacuators: readonly Evacuator[],
  command: StartScaleIn,
): Steps<PreparedStart | undefined> {
  const { fleet } = slices;
  const { plan, prepared: _, ...request } = command;
  const hosts = leaversOf(fleet, command.hosts, command.site);
  if ('code' in hosts) return undefined;
  const ids = hosts.map(({ id }): string => id);
  // Changes from here on make it another plan.
  const basis = plan === undefined ? undefined : basisOf(fleet, evacuators, ids);
  const pinned =
    plan === undefined ? undefined : yield* planPinnedInSteps(slices, evacuators, { ...request, hosts, ...plan });
  const stands = (now: FleetReader, named: readonly string[]): boolean =>
    isSameList(ids, named) && (basis === undefined || isPlanBasisUnchanged(now, basis));
  if (pinned?.problem !== undefined) return { problem: pinned.problem, first: [], isStillValid: stands };
  const changes: Change[] = [];
  for (const host of hosts) {
    changes.push(...(tombstoneHost(fleet, host, command).changes ?? []));
    yield;
  }
  const started = yield* startHandoversInSteps(slices, evacuators, { ...request, hosts: ids, tombstones: changes });
  if (pinned !== undefined && !started.every((one) => isAsPlanned(one, pinned.planned))) return undefined;
  return {
    first: started.flatMap((one) => one.changes),
    isStillValid: (now, named) => stands(now, named) && started.every(({ isStillValid }) => isStillValid(now)),
  };
}

/** Services are chosen again when handovers start: a plan with other targets must not be the one that is carried out. */
function isAsPlanned({ evacuator, targets }: PreparedHandovers, planned: readonly EvacuatorPlan[]): boolean {
  const all = planned.find((one) => one.evacuator === evacuator)?.evacuating ?? [];
  const promised = new Map(all.map((one) => [one.tenant.id, targetOf(one)]));
  return [...targets].every(([id, to]) => promised.get(id) === to);
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, at) => id === other[at]);
}

/** Blocked hosts and their blockers are found in slices; the others are proven empty in the commit. */
export function endInSlices(slicing: SlicingContext, commandOf: CommandOf<EndScaleIn>): PreparableDecision {
  const { world, authority, evacuators } = slicing;
  const decide = (fleet: FleetReader, knownBlockers: KnownBlockers): Decision<ScaleInAnswer> =>
    endScaleIn(fleet, evacuators, { ...commandOf(fleet), knownBlockers });
  return {
    decide: (fleet) => {
      const command = commandOf(fleet);
      if (command.hosts.length > HOSTS_CHECKED_HERE_MAX && command.force === undefined) return notPrepared();
      return endScaleIn(fleet, evacuators, command);
    },
    prepare: async () => {
      const made = await planInSlices(world, authority, ({ fleet }) =>
        findBlocked(fleet, evacuators, commandOf(fleet)),
      );
      return 'code' in made ? made : { decide: (fleet) => decide(fleet, made.plan) };
    },
  };
}

function* findBlocked(fleet: FleetReader, evacuators: readonly Evacuator[], command: EndScaleIn): Steps<KnownBlockers> {
  const blocked = new Map<string, { readonly host: StoredHost; readonly verdict: HostVerdict }>();
  for (const named of resolveNamedHosts(fleet, command.hosts, command.site)) {
    const { host } = named;
    yield;
    if (host === undefined) continue;
    const verdict = decideByTable(named, 'end', () => assessEnd(fleet, evacuators, { host, command }));
    if (verdict.result === 'blocked') blocked.set(host.id, { host, verdict });
  }
  return blocked;
}

/** The write of a verb, and of the same verb with its preparation. */
export function preparableWrite(
  { decide, prepare }: PreparableDecision,
  writeOf: (decide: PreparableDecision['decide']) => Write<ScaleInAnswer>,
): Write<ScaleInAnswer> {
  const write = writeOf(decide);
  if (prepare === undefined) return write;
  return {
    ...write,
    prepare: async () => {
      const next = await prepare();
      return 'code' in next ? next : preparableWrite(next, writeOf);
    },
  };
}
