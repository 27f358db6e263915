// What is done next to have a node clean. Ironic ends the claim of an instance when it tears it down, before it cleans: from then on a mark on the node says whose
// data it was. What is another client's, or may be, is never touched; and nothing but Ironic's `available` counts as clean.
import type { Reason } from '../../../fleet/index.ts';
import { MACHINE_NOT_OURS, type NodeFence } from '../inventory.ts';
import type { IronicNode } from './ironic-node.ts';
import { cleaningNeedOf, machineStateOf } from './provision-states.ts';

/**
 * Of the node, as seen by one instance. `ended`: no client claims it, and what was deployed to it last was this instance. `gone`: no client claims it, and what is on
 * it is not known to be this instance.
 */
export type ClaimState = 'ours' | 'ended' | 'gone' | 'other';

export type CleaningStep =
  | { readonly kind: 'clean' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'provision'; readonly target: 'deleted' | 'manage' | 'provide' }
  | { readonly kind: 'end-maintenance' }
  /** Nothing may be done to it for this instance. */
  | { readonly kind: 'not-ours'; readonly reason: Reason }
  | { readonly kind: 'failed'; readonly reason: Reason };

export interface Cleaning {
  readonly fence: NodeFence;
  readonly claim: ClaimState;
  /** A tear-down or a cleaning was begun by this very call: when it fails, it has failed. */
  readonly hasBegun: boolean;
}

export function planCleaning(node: IronicNode, { fence, claim, hasBegun }: Cleaning): CleaningStep {
  if (claim === 'other') return { kind: 'not-ours', reason: hasOtherInstance(fence) };
  const isOurs = claim !== 'gone';
  switch (cleaningNeedOf(node)) {
    case 'nothing':
      return { kind: 'clean' };
    case 'wait':
      // To wait for a cleaning has no effect on others.
      return isOurs || machineStateOf(node) === 'cleaning'
        ? { kind: 'wait' }
        : { kind: 'not-ours', reason: claimGone(fence) };
    case 'tear-down':
      return planTearDown(node, { fence, claim, hasBegun });
    case 'manage':
      if (hasBegun || !isOurs) return { kind: 'failed', reason: cleanFailed(node) };
      // Ironic puts what it could not clean into maintenance, and cleans nothing there.
      return node.isInMaintenance ? { kind: 'end-maintenance' } : { kind: 'provision', target: 'manage' };
    case 'provide':
      return isOurs ? { kind: 'provision', target: 'provide' } : { kind: 'not-ours', reason: claimGone(fence) };
    case 'operator':
      return { kind: 'failed', reason: cleanFailed(node) };
  }
}

/** A tear-down that fails ends the claim as well; in any other of these states a claim that is missing was removed by hand. */
function planTearDown(node: IronicNode, { fence, claim, hasBegun }: Cleaning): CleaningStep {
  const hasFailed = node.provisionState === 'error';
  if (claim !== 'ours' && !(claim === 'ended' && hasFailed)) return { kind: 'not-ours', reason: claimGone(fence) };
  if (hasBegun && hasFailed) return { kind: 'failed', reason: cleanFailed(node) };
  return { kind: 'provision', target: 'deleted' };
}

/** Ironic's own words, where it has any. */
function cleanFailed({ provisionState, lastError }: IronicNode): Reason {
  return { code: 'clean-failed', message: lastError ?? `Ironic says that the node is "${provisionState}".` };
}

export function claimGone({ node, instance }: NodeFence): Reason {
  const message = `Ironic has no claim of instance "${instance}" on node "${node}" any more.`;
  return { code: MACHINE_NOT_OURS, node, instance, message };
}

export function hasOtherInstance({ node, instance }: NodeFence): Reason {
  const message = `Ironic has node "${node}" for another than instance "${instance}": leave its disks alone until you know whose they are.`;
  return { code: MACHINE_NOT_OURS, node, instance, message };
}
