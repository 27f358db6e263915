// What Muster writes with a claim, so that it is recognised as its own: the instance, and the node's epoch under which it was claimed.
import { toRecord } from './ironic-node.ts';
import type { NodeFence } from '../inventory.ts';

/** The field of `extra` where it stands. */
export const CLAIM_MARK = 'muster';

export interface ClaimMark {
  readonly instance: string;
  readonly nodeEpoch: number;
}

export function composeMark({ instance, nodeEpoch }: NodeFence): Readonly<Record<typeof CLAIM_MARK, ClaimMark>> {
  return { [CLAIM_MARK]: { instance, nodeEpoch } };
}

/** Of a node or an allocation; undefined when it is not one of ours. */
export function readMark(extra: unknown): ClaimMark | undefined {
  const { instance, nodeEpoch } = toRecord(toRecord(extra)[CLAIM_MARK]);
  return typeof instance === 'string' && typeof nodeEpoch === 'number' ? { instance, nodeEpoch } : undefined;
}
