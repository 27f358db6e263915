// The bare-metal part of the demonstration: machines in both sites, some with a GPU, the flavors that lead to them, and the managers that act on them.
// Pure: returns every document that is missing.
import { NODE, type Node } from '../baremetal/index.ts';
import { idOf, put, type Change, type FleetReader } from '../fleet/index.ts';
import { FLAVOR, type Flavor } from '../instances/index.ts';
import { FIRST_SITE } from '../sites/index.ts';
import { DEMO_SITE } from './demo-hosts.ts';

/** They run inside the server. With three of them the loss of one is seen to be shared. */
export const DEMO_MANAGERS = ['m1', 'm2', 'm3'];

const NODES_PER_RACK = 12;
/** Of each rack. */
const GPU_NODES = 4;

const SIZES = {
  standard: { resourceClass: 'baremetal.standard', cpus: 32, memoryMiB: 131_072, localGiB: 960 },
  gpu: { resourceClass: 'baremetal.gpu', cpus: 64, memoryMiB: 524_288, localGiB: 3840 },
};

const FLAVORS: readonly Pick<Flavor, 'name' | 'vcpus' | 'memoryMiB' | 'diskGiB' | 'bareMetal'>[] = [
  {
    ...{ name: 'metal', vcpus: 16, memoryMiB: 65_536, diskGiB: 400 },
    bareMetal: { extraSpecs: { 'resources:CUSTOM_BAREMETAL_STANDARD': '1' } },
  },
  {
    ...{ name: 'metal-gpu', vcpus: 32, memoryMiB: 262_144, diskGiB: 1000 },
    bareMetal: { extraSpecs: { 'resources:CUSTOM_BAREMETAL_GPU': '1', 'trait:CUSTOM_GPU': 'required' } },
  },
];

interface ChangeAuthor {
  readonly changedBy: string;
  readonly changedAtMs: number;
}

export function demoNodes(fleet: FleetReader, changed: ChangeAuthor): Change[] {
  const nodes = [FIRST_SITE, DEMO_SITE.name].flatMap((site, at) => describeRack(`rack${at + 1}`, site, changed));
  return [
    ...FLAVORS.filter(({ name }) => fleet.get(FLAVOR, idOf(FLAVOR, name)) === undefined).map((size) => {
      const flavor: Flavor = { ...size, requiredTraits: [], forbiddenTraits: [], ...changed };
      return put(FLAVOR, idOf(FLAVOR, size.name), flavor);
    }),
    ...nodes
      .filter(({ name }) => fleet.get(NODE, idOf(NODE, name)) === undefined)
      .map((node) => put(NODE, idOf(NODE, node.name), node)),
  ];
}

type NamedNode = Node & { readonly name: string };

function describeRack(rack: string, site: string, changed: ChangeAuthor): NamedNode[] {
  return Array.from({ length: NODES_PER_RACK }, (_, at) => {
    const hasGpu = at >= NODES_PER_RACK - GPU_NODES;
    return {
      name: `${rack}-u${String(at + 1).padStart(2, '0')}`,
      inventory: 'simulated',
      ...(hasGpu ? SIZES.gpu : SIZES.standard),
      traits: hasGpu ? ['CUSTOM_GPU'] : [],
      cpuArch: 'x86_64',
      capabilities: `boot_mode:uefi,has_gpu:${hasGpu}`,
      site,
      physicalNetworks: ['datacenter', site],
      state: 'available',
      power: 'off',
      epoch: 0,
      ...changed,
    };
  });
}
