// Deciding on services inside a commit: made with their subject, elected, handed over, withdrawn, and removed with it. One
// function for the controller and for whoever empties a host, so that both may do it and nothing is done twice.
import { mark, put, remove, valueOf, type Change, type FleetReader } from '../fleet/index.ts';
import { allSteps } from '../hosts/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type OperationId } from '../operations/index.ts';
import { Poll } from './candidates.ts';
import { handOverRoom } from './hand-over-room.ts';
import { SERVICE, type Service, type ServiceId, type StoredService } from './model.ts';
import {
  designatedTo,
  flagged,
  goingBack,
  handOvers,
  isPassing,
  withdrawn,
  withoutHandOver,
  type Passing,
  type Signed,
} from './passing.ts';
import { ELECTION } from './settings.ts';
import { withStandby } from './standby.ts';
import { verdictOn, type Circumstances, type Verdict } from './verdict.ts';
import { isWanted, subjectOf } from './wanted.ts';

export interface LookAtServices extends Circumstances {
  /** In any order; decided in the order of ids. */
  readonly services: readonly ServiceId[];
  /** Names the hand-overs that are begun, if any are. */
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly deadlineMs: number;
}

export interface Looked {
  /** What was done, by the ids of services. */
  readonly elected: readonly ServiceId[];
  readonly withdrawn: readonly ServiceId[];
  readonly begun: readonly ServiceId[];
  /** These are to be handed over as soon as others are done. */
  readonly postponed: readonly ServiceId[];
}

/** A look that was made before the commit that it is for. */
export interface LookedBefore extends Looked {
  readonly changes: readonly Change[];
  /** Where services go by it. */
  readonly targets: ReadonlyMap<ServiceId, string>;
  /** Whether it may still be committed. Which host is the best may be another by now. Costs what was looked at. */
  readonly holds: (fleet: FleetReader) => boolean;
}

/** What a look has come to so far. */
interface Doing {
  /** What is stored of each, when it was looked at. */
  readonly seen: { readonly id: ServiceId; readonly was: Service | undefined }[];
  readonly changes: Change[];
  /** What services are now, and what is stored of them. */
  readonly decided: { readonly id: ServiceId; readonly was: Service | undefined; readonly is: Service }[];
  readonly passing: Passing[];
  readonly elected: ServiceId[];
  readonly withdrawn: ServiceId[];
  readonly postponed: ServiceId[];
}

export function lookAtServices(fleet: FleetReader, command: LookAtServices): Decision<Looked> {
  const { changes, elected, withdrawn: gone, begun, postponed } = allSteps(lookInSteps(fleet, command));
  return accept(changes, { elected, withdrawn: gone, begun, postponed });
}

/** The same a service at a time, for who lets others have a turn in between. */
export function* lookInSteps(fleet: FleetReader, command: LookAtServices): Generator<undefined, LookedBefore> {
  const poll = new Poll(fleet, command.isUnheard);
  const doing: Doing = { seen: [], changes: [], decided: [], passing: [], elected: [], withdrawn: [], postponed: [] };
  for (const id of [...new Set(command.services)].sort()) {
    lookAt(poll, id, command, doing);
    yield;
  }
  const standbys = yield* withStandbys(poll, doing, command);
  const { passing, elected, withdrawn: gone, postponed } = doing;
  const begun = passing.map(({ service }) => service.id);
  return {
    changes: [...doing.changes, ...standbys, ...handOvers(passing, command)],
    elected,
    withdrawn: gone,
    begun,
    postponed,
    ...heldTo(poll, doing),
  };
}

/**
 * After all designations: whoever got one is loaded by it. While elections are held still, nobody else is chosen either. Nor is a standby
 * chosen by who does not know who is unheard: elections would take it back, and that one would choose it again, without end.
 */
function* withStandbys(
  poll: Poll,
  { decided: services }: Doing,
  command: LookAtServices,
): Generator<undefined, Change[]> {
  const isLeft = valueOf(poll.fleet, ELECTION).held || command.isUnheard === undefined;
  const changes: Change[] = [];
  for (const { id, was, is } of services) {
    const doc = isLeft ? is : withStandby(poll, is, command);
    if (doc !== was) changes.push(put(SERVICE, id, doc));
    yield;
  }
  return changes;
}

/** A host that was chosen although it leaves was chosen for want of a better one: only what is new speaks against it. */
function heldTo(poll: Poll, { seen, passing, decided: others }: Doing): Pick<LookedBefore, 'targets' | 'holds'> {
  const chosen = [
    ...passing.map(({ service: { id, doc }, to }) => ({ id, doc, to })),
    ...others.flatMap(({ id, was, is }) => {
      const to = is.designated?.host;
      return to === undefined || to === was?.designated?.host ? [] : [{ id, doc: is, to }];
    }),
  ].map((one) => ({ ...one, because: poll.rejectionOf(one.doc, one.to) }));
  const holds = (fleet: FleetReader): boolean => {
    const now = new Poll(fleet);
    const { held } = valueOf(fleet, ELECTION);
    if (passing.length > 0 && (held || passing.length > handOverRoom(fleet))) return false;
    if (!seen.every(({ id, was }) => fleet.get(SERVICE, id)?.doc === was)) return false;
    return chosen.every(({ doc, to, because }) => {
      const speaksAgainst = now.rejectionOf(doc, to);
      return speaksAgainst === undefined || speaksAgainst === because;
    });
  };
  return { targets: new Map(chosen.map(({ id, to }) => [id, to])), holds };
}

function lookAt(poll: Poll, id: ServiceId, command: LookAtServices, doing: Doing): void {
  const { fleet } = poll;
  const subject = subjectOf(id);
  const stored = fleet.get(SERVICE, id);
  doing.seen.push({ id, was: stored?.doc });
  const wanted = subject !== undefined && isWanted(fleet, subject);
  if (!wanted) {
    if (stored !== undefined) {
      poll.count(stored.doc, undefined);
      doing.changes.push(remove(SERVICE, id));
    }
    return;
  }
  const service = stored ?? { id, revision: 0, doc: newService(fleet, subject, command) };
  const clean = withoutOrphan(poll, service, command);
  const verdict: Verdict = valueOf(fleet, ELECTION).held ? { kind: 'keep' } : verdictOn(poll, clean, command);
  if (verdict.kind === 'hand-over') beginOrPostpone(fleet, clean, verdict, doing);
  const doc = verdict.kind === 'hand-over' ? clean.doc : decided(poll, clean, verdict, command);
  if (verdict.kind === 'elect') doing.elected.push(id);
  if (verdict.kind === 'withdraw') doing.withdrawn.push(id);
  const begins = doing.passing.at(-1)?.service === clean;
  if (!begins) doing.decided.push({ id, was: stored?.doc, is: doc });
}

/** A service made anew begins above every epoch that one of its name may have had. */
function newService(fleet: FleetReader, subject: Pick<Service, 'type' | 'subject'>, by: Signed): Service {
  return {
    ...subject,
    exclusion: 'soft',
    onControlLoss: 'move',
    epoch: fleet.revision,
    changedBy: by.by,
    changedAtMs: by.nowMs,
  };
}

/** A hand-over that nothing carries on: its operation has ended in a way that could not be written down. */
function withoutOrphan(poll: Poll, service: StoredService, by: Signed): StoredService {
  const { id, doc } = service;
  if (doc.handOver === undefined) return service;
  if (poll.fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, id)) > 0) return service;
  mark('hand-over-orphan');
  poll.count(doc, doc.designated?.host);
  return { ...service, doc: withoutHandOver(doc, by) };
}

function decided(
  poll: Poll,
  { doc }: StoredService,
  verdict: Exclude<Verdict, { kind: 'hand-over' }>,
  by: Signed,
): Service {
  switch (verdict.kind) {
    case 'keep':
      return doc;
    case 'elect':
      return designatedTo(poll.fleet, doc, verdict.choice, by);
    case 'withdraw':
      mark('service-withdrawn');
      poll.count(doc, undefined);
      return withdrawn(doc, by);
    case 'flag':
      return flagged(doc, verdict.degraded, by);
    case 'stay':
      return goingBack(doc, false, by);
  }
}

function beginOrPostpone(
  fleet: FleetReader,
  service: StoredService,
  { choice }: Extract<Verdict, { kind: 'hand-over' }>,
  { passing, postponed }: Doing,
): void {
  if (passing.length >= handOverRoom(fleet) || isPassing(fleet, service)) postponed.push(service.id);
  else passing.push({ service, to: choice.host, why: choice.why });
}
