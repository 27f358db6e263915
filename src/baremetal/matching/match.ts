// One kind of hardware against what an instance needs, stage by stage. A report counts what is left after each of them, so their order is part of
// what users see.
import type { MatchStage } from '../model.ts';
import { isTruthy } from './capabilities.ts';
import { holds } from './capability-check.ts';
import type { Hardware } from './hardware.ts';
import type { CapabilityRequirement, HardwareRequirements, Requirements } from './requirements.ts';

/** The stages that look at hardware, in their order. */
export const HARDWARE_STAGES = ['class', 'sizes', 'traits', 'capabilities', 'image', 'owner', 'networks'] as const;
export type HardwareStage = Extract<MatchStage, (typeof HARDWARE_STAGES)[number]>;

/** The first stage that it does not pass; undefined when it matches. */
export function findMismatch(wanted: Requirements, hardware: Hardware): HardwareStage | undefined {
  return HARDWARE_STAGES.find((stage) => !passes(stage, wanted, hardware));
}

function passes(stage: HardwareStage, wanted: Requirements, has: Hardware): boolean {
  switch (stage) {
    case 'class':
      return wanted.resourceClass === undefined || wanted.resourceClass === has.resourceClass;
    case 'sizes':
      return has.memoryMiB >= wanted.memoryMiB && has.cpus >= wanted.cpus && has.localGiB >= wanted.localGiB;
    case 'traits':
      return (
        wanted.requiredTraits.every((trait) => has.traits.has(trait)) &&
        !wanted.forbiddenTraits.some((trait) => has.traits.has(trait))
      );
    case 'capabilities':
      return wanted.capabilities.every((one) => hasCapability(one, has));
    case 'image':
      return wanted.architecture === undefined || wanted.architecture === has.architecture;
    case 'owner':
      return isOpenTo(wanted.project, has);
    case 'networks':
      return isWired(wanted, has);
  }
}

function hasCapability({ key, test }: CapabilityRequirement, { capabilities, traits }: Hardware): boolean {
  const value = capabilities.get(key);
  if (value === undefined) return test.kind === 'true' && traits.has(test.standIn);
  return test.kind === 'true' ? isTruthy(value) : holds(test, value);
}

function isWired({ physicalNetworks, physicalNetworkChoices = [] }: Requirements, has: Hardware): boolean {
  return (
    physicalNetworks.every((network) => has.physicalNetworks.has(network)) &&
    physicalNetworkChoices.every((choices) => choices.some((network) => has.physicalNetworks.has(network)))
  );
}

/** A node without an owner and a lessee is open to all projects. */
function isOpenTo(project: string | undefined, { owner, lessee }: Hardware): boolean {
  if (owner === undefined && lessee === undefined) return true;
  return project !== undefined && (project === owner || project === lessee);
}

/** The traits of a node that an instance requires, those that stand for a capability among them. */
export function listRequestedTraits(
  wanted: HardwareRequirements,
  { capabilities, traits }: Pick<Hardware, 'capabilities' | 'traits'>,
): string[] {
  const standIns = wanted.capabilities.flatMap(({ key, test }) =>
    test.kind === 'true' && !capabilities.has(key) && traits.has(test.standIn) ? [test.standIn] : [],
  );
  return standIns.length === 0
    ? [...wanted.requiredTraits]
    : [...new Set([...wanted.requiredTraits, ...standIns])].sort();
}

/** What a node has beyond the request, the most important first: the node with the least of it is chosen. */
export type Surplus = readonly [features: number, memoryMiB: number, cpus: number, localGiB: number];

export function surplusHardwareOf(wanted: Requirements, has: Hardware): Surplus {
  const wantedKeys = new Set(wanted.capabilities.map(({ key }) => key));
  const unusedTraits = has.traits.size - listRequestedTraits(wanted, has).length;
  const unusedCapabilities = has.trueCapabilities.filter((key) => !wantedKeys.has(key)).length;
  return [
    unusedTraits + unusedCapabilities,
    has.memoryMiB - wanted.memoryMiB,
    has.cpus - wanted.cpus,
    has.localGiB - wanted.localGiB,
  ];
}

export function compareSurplus(one: Surplus, other: Surplus): number {
  for (let at = 0; at < one.length; at += 1) {
    const difference = (one[at] as number) - (other[at] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
