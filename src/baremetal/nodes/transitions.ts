// What may become of a node, one function a transition. No other code changes the state, the epoch, the instance or the manager of a node: here the state
// table is kept, the epoch grows with every change of who may act, and a node with data on it never becomes free.
import type { Refusal, Stored, ChangeNote } from '../../fleet/index.ts';
import { bucketOf, NODE_TRANSITIONS, type Node, type NodeFault, type NodeState } from '../model.ts';

export type StoredNode = Stored<'node', Node>;

/** The node as it is afterwards: the same object where nothing is left to do. */
export type TransitionResult = Node | Refusal;

export function isRefused(result: TransitionResult): result is Refusal {
  return 'code' in result;
}

export interface ReserveTransition extends ChangeNote {
  readonly instance: string;
  readonly manager: string;
  /** The epoch of that manager's lease. */
  readonly managerEpoch: number;
}

/** Gives a free node to an instance. */
export function reserve(
  node: StoredNode,
  { instance, manager, managerEpoch, ...change }: ReserveTransition,
): TransitionResult {
  const { claimedFor, ...doc } = node.doc;
  if (bucketOf(doc) !== 'free' || (claimedFor !== undefined && claimedFor !== instance)) return refuseNotFree(node);
  const set = { instance, manager, managerEpoch, epoch: doc.epoch + 1 };
  return moveTo({ ...node, doc }, { from: ['available'], to: 'reserved', set }, change);
}

/**
 * A claim is made at its inventory: it is offered to no other until the answer is there. Each claim has an epoch of its own, so that one that
 * arrives late is known by it.
 */
export function beginClaim(
  node: StoredNode,
  { instance, ...change }: ChangeNote & { readonly instance: string },
): TransitionResult {
  const { doc } = node;
  if (bucketOf(doc) !== 'free') return refuseNotFree(node);
  return { ...doc, claimedFor: instance, epoch: doc.epoch + 1, ...noteAuthor(change) };
}

/** The claim is to be given back: no instance has the node, and it is not offered until its inventory has answered. */
export function beginUnclaim(node: StoredNode, change: ChangeNote): TransitionResult {
  const { doc } = node;
  const instance = doc.instance ?? doc.claimedFor;
  if (instance === undefined) return doc;
  const unused =
    doc.instance === undefined ? doc : release(node, { from: ['reserved', 'cleaning'], isOffered: true }, change);
  if (isRefused(unused)) return unused;
  return { ...unused, claimedFor: instance, epoch: doc.epoch + 1, ...noteAuthor(change) };
}

/** No claim stands outside. */
export function endClaim({ doc }: StoredNode, change: ChangeNote): Node {
  const { claimedFor, ...rest } = doc;
  return claimedFor === undefined ? doc : { ...rest, ...noteAuthor(change) };
}

/** From here on there is data on it, whatever becomes of the deploy. */
export function beginDeploy(node: StoredNode, change: ChangeNote): TransitionResult {
  if (node.doc.state === 'deploying') return node.doc;
  return moveTo(node, { from: ['reserved'], to: 'deploying', set: { dirty: true } }, change);
}

export function finishDeploy(node: StoredNode, change: ChangeNote): TransitionResult {
  if (node.doc.state === 'active') return node.doc;
  return moveTo(omitFault(node), { from: ['deploying'], to: 'active', set: { power: 'on' } }, change);
}

/** `fault`: why it is cleaned, when its deploy failed. */
export function beginClean(
  node: StoredNode,
  { fault, ...change }: ChangeNote & { readonly fault?: NodeFault },
): TransitionResult {
  const { state, instance } = node.doc;
  if (state === 'cleaning') return node.doc;
  if (state === 'clean-failed' && instance === undefined) return refuseNotInUse(node);
  const set = { dirty: true, ...(fault !== undefined && { fault }) } as const;
  const from = ['reserved', 'deploying', 'active', 'clean-failed'] as const;
  return moveTo(omitFault(node), { from, to: 'cleaning', set }, change);
}

/** What an inventory says beside that it is done. An inventory of its own may withhold a node that is clean. */
interface OfferTransition extends ChangeNote {
  readonly isOffered: boolean;
}

/** It is clean: the reservation is over, and no manager acts on it any more. */
export function finishClean(node: StoredNode, { isOffered, ...change }: OfferTransition): TransitionResult {
  return release(node, { from: ['cleaning'], isOffered }, change);
}

export function failClean(
  node: StoredNode,
  { fault, ...change }: ChangeNote & { readonly fault: NodeFault },
): TransitionResult {
  return moveTo(node, { from: ['cleaning', 'clean-failed'], to: 'clean-failed', set: { fault } }, change);
}

/** The reservation is over although it was not cleaned: it stays out of service, with its data, until an operator repairs it. */
export function abandonClean(node: StoredNode, change: ChangeNote): TransitionResult {
  if (node.doc.state !== 'clean-failed') return refuseState(node, 'clean-failed');
  const { instance, manager, managerEpoch, ...rest } = node.doc;
  if (instance === undefined && manager === undefined && managerEpoch === undefined) return node.doc;
  return { ...rest, ...noteAuthor(change) };
}

/** An operator states that its disks hold nothing any more. */
export function confirmClean(node: StoredNode, { isOffered, ...change }: OfferTransition): TransitionResult {
  const { doc } = node;
  if (doc.instance !== undefined) return refuseInUse(node);
  if (doc.state !== 'removed' && doc.dirty === undefined) return doc;
  return release(node, { from: ['clean-failed', 'unavailable'], isOffered }, change);
}

/** Its reservation ends before a deploy began: it is free at once. */
export function releaseUnused(node: StoredNode, { isOffered, ...change }: OfferTransition): TransitionResult {
  return release(node, { from: ['reserved'], isOffered }, change);
}

export interface AcquireNode extends ChangeNote {
  readonly manager: string;
  readonly managerEpoch: number;
}

/** Another manager, or another lease of the same one, has the right to act on it from now on. */
export function acquire(node: StoredNode, { manager, managerEpoch, ...change }: AcquireNode): TransitionResult {
  const { doc } = node;
  if (doc.instance === undefined) return refuseNotInUse(node);
  if (doc.manager === manager && doc.managerEpoch === managerEpoch) return doc;
  return { ...doc, manager, managerEpoch, epoch: doc.epoch + 1, ...noteAuthor(change) };
}

/** The inventory offers it, or does so no more. What is in use stays as it is: its reservation says what becomes of it. */
export function setOffered(node: StoredNode, { isOffered, ...change }: OfferTransition): TransitionResult {
  const { state, dirty, claimedFor } = node.doc;
  // What it shows during a claim says nothing: the claim's own answer does.
  if (claimedFor !== undefined) return node.doc;
  const wanted = isOffered && dirty === undefined ? 'available' : 'unavailable';
  const from = ['available', 'unavailable'] as const;
  return state === wanted || !from.some((one) => one === state) ? node.doc : moveTo(node, { from, to: wanted }, change);
}

/** Its inventory says that there is no such node any more, and an instance has it: it stays for that one, and is offered to no other afterwards. */
export function markAbsent(
  { doc }: StoredNode,
  { lastSeenAtMs, ...change }: ChangeNote & { readonly lastSeenAtMs: number | undefined },
): Node {
  if (doc.absent !== undefined) return doc;
  const absent = { sinceMs: change.nowMs, ...(lastSeenAtMs !== undefined && { lastSeenAtMs }) };
  return { ...doc, absent, ...noteAuthor(change) };
}

/** Leaves its id, its epoch and whether there is data on it: should the machine come back, it is the same node. */
export function removeNode(node: StoredNode, change: ChangeNote): TransitionResult {
  const { doc } = node;
  if (doc.state === 'removed') return doc;
  if (userOf(doc) !== undefined) return refuseInUse(node);
  const { name, inventory, site, epoch, dirty } = doc;
  return {
    ...(name !== undefined && { name }),
    inventory,
    traits: [],
    ...{ memoryMiB: 0, cpus: 0, localGiB: 0 },
    ...(site !== undefined && { site }),
    physicalNetworks: [],
    state: 'removed',
    power: 'unknown',
    epoch,
    ...(dirty !== undefined && { dirty }),
    ...noteAuthor(change),
  };
}

/** A machine that was removed is there again: the same node, as `enrolled` describes it, under its old epoch. */
export function reviveNode(node: StoredNode, enrolled: Node): TransitionResult {
  const { state, epoch, dirty } = node.doc;
  if (state !== 'removed') return refuseState(node, 'available');
  const code = 'not-cleaned';
  const message = 'It was removed before it was cleaned. Clean its disks, then confirm that.';
  const fault = { code, message, atMs: enrolled.changedAtMs };
  return { ...enrolled, epoch, ...(dirty !== undefined && { dirty, state: 'clean-failed', fault }) };
}

function release(
  node: StoredNode,
  { from, isOffered }: { readonly from: readonly NodeState[]; readonly isOffered: boolean },
  change: ChangeNote,
): TransitionResult {
  const to = isOffered && node.doc.absent === undefined ? 'available' : 'unavailable';
  const moved = moveTo(node, { from, to }, change);
  if (isRefused(moved)) return moved;
  const { instance: _, manager: _manager, managerEpoch: _epoch, dirty: _dirty, fault: _fault, ...rest } = moved;
  return rest;
}

interface NodeTransition {
  /** Fewer than those that the table leads there: each transition has its own. */
  readonly from: readonly NodeState[];
  readonly to: NodeState;
  readonly set?: Partial<Node>;
}

function moveTo(node: StoredNode, { from, to, set }: NodeTransition, change: ChangeNote): TransitionResult {
  const { doc } = node;
  if (!from.includes(doc.state) || !NODE_TRANSITIONS[doc.state].includes(to)) return refuseState(node, to);
  return { ...doc, ...set, state: to, ...noteAuthor(change) };
}

function omitFault(node: StoredNode): StoredNode {
  const { fault: _, ...doc } = node.doc;
  return { ...node, doc };
}

function noteAuthor({ by, nowMs }: ChangeNote): Pick<Node, 'changedBy' | 'changedAtMs'> {
  return { changedBy: by, changedAtMs: nowMs };
}

function refuseState({ id, doc: { state } }: StoredNode, wanted: NodeState): Refusal {
  const message = `Node "${id}" is ${state}, which ${wanted} does not follow. Show it with "muster baremetal nodes show ${id}".`;
  return { kind: 'conflict', code: 'wrong-node-state', message, facts: { node: id, state, wanted } };
}

function refuseNotFree({ id, doc }: StoredNode): Refusal {
  const bucket = bucketOf(doc) ?? 'removed';
  const message = `Node "${id}" is not free: it counts as ${bucket}. Choose another, or see why with "muster baremetal nodes show ${id}".`;
  return { kind: 'conflict', code: 'node-not-free', message, facts: { node: id, bucket } };
}

function refuseNotInUse({ id, doc: { state } }: StoredNode): Refusal {
  const message = `Node "${id}" is ${state}, has no instance, and no manager acts on it. Show it with "muster baremetal nodes show ${id}".`;
  return { kind: 'conflict', code: 'node-not-in-use', message, facts: { node: id, state } };
}

/** The instance that has it, or for which a claim is under way at its inventory. */
export function userOf({ instance, claimedFor }: Pick<Node, 'instance' | 'claimedFor'>): string | undefined {
  return instance ?? claimedFor;
}

export function refuseInUse({ id, doc }: StoredNode): Refusal {
  const { state } = doc;
  const instance = userOf(doc);
  const message = `Node "${id}" is ${state} for instance "${instance}". Delete the instance first, and wait until the node is clean.`;
  return { kind: 'conflict', code: 'node-in-use', message, facts: { node: id, state, instance } };
}
