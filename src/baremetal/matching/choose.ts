// Which node a request gets, and how many were left after each stage when it gets none. Both look at shapes; only a request that names its
// candidates has each of them looked at.
import type { StoredNode } from '../nodes/transitions.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { NODE, type MatchStage, type NodeId } from '../model.ts';
import { compareSurplus, findMismatch, HARDWARE_STAGES, surplusHardwareOf, type Surplus } from './match.ts';
import { isFree, isInSite, nodeIndexOf, type NodeIndex, type Shape } from './node-index.ts';
import { ringDistance, ringPosition } from './node-ring.ts';
import type { Requirements } from './requirements.ts';

export interface NodeRequest {
  readonly requirements: Requirements;
  /** Where on the ring of equal nodes the search begins: by its hash. */
  readonly instance: string;
  /** Only these; all nodes when absent. */
  readonly candidates?: readonly NodeId[] | undefined;
  /** Those that were lost to others meanwhile. */
  readonly except?: ReadonlySet<string> | undefined;
}

export interface StageCount {
  readonly stage: MatchStage;
  readonly left: number;
}

/** The best free node that matches; undefined when there is none. */
export function chooseNode(fleet: FleetReader, request: NodeRequest): NodeId | undefined {
  const { requirements, instance, candidates, except } = request;
  const start = ringPosition(instance);
  const index = nodeIndexOf(fleet);
  if (candidates !== undefined) return chooseCandidate(index, listCandidates(fleet, candidates), { ...request, start });
  for (const shapes of index.rank(requirements)) {
    const found = firstOfShapes(shapes, start, except);
    if (found !== undefined) return found as NodeId;
  }
  return undefined;
}

function firstOfShapes(
  shapes: readonly Shape[],
  start: number,
  except: ReadonlySet<string> | undefined,
): string | undefined {
  let best: { readonly id: string; readonly distance: number } | undefined;
  for (const { free } of shapes) {
    if (free.size === 0) continue;
    const entry = free.firstFrom(start, except);
    if (entry === undefined) continue;
    const found = { id: entry.id, distance: ringDistance(start, entry.position) };
    if (best === undefined || isSooner(found, best)) best = found;
  }
  return best?.id;
}

interface OnRing {
  readonly id: string;
  readonly distance: number;
}

function isSooner(one: OnRing, other: OnRing): boolean {
  return one.distance < other.distance || (one.distance === other.distance && one.id < other.id);
}

function listCandidates(fleet: FleetReader, ids: readonly NodeId[]): StoredNode[] {
  return ids.map((id) => fleet.get(NODE, id)).filter((node) => node !== undefined);
}

function chooseCandidate(
  index: NodeIndex,
  candidates: readonly StoredNode[],
  { requirements, except, start }: NodeRequest & { readonly start: number },
): NodeId | undefined {
  let best: (OnRing & { readonly surplus: Surplus }) | undefined;
  for (const node of candidates) {
    const { id, doc } = node;
    if (!isFree(doc) || except?.has(id) === true) continue;
    const hardware = index.hardwareOf(node);
    if (!isInSite(requirements, hardware) || findMismatch(requirements, hardware) !== undefined) continue;
    const distance = ringDistance(start, ringPosition(id));
    const found = { id, distance, surplus: surplusHardwareOf(requirements, hardware) };
    const order = best === undefined ? -1 : compareSurplus(found.surplus, best.surplus);
    if (best === undefined || order < 0 || (order === 0 && isSooner(found, best))) best = found;
  }
  return best?.id as NodeId | undefined;
}

/** How many nodes are left after each stage that looks at one. Costs O(shapes), or O(candidates). */
export function countStages(fleet: FleetReader, { requirements, candidates }: NodeRequest): StageCount[] {
  const left = new Map<MatchStage, number>();
  const count = (stage: MatchStage, nodes: number): void => void left.set(stage, (left.get(stage) ?? 0) + nodes);
  const index = nodeIndexOf(fleet);
  const groups =
    candidates === undefined
      ? Array.from(index.shapes, ({ hardware, count: all, free }) => ({ hardware, all, free: free.size }))
      : listCandidates(fleet, candidates).map((node) => ({
          hardware: index.hardwareOf(node),
          all: node.doc.state === 'removed' ? 0 : 1,
          free: isFree(node.doc) ? 1 : 0,
        }));
  for (const { hardware, all, free } of groups) {
    if (!isInSite(requirements, hardware)) continue;
    count('candidates', all);
    count('state', free);
    const mismatch = findMismatch(requirements, hardware);
    const passed = mismatch === undefined ? HARDWARE_STAGES.length : HARDWARE_STAGES.indexOf(mismatch);
    for (const stage of HARDWARE_STAGES.slice(0, passed)) count(stage, free);
  }
  const stages: readonly MatchStage[] = ['candidates', 'state', ...HARDWARE_STAGES];
  return stages.map((stage) => ({ stage, left: left.get(stage) ?? 0 }));
}
