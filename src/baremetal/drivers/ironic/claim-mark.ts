// What Muster writes with a claim, so that it is recognised as its own: the instance, and the node's epoch under which it was claimed.
import { toRecord } from './ironic-node.ts';
import type { NodeFence } from '../inventory.ts';

/** The field of `extra` where it stands. */
export const CLAIM_MARK = 'muster';
/** The field of a node's `extra` that says whose data was deployed to it last. Ironic ends the claim before it cleans; this stays until the node is clean. */
export const DEPLOY_MARK = 'muster_deploy';

export interface ClaimMark {
  readonly instance: string;
  readonly nodeEpoch: number;
}

export function composeMark({ instance, nodeEpoch }: NodeFence): Readonly<Record<typeof CLAIM_MARK, ClaimMark>> {
  return { [CLAIM_MARK]: { instance, nodeEpoch } };
}

/** Of a node or an allocation; undefined when it is not one of ours. */
export function readMark(extra: unknown): ClaimMark | undefined {
  return toMark(toRecord(extra)[CLAIM_MARK]);
}

export function composeDeployMark({ instance, nodeEpoch }: NodeFence): ClaimMark {
  return { instance, nodeEpoch };
}

/** Of a node; undefined when nothing was deployed to it by us since it was cleaned last. */
export function readDeployMark(extra: unknown): ClaimMark | undefined {
  return toMark(toRecord(extra)[DEPLOY_MARK]);
}

function toMark(value: unknown): ClaimMark | undefined {
  const { instance, nodeEpoch } = toRecord(value);
  return typeof instance === 'string' && typeof nodeEpoch === 'number' ? { instance, nodeEpoch } : undefined;
}
