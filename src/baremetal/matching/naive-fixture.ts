// Matching as the rules say it, without an index: every node is looked at for every request. What tests compare the index with.
import type { StoredNode } from '../nodes/transitions.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { MATCH_STAGES, NODE, type MatchStage, type Node } from '../model.ts';
import { holds } from './capability-check.ts';
import type { NodeRequest, StageCount } from './choose.ts';
import { RING_SIZE, ringPosition } from './node-ring.ts';

const words = (text: string): string => `CUSTOM_${text.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;

function valuesOf({ capabilities = '' }: Node): Map<string, string> {
  const items = capabilities.split(',').map((item) => item.trim());
  const pairs = items.filter((item) => /^[^:]+:/.test(item)).map((item) => [item.split(':')[0], item] as const);
  // The first of a name counts.
  return new Map(pairs.toReversed().map(([key = '', item]) => [key.trim(), item.slice(item.indexOf(':') + 1).trim()]));
}

const isTrue = (value: string): boolean => !/^(|0|false|no|off)$/i.test(value);

function isOffered({ state, power, maintenance, instance, claimedFor }: Node): boolean {
  const isTaken = instance !== undefined || claimedFor !== undefined;
  return state === 'available' && power !== 'unknown' && maintenance === undefined && !isTaken;
}

/** In the order in which reports count them. */
function stagesOf({
  requirements: wanted,
}: NodeRequest): Readonly<Partial<Record<MatchStage, (node: Node) => boolean>>> {
  return {
    state: isOffered,
    class: ({ resourceClass }) =>
      wanted.resourceClass === undefined ||
      (resourceClass !== undefined && words(resourceClass) === wanted.resourceClass),
    sizes: (node) => node.memoryMiB >= wanted.memoryMiB && node.cpus >= wanted.cpus && node.localGiB >= wanted.localGiB,
    traits: ({ traits }) =>
      wanted.requiredTraits.every((one) => traits.includes(one)) &&
      wanted.forbiddenTraits.every((one) => !traits.includes(one)),
    capabilities: (node) =>
      wanted.capabilities.every(({ key, test }) => {
        const value = valuesOf(node).get(key);
        if (test.kind !== 'true') return value !== undefined && holds(test, value);
        return value === undefined ? node.traits.includes(words(key)) : isTrue(value);
      }),
    image: ({ cpuArch }) => wanted.architecture === undefined || cpuArch?.toLowerCase() === wanted.architecture,
    owner: ({ owner, lessee }) =>
      (owner === undefined && lessee === undefined) ||
      (wanted.project !== undefined && [owner, lessee].includes(wanted.project)),
    networks: ({ physicalNetworks }) =>
      wanted.physicalNetworks.every((one) => physicalNetworks.includes(one)) &&
      !(wanted.physicalNetworkChoices ?? []).some((list) => !list.some((one) => physicalNetworks.includes(one))),
  };
}

function nodesOf(fleet: FleetReader, { candidates, requirements: { site } }: NodeRequest): StoredNode[] {
  return [...fleet.all(NODE)].filter(
    ({ id, doc }) =>
      doc.state !== 'removed' && (candidates?.includes(id) ?? true) && (site === undefined || doc.site === site),
  );
}

export function naiveCounts(fleet: FleetReader, request: NodeRequest): StageCount[] {
  const checks = stagesOf(request);
  let left = nodesOf(fleet, request);
  return MATCH_STAGES.filter((stage) => stage !== 'race').map((stage) => {
    const check = checks[stage];
    if (check !== undefined) left = left.filter(({ doc }) => check(doc));
    return { stage, left: left.length };
  });
}

export function naiveChoice(fleet: FleetReader, request: NodeRequest): string | undefined {
  const checks = Object.values(stagesOf(request));
  const left = nodesOf(fleet, request).filter(
    ({ id, doc }) => checks.every((check) => check(doc)) && request.except?.has(id) !== true,
  );
  const order = (node: StoredNode): readonly (number | string)[] => [...surplus(node.doc, request), ...placeOf(node)];
  const placeOf = ({ id }: StoredNode): readonly (number | string)[] => [
    (ringPosition(id) - ringPosition(request.instance) + RING_SIZE) % RING_SIZE,
    id,
  ];
  const [best] = left.map((node) => ({ id: node.id, order: order(node) })).sort((a, b) => compare(a.order, b.order));
  return best?.id;
}

function surplus(node: Node, { requirements: wanted }: NodeRequest): number[] {
  const values = valuesOf(node);
  const standIns = wanted.capabilities.filter(({ key, test }) => test.kind === 'true' && !values.has(key));
  const used = new Set([...wanted.requiredTraits, ...standIns.map(({ key }) => words(key))]);
  const unusedTraits = node.traits.filter((trait) => !used.has(trait)).length;
  const named = new Set(wanted.capabilities.map(({ key }) => key));
  const unusedValues = [...values].filter(([key, value]) => isTrue(value) && !named.has(key)).length;
  return [
    unusedTraits + unusedValues,
    node.memoryMiB - wanted.memoryMiB,
    node.cpus - wanted.cpus,
    node.localGiB - wanted.localGiB,
  ];
}

function compare(one: readonly (number | string)[], other: readonly (number | string)[]): number {
  const at = one.findIndex((value, nth) => value !== other[nth]);
  return at === -1 ? 0 : (one[at] as number) < (other[at] as number) ? -1 : 1;
}
