// The driver `kubernetes-nodes`: carries out one order at the API of a cluster, in one pass, and says what it found. It never waits for a pod, never deletes one,
// remembers nothing between passes, and evicts only what the plan of this very look says.
import type { Reason } from '../../fleet/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';
import {
  ClusterRefused,
  ClusterUnreachable,
  type ClusterCallOptions,
  type ClusterApi,
  type ClusterNode,
  type NodeMarks,
} from '../cluster-api/cluster-api.ts';
import { BLOCKERS_MAX, type Blocker } from '../model.ts';
import { evictPlanned, NOTHING_EVICTED } from './evictions-driver.ts';
import { toActionOutcome, type NodeOrder, type NodeProgress, type NodeResult } from './node-order.ts';
import { blockersOf, countLeft, planDrain, type DrainPlan } from './plan.ts';

/** The APIs of the clusters that are registered. */
export interface ClusterApis {
  /** Undefined when there is no such cluster; a reason when this server cannot get at its credentials. */
  apiOf(cluster: string): ClusterApi | { readonly reason: Reason } | undefined;
}

export class NodesDriver implements Driver {
  readonly maxConcurrent = 32;
  readonly #apis: ClusterApis;

  constructor(apis: ClusterApis) {
    this.#apis = apis;
  }

  async carryOut({ args }: Action, { signal }: ActionFence): Promise<ActionOutcome> {
    const order = args as unknown as NodeOrder;
    try {
      const api = this.#apis.apiOf(order.cluster);
      if (api === undefined) return toActionOutcome(troubleOf('refused', order, 'unknown-cluster'));
      // Another server may have the key, and an operator may give it to this one.
      if ('reason' in api) return toActionOutcome({ kind: 'trouble', trouble: 'away', reason: api.reason });
      return toActionOutcome(await carryOutOrder(api, order, { signal }));
    } catch (error) {
      return toActionOutcome(explainError(order, error));
    }
  }
}

function explainError(order: NodeOrder, error: unknown): NodeResult {
  if (error instanceof ClusterUnreachable) return troubleOf('away', order, error.code, error.message);
  if (!(error instanceof ClusterRefused)) throw error;
  return troubleOf(error.retryable ? 'server-error' : 'refused', order, error.code, error.message);
}

function troubleOf(
  trouble: 'away' | 'server-error' | 'refused',
  { cluster, node }: NodeOrder,
  code: string,
  text = '',
): NodeResult {
  const TEXT_MAX = 300;
  const shown = text === '' ? {} : { text: text.slice(0, TEXT_MAX) };
  return { kind: 'trouble', trouble, reason: { code, cluster, node, ...shown } };
}

async function carryOutOrder(api: ClusterApi, order: NodeOrder, how: ClusterCallOptions): Promise<NodeResult> {
  switch (order.op) {
    case 'inspect':
      return describeNode(await api.readNode(order.node, how), order);
    case 'mark':
      return markNode(api, order, how);
    case 'check':
    case 'evict':
      return drainPass(api, order, how);
    case 'confirm-drained':
      return confirmDrained(api, order, how);
    case 'delete':
      return deleteNode(api, order, how);
    case 'confirm-deleted': {
      const node = await findOwnNode(api, order, how);
      if (node !== undefined) await api.deleteNode(node, how);
      return { kind: 'deleted' };
    }
  }
}

interface ExpectedNode {
  readonly uid?: string;
  readonly providerId?: string;
}

function describeNode(node: ClusterNode | undefined, expected: ExpectedNode): NodeResult {
  if (node === undefined) return { kind: 'no-node' };
  const { uid, isUnschedulable, isExcludedFromLoadBalancers, readiness, providerId } = node;
  if (expected.uid === undefined && isOther(node, expected)) return { kind: 'no-node' };
  if (expected.uid !== undefined && expected.uid !== uid) return { kind: 'replaced', uid };
  const seen = { uid, isUnschedulable, isExcludedFromLoadBalancers, readiness };
  return { kind: 'node', ...seen, ...(providerId !== undefined && { providerId }) };
}

/** Another machine has the name that a worker was to join by. */
function isOther({ providerId }: ClusterNode, expected: ExpectedNode): boolean {
  return expected.providerId !== undefined && expected.providerId !== providerId;
}

/** What it answers was read back after the change. */
async function markNode(
  api: ClusterApi,
  { node: name, marks, ...expected }: Extract<NodeOrder, { op: 'mark' }>,
  how: ClusterCallOptions,
): Promise<NodeResult> {
  const before = await api.readNode(name, how);
  const found = describeNode(before, expected);
  if (before === undefined || found.kind !== 'node') return found;
  const made = findMissingMarks(before, marks);
  if (Object.keys(made).length > 0) await api.markNode(before, made, how);
  const after = describeNode(await api.readNode(name, how), { uid: before.uid });
  return after.kind === 'node' ? { ...after, made } : after;
}

/** What is there stays untouched: a label of an operator may have a value. */
function findMissingMarks(node: ClusterNode, { isUnschedulable, isExcludedFromLoadBalancers }: NodeMarks): NodeMarks {
  return {
    ...(isUnschedulable !== undefined && isUnschedulable !== node.isUnschedulable && { isUnschedulable }),
    ...(isExcludedFromLoadBalancers !== undefined &&
      isExcludedFromLoadBalancers !== node.isExcludedFromLoadBalancers && { isExcludedFromLoadBalancers }),
  };
}

/** Others of its batch may have taken minutes: pods that no cordon keeps away may have come meanwhile. */
async function confirmDrained(
  api: ClusterApi,
  { node: name, policy, ...expected }: Extract<NodeOrder, { op: 'confirm-drained' }>,
  how: ClusterCallOptions,
): Promise<NodeResult> {
  const contents = await api.readContents(name, how);
  const found = describeNode(contents.node, expected);
  if (found.kind === 'replaced') return found;
  const left = found.kind === 'node' ? countLeft(planDrain(name, contents, policy)) : 0;
  const attached = await api.countVolumeAttachments(name, how);
  const isUnschedulable = found.kind !== 'node' || found.isUnschedulable;
  return { kind: 'drained', attached: attached === 'unknown' ? 0 : attached, left, isUnschedulable };
}

async function deleteNode(
  api: ClusterApi,
  order: Extract<NodeOrder, { op: 'delete' }>,
  how: ClusterCallOptions,
): Promise<NodeResult> {
  const { uid } = order;
  const node = uid === undefined ? await findOwnNode(api, order, how) : { name: order.node, uid };
  if (node !== undefined) await api.deleteNode(node, how);
  return { kind: 'deleted' };
}

async function findOwnNode(
  api: ClusterApi,
  { node: name, providerId }: { readonly node: string; readonly providerId?: string },
  how: ClusterCallOptions,
): Promise<ClusterNode | undefined> {
  const node = await api.readNode(name, how);
  return node === undefined || isOther(node, providerId === undefined ? {} : { providerId }) ? undefined : node;
}

async function drainPass(
  api: ClusterApi,
  { op, node: name, policy, ...expected }: Extract<NodeOrder, { op: 'check' | 'evict' }>,
  how: ClusterCallOptions,
): Promise<NodeResult> {
  const contents = await api.readContents(name, how);
  const found = describeNode(contents.node, expected);
  if (found.kind !== 'node') return found;
  const plan = planDrain(name, contents, policy);
  const known = blockersOf(plan);
  // Pods may be placed on it again: whatever is evicted might come back here.
  const mayEvict = op === 'evict' && found.isUnschedulable && !known.some(isPermanent);
  const { accepted, refused } = mayEvict ? await evictPlanned(api, plan, how) : NOTHING_EVICTED;
  return { ...found, progress: summarizeProgress(plan, [...known, ...refused], accepted) };
}

function isPermanent({ reason }: Blocker): boolean {
  return reason !== 'budget';
}

/** As things stand after the evictions: what was accepted is on its way out. */
function summarizeProgress(plan: DrainPlan, blockers: readonly Blocker[], accepted: number): NodeProgress {
  return {
    left: countLeft(plan),
    terminating: plan.pods.filter(({ fate }) => fate.kind === 'terminating').length + accepted,
    accepted,
    blockers: blockers.slice(0, BLOCKERS_MAX),
    moreBlockers: Math.max(0, blockers.length - BLOCKERS_MAX),
    isBlockedForGood: blockers.some(isPermanent),
  };
}
