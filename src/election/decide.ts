// Decides on services inside a commit: created and removed with their subject, elected, handed over, withdrawn. The controller and drains use
// the same function, so that either may act first and nothing is done twice.
import { mark, put, remove, valueOf, type Change, type FleetReader } from '../fleet/index.ts';
import { runAllSteps } from '../hosts/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type OperationId } from '../operations/index.ts';
import { ElectionContext } from './candidates.ts';
import { handoverBudget } from './handover/budget.ts';
import { SERVICE, type Service, type ServiceId, type StoredService } from './model.ts';
import {
  designate,
  setDegraded,
  setFailBackPending,
  beginHandovers,
  isHandoverActive,
  withdrawDesignation,
  clearHandover,
  type PlannedHandover,
  type Authorship,
} from './designation.ts';
import { ELECTION } from './settings.ts';
import { assignStandby } from './standby.ts';
import { assessService, type ElectionInput, type ElectionVerdict } from './verdict.ts';
import { isDesired, subjectOf } from './desired-services.ts';

export interface ReconcileServices extends ElectionInput {
  /** In any order; decided in the order of ids. */
  readonly services: readonly ServiceId[];
  /** Names the handovers that begin, if any. */
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly deadlineMs: number;
}

export interface ReconcileSummary {
  /** The outcome, by service id. */
  readonly elected: readonly ServiceId[];
  readonly withdrawn: readonly ServiceId[];
  readonly started: readonly ServiceId[];
  /** Services to hand over once the budget allows. */
  readonly postponed: readonly ServiceId[];
}

/** A reconciliation that was decided before its commit. */
export interface PreparedReconcile extends ReconcileSummary {
  readonly changes: readonly Change[];
  /** The target hosts of services in it. */
  readonly targets: ReadonlyMap<ServiceId, string>;
  /** Whether it may still be committed. Another host may be the best by now. Costs O(services reconciled). */
  readonly isStillValid: (fleet: FleetReader) => boolean;
}

/** Intermediate result of a pass. */
interface ReconcileProgress {
  /** The stored document of each service when it was decided. */
  readonly seen: { readonly id: ServiceId; readonly was: Service | undefined }[];
  readonly changes: Change[];
  /** The services as decided so far, and their stored documents. */
  readonly decided: { readonly id: ServiceId; readonly was: Service | undefined; readonly is: Service }[];
  readonly handovers: PlannedHandover[];
  readonly elected: ServiceId[];
  readonly withdrawn: ServiceId[];
  readonly postponed: ServiceId[];
}

export function reconcileServices(fleet: FleetReader, command: ReconcileServices): Decision<ReconcileSummary> {
  const { changes, elected, withdrawn, started, postponed } = runAllSteps(reconcileServicesInSteps(fleet, command));
  return accept(changes, { elected, withdrawn, started, postponed });
}

/** The same one service at a time, so that other deciders run in between. */
export function* reconcileServicesInSteps(
  fleet: FleetReader,
  command: ReconcileServices,
): Generator<undefined, PreparedReconcile> {
  const context = new ElectionContext(fleet, command.isBfdDownByMajority);
  const doing: ReconcileProgress = {
    seen: [],
    changes: [],
    decided: [],
    handovers: [],
    elected: [],
    withdrawn: [],
    postponed: [],
  };
  for (const id of [...new Set(command.services)].sort()) {
    reconcileService(context, id, command, doing);
    yield;
  }
  const standbys = yield* assignStandbys(context, doing, command);
  const { handovers, elected, withdrawn, postponed } = doing;
  const started = handovers.map(({ service }) => service.id);
  return {
    changes: [...doing.changes, ...standbys, ...beginHandovers(handovers, command)],
    elected,
    withdrawn,
    started,
    postponed,
    ...captureValidity(context, doing),
  };
}

/**
 * After all designations, since each adds to the load of its host. While elections are held, no standby is chosen either. Nor does a caller
 * without BFD reports choose one: elections would revert it, and that caller would choose it again, without end.
 */
function* assignStandbys(
  context: ElectionContext,
  { decided: services }: ReconcileProgress,
  command: ReconcileServices,
): Generator<undefined, Change[]> {
  const isLeft = valueOf(context.fleet, ELECTION).held || command.isBfdDownByMajority === undefined;
  const changes: Change[] = [];
  for (const { id, was, is } of services) {
    const doc = isLeft ? is : assignStandby(context, is, command);
    if (doc !== was) changes.push(put(SERVICE, id, doc));
    yield;
  }
  return changes;
}

/** A leaving host was chosen because there was no better one: only a new rejection counts against it. */
function captureValidity(
  context: ElectionContext,
  { seen, handovers, decided: others }: ReconcileProgress,
): Pick<PreparedReconcile, 'targets' | 'isStillValid'> {
  const chosen = [
    ...handovers.map(({ service: { id, doc }, to }) => ({ id, doc, to })),
    ...others.flatMap(({ id, was, is }) => {
      const to = is.designated?.host;
      return to === undefined || to === was?.designated?.host ? [] : [{ id, doc: is, to }];
    }),
  ].map((one) => ({ ...one, because: context.rejectionOf(one.doc, one.to) }));
  const isStillValid = (fleet: FleetReader): boolean => {
    const now = new ElectionContext(fleet);
    const { held } = valueOf(fleet, ELECTION);
    if (handovers.length > 0 && (held || handovers.length > handoverBudget(fleet))) return false;
    if (!seen.every(({ id, was }) => fleet.get(SERVICE, id)?.doc === was)) return false;
    return chosen.every(({ doc, to, because }) => {
      const speaksAgainst = now.rejectionOf(doc, to);
      return speaksAgainst === undefined || speaksAgainst === because;
    });
  };
  return { targets: new Map(chosen.map(({ id, to }) => [id, to])), isStillValid };
}

function reconcileService(
  context: ElectionContext,
  id: ServiceId,
  command: ReconcileServices,
  doing: ReconcileProgress,
): void {
  const { fleet } = context;
  const subject = subjectOf(id);
  const stored = fleet.get(SERVICE, id);
  doing.seen.push({ id, was: stored?.doc });
  const wanted = subject !== undefined && isDesired(fleet, subject);
  if (!wanted) {
    if (stored !== undefined) {
      context.recordChoice(stored.doc, undefined);
      doing.changes.push(remove(SERVICE, id));
    }
    return;
  }
  const service = stored ?? { id, revision: 0, doc: newService(fleet, subject, command) };
  const clean = dropOrphanedHandover(context, service, command);
  const verdict: ElectionVerdict = valueOf(fleet, ELECTION).held
    ? { kind: 'keep' }
    : assessService(context, clean, command);
  if (verdict.kind === 'handover') beginOrPostpone(fleet, clean, verdict, doing);
  const doc = verdict.kind === 'handover' ? clean.doc : applyVerdict(context, clean, verdict, command);
  if (verdict.kind === 'elect') doing.elected.push(id);
  if (verdict.kind === 'withdraw') doing.withdrawn.push(id);
  const begins = doing.handovers.at(-1)?.service === clean;
  if (!begins) doing.decided.push({ id, was: stored?.doc, is: doc });
}

/** A new service begins above every epoch that a former one with its name may have had. */
function newService(fleet: FleetReader, subject: Pick<Service, 'type' | 'subject'>, by: Authorship): Service {
  return {
    ...subject,
    exclusion: 'soft',
    onControlLoss: 'move',
    epoch: fleet.revision,
    changedBy: by.by,
    changedAtMs: by.nowMs,
  };
}

/** A handover without an operation: its operation ended in a way that could not be recorded. */
function dropOrphanedHandover(context: ElectionContext, service: StoredService, by: Authorship): StoredService {
  const { id, doc } = service;
  if (doc.handover === undefined) return service;
  if (context.fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, id)) > 0) return service;
  mark('handover-orphan');
  context.recordChoice(doc, doc.designated?.host);
  return { ...service, doc: clearHandover(doc, by) };
}

function applyVerdict(
  context: ElectionContext,
  { doc }: StoredService,
  verdict: Exclude<ElectionVerdict, { kind: 'handover' }>,
  by: Authorship,
): Service {
  switch (verdict.kind) {
    case 'keep':
      return doc;
    case 'elect':
      return designate(context.fleet, doc, verdict.choice, by);
    case 'withdraw':
      mark('service-withdrawn');
      context.recordChoice(doc, undefined);
      return withdrawDesignation(doc, by);
    case 'flag':
      return setDegraded(doc, verdict.degraded, by);
    case 'stay':
      return setFailBackPending(doc, false, by);
  }
}

function beginOrPostpone(
  fleet: FleetReader,
  service: StoredService,
  { choice }: Extract<ElectionVerdict, { kind: 'handover' }>,
  { handovers, postponed }: ReconcileProgress,
): void {
  if (handovers.length >= handoverBudget(fleet) || isHandoverActive(fleet, service)) postponed.push(service.id);
  else handovers.push({ service, to: choice.host, why: choice.why });
}
