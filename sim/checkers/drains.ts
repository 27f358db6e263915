// Leaving and returning hosts with a service that cannot be prepared elsewhere: what can leave does, and a host that comes back keeps what was
// not switched. Assessed by time, and only while nothing but such services is in the way.
import { ELECTION, isBeforeSwitch, SERVICE, type Service, type StoredService } from '../../src/election/index.ts';
import { idOf, valueOf, type AppliedChange, type Fleet } from '../../src/fleet/index.ts';
import { HOST, isTombstoned, type StoredHost } from '../../src/hosts/index.ts';
import {
  OPEN_ITEMS_BY_HOST,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Item,
} from '../../src/operations/index.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';
import { isEligible } from './designations.ts';
import { presenceOf } from './leaving.ts';
import { isDisturbed } from './readiness.ts';

/** Many times what a drain takes to look again, and what a handover takes to say that its target lacks something or to end. */
const OWN_STEPS_MS = 20_000;

type Held = readonly [what: string, sentence: string];

/** Reports each of what holds once it has held for longer than a healthy fleet needs, all of that time under one lease without a server's fault. */
function heldTooLong(find: (world: World, truth: Fleet) => readonly Held[]): Checker['watch'] {
  return (violated, world) => {
    const sinceMs = new Map<string, number>();
    let epoch = 0;
    return {
      onApplied: ({ truth, entry: { fence } }) => {
        const { nowMs } = world.scheduler;
        if (fence?.epoch !== epoch || world.servers.some(isServerDisturbed)) sinceMs.clear();
        epoch = fence?.epoch ?? 0;
        const held = new Map(find(world, truth));
        for (const what of [...sinceMs.keys()]) if (!held.has(what)) sinceMs.delete(what);
        for (const [what, sentence] of held) {
          const fromMs = sinceMs.get(what) ?? nowMs;
          sinceMs.set(what, fromMs);
          if (nowMs - fromMs > OWN_STEPS_MS) violated(`${sentence}, for ${nowMs - fromMs} ms`);
        }
      },
    };
  };
}

export function isServerDisturbed({
  incarnation,
  storeLink: { cut, slowMs, failPercent },
}: World['servers'][number]): boolean {
  return incarnation?.program.paused === true || cut || slowMs > 0 || failPercent > 0;
}

export const drainsAroundSick: Checker = {
  name: 'never: what can leave a host waits for a service that cannot be prepared',
  watch: heldTooLong((world, truth) => {
    if (valueOf(truth, ELECTION).held) return [];
    const leaving = [...truth.all(HOST)].filter(({ id, doc }) => doc.state === 'draining' && isCalm(world, truth, id));
    if (leaving.length === 0) return [];
    const sick = new Set(
      [...truth.all(SERVICE)].filter((service) => isSick(world, truth, service)).map(({ id }) => id),
    );
    if (sick.size === 0) return [];
    const mayBegin = hasBudget(truth, sick);
    return leaving.flatMap((host) => [
      ...heldInstances(truth, host, sick),
      ...(mayBegin ? heldServices(world, truth, host) : []),
    ]);
  }),
};

type Sick = ReadonlySet<string>;

/** Those that only wait use none of it. */
function hasBudget(truth: Fleet, sick: Sick): boolean {
  const atWork = [...truth.all(SERVICE)].filter(({ id, doc }) => doc.handover !== undefined && !sick.has(id));
  return atWork.length < valueOf(truth, ELECTION).handoversAtOnce;
}

/** Its target lacks something for it, and nothing else is wrong with that host. */
function isSick(world: World, truth: Fleet, { id, doc }: StoredService): boolean {
  const { handover } = doc;
  if (handover?.phase !== 'preparing' || !isEligible(truth, doc, handover.to)) return false;
  const target = world.machines.find(({ name }) => name === handover.to);
  return target?.unpreparable.has(id) === true && !isDisturbed(truth, target);
}

function isCalm({ machines }: World, truth: Fleet, host: string): boolean {
  const machine = machines.find(({ name }) => name === host);
  return machine !== undefined && !isDisturbed(truth, machine);
}

/** Its drain has not come to the instances, and all services that could leave it are such. One without another place ends with its host. */
function heldInstances(truth: Fleet, { id: host, doc }: StoredHost, sick: Sick): Held[] {
  if (doc.leaving?.drain !== true) return [];
  const here = [...truth.all(SERVICE)].filter((service) => service.doc.designated?.host === host);
  const couldLeave = here.filter((service) => [...presenceOf(truth, service.doc)].some((one) => one !== host));
  // What was switched, and waits for its peers, has not left it yet.
  const leaving = [...truth.find(OPEN_ITEMS_BY_HOST, host)].filter(
    ({ doc: { target } }) => target.kind === SERVICE.name,
  );
  const ids = [...couldLeave.map(({ id }): string => id), ...leaving.map((item) => item.doc.target.id)];
  if (ids.length === 0 || !ids.every((id) => sick.has(id))) return [];
  const items = [...truth.find(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, host))];
  if (items.find((item) => isDrain(truth, item.doc))?.doc.step !== 'handover') return [];
  return [[`drain ${host}`, `the drain of ${host} waits for ${[...new Set(ids)].join(', ')}`]];
}

function isDrain(truth: Fleet, { operation }: Item): boolean {
  return truth.get(OPERATION, idOf(OPERATION, operation))?.doc.kind === 'scale-in';
}

/** Another host could have it, and its handover has not begun. */
function heldServices(world: World, truth: Fleet, { id: host }: StoredHost): Held[] {
  return [...truth.all(SERVICE)].flatMap(({ id, doc }): Held[] => {
    if (doc.designated?.host !== host || doc.handover !== undefined) return [];
    const other = [...presenceOf(truth, doc)].find(
      (one) => one !== host && isEligible(truth, doc, one) && isCalm(world, truth, one),
    );
    return other === undefined ? [] : [[`service ${id}`, `${id} stays at leaving ${host}, and ${other} could have it`]];
  });
}

/** What began because a host was leaving ends when it leaves no more; what was switched by then is completed. */
export const recoversAroundSick: Checker = {
  name: 'never: a host that comes back waits for a service that was not switched, or is left for another target',
  watch: (violated, world) => {
    const late = heldTooLong((_world, truth) =>
      [...truth.all(SERVICE)].flatMap(({ id, doc }): Held[] => {
        const from = leftForNothing(truth, doc);
        return from === undefined ? [] : [[id, `the handover of ${id} goes on, and ${from} leaves no more`]];
      }),
    )(violated, world);
    return {
      onApplied: ({ truth, applied, entry }) => {
        for (const change of applied) {
          const to = newTargetOf(change);
          const from = to && leftForNothing(truth, change.after?.doc as Service);
          if (from !== undefined)
            violated(`${change.after?.id} is to leave ${from} for ${to}, and ${from} leaves no more`);
        }
        late.onApplied?.({ truth, applied, entry });
      },
    };
  },
};

/** The host that a handover takes a service from because it was leaving, though it leaves no more. */
function leftForNothing(truth: Fleet, { handover }: Service): string | undefined {
  if (handover === undefined || !isBeforeSwitch(handover) || handover.why.cause !== 'host-leaving') return undefined;
  const host = truth.get(HOST, idOf(HOST, handover.from))?.doc;
  return host === undefined || isTombstoned(host) || host.state === 'removed' ? undefined : handover.from;
}

function newTargetOf({ kind, before, after }: AppliedChange): string | undefined {
  if (kind !== SERVICE.name) return undefined;
  const [was, is] = [before, after].map((side) => (side?.doc as Service | undefined)?.handover);
  return was !== undefined && is?.operation === was.operation && is.to !== was.to ? is.to : undefined;
}
