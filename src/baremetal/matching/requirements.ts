// What an instance needs of its node, as a value: whatever the caller and the form of its request, it is matched in this one.
import type { CapabilityCheck } from './capability-check.ts';

export interface CapabilityRequirement {
  readonly key: string;
  /** `true`: the node's value is truthy; where it has no such capability, the trait that stands for it is looked for. */
  readonly test: CapabilityCheck | { readonly kind: 'true'; readonly standIn: string };
}

/** Lists are sorted and have nothing twice: equal requirements are written alike. */
export interface HardwareRequirements {
  /** As requests write it: CUSTOM_BAREMETAL_GOLD. Without one, sizes decide. */
  readonly resourceClass?: string;
  /** At least so much; 0 is not checked. */
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly localGiB: number;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  readonly capabilities: readonly CapabilityRequirement[];
  readonly architecture?: string;
  /** The node is wired to all of them. */
  readonly physicalNetworks: readonly string[];
  /** Of each of these lists, it is wired to one at least: a port goes to any segment of its network. */
  readonly physicalNetworkChoices?: readonly (readonly string[])[];
}

export interface Requirements extends HardwareRequirements {
  /** Nodes with an owner or a lessee are theirs alone. */
  readonly project?: string;
  /** Nodes of other sites do not exist for it. */
  readonly site?: string;
}

export const NO_REQUIREMENTS: HardwareRequirements = {
  memoryMiB: 0,
  cpus: 0,
  localGiB: 0,
  requiredTraits: [],
  forbiddenTraits: [],
  capabilities: [],
  physicalNetworks: [],
};

/** Equal for equal requirements. */
export function requirementsKey(wanted: Requirements): string {
  const { resourceClass, memoryMiB, cpus, localGiB, architecture, project, site } = wanted;
  const { requiredTraits, forbiddenTraits, capabilities, physicalNetworks, physicalNetworkChoices } = wanted;
  return JSON.stringify([
    resourceClass,
    memoryMiB,
    cpus,
    localGiB,
    architecture,
    project,
    site,
    requiredTraits,
    forbiddenTraits,
    capabilities,
    physicalNetworks,
    physicalNetworkChoices,
  ]);
}

export function sortedUnique(words: Iterable<string>): string[] {
  return [...new Set(words)].sort();
}
