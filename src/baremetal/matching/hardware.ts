// The hardware of a node as it is matched: read once for all nodes that are alike. Nodes of one shape differ in nothing that a request can require.
import type { Node } from '../model.ts';
import { customClassOf, isTruthy, parseCapabilities } from './capabilities.ts';

export interface Hardware {
  readonly resourceClass: string | undefined;
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly localGiB: number;
  readonly architecture: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly capabilities: ReadonlyMap<string, string>;
  /** The keys of those whose value is truthy. */
  readonly trueCapabilities: readonly string[];
  readonly owner: string | undefined;
  readonly lessee: string | undefined;
  readonly physicalNetworks: ReadonlySet<string>;
  readonly site: string | undefined;
}

export function hardwareOf(node: Node): Hardware {
  const { memoryMiB, cpus, localGiB, traits, owner, lessee, physicalNetworks, site } = node;
  const capabilities = parseCapabilities(node.capabilities).values;
  return {
    resourceClass: node.resourceClass === undefined ? undefined : customClassOf(node.resourceClass),
    memoryMiB,
    cpus,
    localGiB,
    architecture: node.cpuArch?.toLowerCase(),
    traits: new Set(traits),
    capabilities,
    trueCapabilities: [...capabilities].flatMap(([key, value]) => (isTruthy(value) ? [key] : [])),
    owner,
    lessee,
    physicalNetworks: new Set(physicalNetworks),
    site,
  };
}

const BETWEEN = '\u0000';

/** Equal for nodes of one shape. Written on every change of a node that is free: lists are sorted only where they are not. */
export function shapeKey(node: Node): string {
  const { resourceClass = '', memoryMiB, cpus, localGiB, cpuArch = '', capabilities = '' } = node;
  const { owner = '', lessee = '', site = '' } = node;
  const words = `${resourceClass}${BETWEEN}${memoryMiB}/${cpus}/${localGiB}${BETWEEN}${cpuArch}${BETWEEN}${capabilities}`;
  const place = `${owner}${BETWEEN}${lessee}${BETWEEN}${site}${BETWEEN}${joinSorted(node.physicalNetworks)}`;
  return `${words}${BETWEEN}${joinSorted(node.traits)}${BETWEEN}${place}`;
}

function joinSorted(words: readonly string[]): string {
  for (let at = 1; at < words.length; at += 1) {
    if ((words[at - 1] as string) > (words[at] as string)) return words.toSorted().join();
  }
  return words.join();
}

/** Whether the shape of a node is certainly the same after a change: documents that were edited elsewhere keep their lists. */
export function hasSameShape(one: Node, other: Node): boolean {
  return (
    one.traits === other.traits &&
    one.physicalNetworks === other.physicalNetworks &&
    one.memoryMiB === other.memoryMiB &&
    one.cpus === other.cpus &&
    one.localGiB === other.localGiB &&
    one.resourceClass === other.resourceClass &&
    one.cpuArch === other.cpuArch &&
    one.capabilities === other.capabilities &&
    one.owner === other.owner &&
    one.lessee === other.lessee &&
    one.site === other.site
  );
}
