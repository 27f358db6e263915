// What may become of a worker, one function a transition. No other code changes the state, the cordon or the work of a worker: here the state table is kept, and
// what an operator had cordoned stays known until the cordon is taken back.
import type { Id, Stored, ChangeNote } from '../../fleet/index.ts';
import { WORKER_TRANSITIONS, type DrainPolicy, type MachineKey, type Worker, type WorkerState } from '../model.ts';

export type StoredWorker = Stored<'worker', Worker>;

export interface AssignWork extends ChangeNote {
  readonly operation: Id<'operation'>;
  readonly policy?: DrainPolicy;
  readonly keepsInstance?: true;
}

/** An operation takes it in hand. */
export function assignWork(worker: Worker, { operation, policy, keepsInstance, ...change }: AssignWork): Worker {
  const how = { ...(policy !== undefined && { policy }), ...(keepsInstance !== undefined && { keepsInstance }) };
  return { ...worker, work: { operation, ...how }, ...noteAuthor(change) };
}

/** It is being built, by the name of the Node. */
export function assignInstance(worker: Worker, instance: string, change: ChangeNote): Worker {
  return { ...worker, instance, ...noteAuthor(change) };
}

/** Its instance runs. */
export function beginJoining(worker: Worker, change: ChangeNote): Worker {
  return moveTo(worker, 'joining', change);
}

/** Its turn has come: from now on its time runs. */
export function limitJoin(worker: Worker, joinByMs: number, change: ChangeNote): Worker {
  const { work } = worker;
  if (work === undefined) throw new Error(`worker ${worker.cluster}.${worker.node} is in nobody's hands`);
  return { ...worker, work: { ...work, joinByMs }, ...noteAuthor(change) };
}

export function rememberMachine(worker: Worker, machineKey: MachineKey, change: ChangeNote): Worker {
  return { ...worker, machineKey, ...noteAuthor(change) };
}

/** Its Node was seen Ready, and says that it is this worker's. */
export function finishJoin(worker: Worker, nodeUid: string, change: ChangeNote): Worker {
  const seen = { nodeUid, readiness: 'ready' as const };
  const since = worker.readiness === 'ready' ? {} : { readinessSinceMs: change.nowMs };
  const { forced: _, ...joined } = endWork(moveTo(worker, 'in-service', change), change);
  return { ...joined, ...seen, ...since };
}

export interface SeenMarks {
  readonly isUnschedulable: boolean;
  readonly isExcludedFromLoadBalancers: boolean;
}

/** The marks of its Node before they are changed. Of a cordon that is there already they are known; whoever made one before it may have taken it back since. */
export function beginCordon(worker: Worker, seen: SeenMarks, change: ChangeNote): Worker {
  const { cordon, work } = worker;
  if (work === undefined) throw new Error(`worker ${worker.cluster}.${worker.node} is in nobody's hands`);
  const wasUnschedulable = seen.isUnschedulable && cordon?.wasUnschedulable !== false;
  const wasExcluded = seen.isExcludedFromLoadBalancers && cordon?.wasExcluded !== false;
  return {
    ...moveTo(worker, 'draining', change),
    cordon: { operation: work.operation, atMs: change.nowMs, wasUnschedulable, wasExcluded, isConfirmed: false },
  };
}

/** The cluster was read back, and shows it. What had to be made was taken back by whoever had made it before: it is ours now. */
export function confirmCordon(worker: Worker, made: Partial<SeenMarks> & ChangeNote): Worker {
  const { cordon } = worker;
  if (cordon === undefined) throw new Error(`worker ${worker.cluster}.${worker.node} has no cordon`);
  const wasUnschedulable = cordon.wasUnschedulable && made.isUnschedulable !== true;
  const wasExcluded = cordon.wasExcluded && made.isExcludedFromLoadBalancers !== true;
  return { ...worker, cordon: { ...cordon, wasUnschedulable, wasExcluded, isConfirmed: true }, ...noteAuthor(made) };
}

export function finishDrain(worker: Worker, change: ChangeNote): Worker {
  return moveTo(worker, 'drained', change);
}

/** Nothing is done with it any more. */
export function endWork(worker: Worker, change: ChangeNote): Worker {
  const { work: _, ...rest } = worker;
  return { ...rest, ...noteAuthor(change) };
}

export interface BeginLeaving {
  readonly nowMs: number;
  /** It may be evicted from at once. */
  readonly hasTurn: boolean;
}

/** Its host leaves, and a drain of it begins, perhaps once more. */
export function beginLeaving(worker: Worker, { nowMs, hasTurn }: BeginLeaving): Worker {
  const { sinceMs = nowMs, attempts = 0 } = worker.leaving ?? {};
  return { ...worker, leaving: { sinceMs, attempts: attempts + 1, ...(hasTurn && { turnAtMs: nowMs }) } };
}

export function takeTurn(worker: Worker, change: ChangeNote): Worker {
  const { leaving } = worker;
  if (leaving === undefined) throw new Error(`worker ${worker.cluster}.${worker.node} does not leave`);
  return { ...worker, leaving: { ...leaving, turnAtMs: change.nowMs }, ...noteAuthor(change) };
}

function loseTurn(worker: Worker): Worker {
  if (worker.leaving === undefined) return worker;
  const { turnAtMs: _, ...leaving } = worker.leaving;
  return { ...worker, leaving };
}

/** Whatever becomes of it now, it is not because its host leaves. */
export function endLeaving(worker: Worker): Worker {
  const { leaving: _, ...rest } = worker;
  return rest;
}

export interface ResumeService extends ChangeNote {
  /** It leaves with its host all the same, later. */
  readonly keepsLeaving: boolean;
}

/** Its cordon was taken back. */
export function resumeService(worker: Worker, { keepsLeaving, ...change }: ResumeService): Worker {
  const ended = endWork(worker, change);
  const { cordon: _, forced, ...without } = keepsLeaving ? loseTurn(ended) : endLeaving(ended);
  // One whose instance was deleted is given back by cancels only, and stays without it.
  const rest: Worker = { ...without, ...(forced?.disruption === 'delete' && { forced }) };
  return rest.state === 'in-service' ? rest : moveTo(rest, 'in-service', change);
}

export interface AdoptAgain extends ChangeNote {
  readonly nodeUid: string;
  readonly readiness: Worker['readiness'];
  readonly instance?: string;
}

/** An operator says that the Node that has its name now is this worker's. What was begun with the one before is over. */
export function adoptAgain(worker: Worker, { nodeUid, readiness, instance, ...change }: AdoptAgain): Worker {
  const { providerId: _, isControlPlane: __, ...resumed } = resumeService(worker, { ...change, keepsLeaving: false });
  return {
    ...{ ...resumed, nodeUid, readiness, readinessSinceMs: change.nowMs, isAdopted: true },
    ...(instance !== undefined && { instance }),
  };
}

/** Its machine is lost: it joins again from the beginning. */
export function loseMachine(worker: Worker, change: ChangeNote): Worker {
  const { cordon: _, ...rest } = endLeaving(worker);
  return moveTo(rest, 'joining', change);
}

/** By what its Node says that it is this worker's, where Muster has it join for the first time. */
export function nameProvider(worker: Worker): Worker {
  return { providerId: `muster:///${worker.cluster}/${worker.node}`, ...worker };
}

/** Its Node was deleted: the next of that name is its own, too. */
export function forgetNode(worker: Worker, change: ChangeNote): Worker {
  const { nodeUid: _, ...rest } = worker;
  return { ...rest, readiness: 'missing', readinessSinceMs: change.nowMs, ...noteAuthor(change) };
}

export interface ForceNote extends ChangeNote {
  readonly disruption: NonNullable<Worker['forced']>['disruption'];
}

/** An operator has its instance deleted, moved or stopped without a drain. One that is deleted is not its instance any more, and nothing else of that name is. */
export function recordForced(worker: Worker, { disruption, ...change }: ForceNote): Worker {
  const forced = { disruption, by: change.by, atMs: change.nowMs };
  const { instance, ...rest } = worker;
  const kept = disruption === 'delete' || instance === undefined ? {} : { instance };
  return { ...rest, ...kept, forced, ...noteAuthor(change) };
}

/** From here on its Node and its instance go. */
export function beginRemoval(worker: Worker, change: ChangeNote): Worker {
  return moveTo(worker, 'removing', change);
}

function moveTo(worker: Worker, to: WorkerState, change: ChangeNote): Worker {
  const { state } = worker;
  if (!WORKER_TRANSITIONS[state].includes(to))
    throw new Error(`worker ${worker.cluster}.${worker.node} cannot go from ${state} to ${to}`);
  const since = state === to ? {} : { stateSinceMs: change.nowMs };
  return { ...worker, state: to, ...since, ...noteAuthor(change) };
}

function noteAuthor({ by, nowMs }: ChangeNote): Pick<Worker, 'changedBy' | 'changedAtMs'> {
  return { changedBy: by, changedAtMs: nowMs };
}
