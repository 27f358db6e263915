// The steps of a build on bare metal that change its instance: a manager is assigned, the deploy begins, a try fails, the build ends. Each is one commit.
import { idOf, mark, put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import {
  INSTANCE,
  portsOf,
  releaseHoldings,
  type Attempt,
  type Instance,
  type StoredInstance,
} from '../../instances/index.ts';
import { PORT, unbindPort } from '../../network/index.ts';
import {
  expectUnchanged,
  fail,
  ITEM,
  record,
  shortenText,
  type Progress,
  type RecordStep,
  type StoredItem,
  type TaskAnswer,
} from '../../operations/index.ts';
import { NODE, type NodeFault, type Reservation } from '../model.ts';
import { beginDeploy, finishDeploy } from '../nodes/transitions.ts';
import { editLastAttempt } from './build-reservation.ts';
import { BUILD_KIND, RESERVE_STEP } from './names.ts';
import { nodeOfBuild, nodeOfInstance, requireNode } from './node-of.ts';
import { pickManager } from './pick-manager.ts';
import { stepReason } from './step-facts.ts';
import { beginTeardown, type TeardownFinisher } from './teardown.ts';

export const BUILDER = `operation:${BUILD_KIND}`;

export const CONNECT_STEP = 'connect';
export const DEPLOY_STEP = 'deploy';

export interface BuildParts {
  readonly item: StoredItem;
  readonly instance: StoredInstance;
}

/** The item and its instance as a decision finds them; undefined once the build has come to an end otherwise. */
export function loadBuild(fleet: FleetReader, id: string): BuildParts | undefined {
  const item = fleet.get(ITEM, idOf(ITEM, id));
  const instance = item && fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  return item === undefined || instance?.doc.state !== 'building' ? undefined : { item, instance };
}

/** The instance is not this build's any more: deleted meanwhile, or failed by a deadline. */
export function endSuperseded(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const { id } = item.doc.target;
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: id });
  const { state, fault } = instance.doc;
  if (state === 'deleting') return fail(item, { code: 'instance-deleted', instance: id });
  if (state === 'active') return record(item, { state: 'done', step: item.doc.step });
  const { code = 'given-up', message = 'The build failed.' } = fault ?? {};
  return fail(item, { code, instance: id, message });
}

/** A manager that reserves a node for it: the first, or another one because the one before is gone. That is no failed try. */
export function assignManager(fleet: FleetReader, id: string, nowMs: number): readonly RecordStep[] {
  const build = loadBuild(fleet, id);
  const manager = pickManager(fleet);
  if (build === undefined || manager === undefined) return [];
  const { item, instance } = build;
  const { doc } = instance;
  const last = doc.attempts.at(-1);
  const isOpen = last !== undefined && last.fault === undefined;
  if (isOpen) mark('baremetal-build-reassigned');
  const attempts: Attempt[] = isOpen
    ? editLastAttempt(doc, { manager })
    : [...doc.attempts, { nth: doc.attempts.length + 1, manager, pools: [], atMs: nowMs }];
  const changes = [putInstance(instance, { ...doc, attempts }, nowMs)];
  const progress = { state: 'running', step: RESERVE_STEP, attempt: item.doc.attempt + 1, assignee: manager } as const;
  return [record(item, progress, { changes, expects: [expectUnchanged(INSTANCE, instance)] })];
}

/** The instance has its node. From this commit on there may be something of it on the machine. */
export function beginOnMachine(fleet: FleetReader, id: string, nowMs: number): readonly RecordStep[] {
  const build = loadBuild(fleet, id);
  const node = build && nodeOfBuild(fleet, build.item);
  if (build === undefined || node === undefined) return [];
  const { item, instance } = build;
  // A manager that deployed without a task has been faster: the build goes its way all the same, and looks at the machine.
  const isDeployed = node.doc.state === 'active';
  const changes = isDeployed ? [] : [put(NODE, node.id, requireNode(beginDeploy(node, { by: BUILDER, nowMs })))];
  const step = instance.doc.nics.length > 0 ? CONNECT_STEP : DEPLOY_STEP;
  return [record(item, machineProgress(item, step, stepReason(step, node)), { changes })];
}

/** Attempts are counted over all steps: an answer to an earlier task never counts for a later one. */
function machineProgress(item: StoredItem, step: string, reason: Reason): Progress {
  return { state: 'running', step, attempt: item.doc.attempt + 1, assignee: null, reason };
}

export function handleMachineAnswer(
  fleet: FleetReader,
  { item, instance }: BuildParts,
  answer: TaskAnswer,
  nowMs: number,
): RecordStep {
  const node = nodeOfInstance(fleet, instance.id);
  if (node === undefined) throw new Error(`instance ${instance.id} is built on no node`);
  if (answer.outcome === 'failed') return failAttempt(fleet, { item, instance }, failureOf(item, answer), nowMs);
  if (item.doc.step === CONNECT_STEP)
    return record(item, machineProgress(item, DEPLOY_STEP, stepReason(DEPLOY_STEP, node)));
  const { fault: _, ...rest } = instance.doc;
  const doc: Instance = { ...rest, state: 'active', wasActive: true, power: 'on' };
  const changes = [
    putInstance(instance, doc, nowMs),
    put(NODE, node.id, requireNode(finishDeploy(node, { by: BUILDER, nowMs }))),
  ];
  return record(item, { state: 'done', step: DEPLOY_STEP }, { changes });
}

interface AttemptFault {
  readonly code: string;
  readonly text: string;
}

function failureOf({ doc }: StoredItem, { problems = [] }: TaskAnswer): AttemptFault {
  const text = problems.length === 0 ? 'Its driver did not say why.' : problems.join('; ');
  const code = doc.step === CONNECT_STEP ? 'connect-failed' : 'deploy-failed';
  return { code, text: shortenText(text, 500) };
}

/** A try failed on a machine: the machine is cleaned, and the build continues elsewhere with the same ports. */
function failAttempt(
  fleet: FleetReader,
  { item, instance }: BuildParts,
  { code, text }: AttemptFault,
  nowMs: number,
): RecordStep {
  mark('baremetal-try-failed');
  const attempts = editLastAttempt(instance.doc, { fault: code, excludes: 'node', text });
  const fault: NodeFault = { code, message: text, atMs: nowMs };
  const failed = { ...instance.doc, attempts };
  const teardown = { item, instance: instance.id, by: BUILDER, nowMs, fault, isConnected: failed.nics.length > 0 };
  const step = beginTeardown(fleet, { ...teardown, finish: continueAfterTeardown });
  return { ...step, changes: [...step.changes, putInstance(instance, failed, nowMs)] };
}

/** The node of a failed try is free again, or out of service: another one, or the end. */
export const continueAfterTeardown: TeardownFinisher = (fleet, item, nowMs) => {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance?.doc.state !== 'building') return { progress: endSuperseded(item, instance).progress, changes: [] };
  const { node: _, site: __, ...doc } = instance.doc;
  const detached: StoredInstance = { ...instance, doc };
  if (doc.attempts.length >= doc.attemptsMax)
    return composeFailure(fleet, { item, instance: detached }, { ...composeExhaustedFault(doc), nowMs });
  const ports = portsOf(fleet, doc).map((port) => put(PORT, port.id, unbindPort(port.doc, { by: BUILDER, nowMs })));
  const progress = { state: 'running', step: RESERVE_STEP, attempt: item.doc.attempt + 1 } as const;
  return { progress, changes: [putInstance(instance, doc, nowMs), ...ports] };
};

function composeExhaustedFault({ attempts, attemptsMax }: Instance): Pick<BuildFault, 'code' | 'message'> {
  const last = attempts.at(-1);
  const message = `Failed after ${attempts.length} of ${attemptsMax} tries. The last one: ${last?.text ?? last?.fault ?? 'unknown'}`;
  return { code: 'attempts-exhausted', message };
}

export interface BuildFault {
  readonly code: string;
  readonly message: string;
  readonly nodes?: Reservation['stages'];
  readonly nowMs: number;
}

const MESSAGE_MAX = 1000;

/** The instance in error, holding nothing. */
function composeFailure(
  fleet: FleetReader,
  { item, instance: { id, doc } }: BuildParts,
  { code, message: said, nodes, nowMs }: BuildFault,
): { readonly progress: Progress; readonly changes: readonly Change[] } {
  const message = shortenText(said, MESSAGE_MAX);
  const fault = { code, message, atMs: nowMs, ...(nodes !== undefined && { nodes }) };
  const failed: Instance = { ...doc, state: 'error', nics: [], fault, changedBy: BUILDER, changedAtMs: nowMs };
  return {
    progress: {
      state: 'failed',
      step: item.doc.step,
      reason: { code, instance: id, message },
      assignee: null,
    },
    changes: [put(INSTANCE, id, failed), ...releaseHoldings(fleet, id, doc, { by: BUILDER, nowMs })],
  };
}

export function failBuild(fleet: FleetReader, build: BuildParts, fault: BuildFault): RecordStep {
  const { item, instance } = build;
  const { progress, changes } = composeFailure(fleet, build, fault);
  return record(item, progress, { changes, expects: [expectUnchanged(INSTANCE, instance)] });
}

function putInstance(instance: StoredInstance, doc: Instance, nowMs: number): Change {
  return put(INSTANCE, instance.id, { ...doc, changedBy: BUILDER, changedAtMs: nowMs });
}
